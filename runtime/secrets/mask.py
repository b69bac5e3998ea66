"""Masks secrets in what is about to be kept: those that are known, and what looks like one."""

import base64
import json
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from cortex.bus import Blobs, CortexError, Draft, with_fields

from .shapes import MASKED, marked, masked_shapes, may_hold

SHORTEST = 8  # bytes of a known secret; a shorter one would be in other words
_PLAIN = re.compile(rb"[A-Za-z0-9_.-]+")  # what neither JSON nor a URL writes in another way
_PROBE = 4  # bytes; a shorter piece of a secret would be in nearly everything


class Mask:
    """Hides secrets in bytes of any encoding; what comes out is as long as what went in.

    Safe to share by threads. Where nothing is to be hidden, the very same object comes back.

    Args:
        known: The secrets themselves.
        shortest: Bytes of the shortest one that is hidden.
    """

    def __init__(self, known: Iterable[str] = (), *, shortest: int = SHORTEST) -> None:
        self._adding = threading.Lock()
        self._shortest = shortest
        self._known: frozenset[str] = frozenset()
        self._pattern: re.Pattern[bytes] | None = None
        self._odd: tuple[bytes, ...] = ()  # those that `may_hold` would not notice
        self.add(known)

    def add(self, known: Iterable[str]) -> None:
        """Hide these, too, from now on."""
        with self._adding:
            long_enough = {each for each in known if len(_bytes(each)) >= self._shortest}
            if not long_enough <= self._known:
                self._known |= long_enough
                # The longest first: one that begins with another is hidden whole.
                ordered = sorted(self._known, key=len, reverse=True)
                written = [*map(_written, ordered), *(p for s in ordered for p in _in_base64(s))]
                self._pattern = re.compile(b"|".join(written))
                self._odd = tuple({probe for each in ordered for probe in _probes(each)})

    def data(self, data: bytes) -> bytes:
        """*data* without secrets."""
        if not self._may_hold(data):
            return data
        known = [m.span() for m in self._pattern.finditer(data)] if self._pattern else []
        return masked_shapes(data, known)[0]

    def text(self, text: str) -> str:
        """*text* without secrets."""
        data = text.encode(errors="surrogatepass")
        masked = self.data(data)
        return text if masked is data else masked.decode(errors="surrogatepass")

    def value(self, value: Any) -> Any:
        """A JSON value without secrets in any of its texts."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, bytes):
            return self.data(value)
        if isinstance(value, dict):
            return _distinct((self.value(name), self.value(inner)) for name, inner in value.items())
        return [self.value(inner) for inner in value] if isinstance(value, list) else value

    def begun(self, text: str) -> int:
        """How many characters at the end of *text* may be the beginning of a known secret."""
        if self._pattern is None:
            return 0
        over = 0
        for match in self._pattern.finditer(text.encode(errors="surrogatepass")):
            over = match.end()
        tail = _bytes(text)[over:].decode(errors="surrogatepass")
        return max((_begun(tail, secret) for secret in self._known), default=0)

    def known_in(self, text: str, instead: str) -> str:
        """*text* with *instead* for every known secret; what only looks like one stays."""
        if self._pattern is None:
            return text
        data = self._pattern.sub(instead.encode(), text.encode(errors="surrogatepass"))
        return data.decode(errors="surrogatepass")

    def drafts(self, drafts: Sequence[Draft]) -> Sequence[Draft]:
        """*drafts* whose bodies hold no secrets: what a hub does to all that it records."""
        # All at once: it costs less, and mostly there is nothing. No secret ends at a space.
        together = drafts[0].body if len(drafts) == 1 else b" ".join([d.body for d in drafts])
        if not self._may_hold(together) or not self._suspects(together):
            return drafts
        masked = [self._body(draft.body) for draft in drafts]
        if all(body is draft.body for draft, body in zip(drafts, masked, strict=True)):
            return drafts
        return [
            draft if body is draft.body else msgspec.structs.replace(draft, body=body)
            for draft, body in zip(drafts, masked, strict=True)
        ]

    def _suspects(self, data: bytes) -> bool:
        """Whether something in *data* is a known secret, or has the mark of another."""
        known = self._pattern is not None and self._pattern.search(data) is not None
        return known or bool(marked(data))

    def _body(self, body: bytes) -> bytes:
        """The body of an event without secrets.

        Its texts are looked at one by one as well: in front of each stands its length, which may be
        a letter's byte, and a word begins where no letter stands before it.
        """
        try:
            value = msgspec.msgpack.decode(body)
            clean = self.value(value)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, TypeError):
            return self.data(body)  # not a body of an event, which the recipient reports
        # The texts first: names that are masked byte by byte may become one, and one be lost.
        return self.data(body if clean == value else msgspec.msgpack.encode(clean))

    def _may_hold(self, data: bytes) -> bool:
        if may_hold(data):
            return True
        return bool(self._odd) and any(form in data for form in self._odd)


def holds_mask(text: str) -> bool:
    """Whether a mask is in *text*, in the place of a secret."""
    return MASKED.search(text) is not None


def masks_in(text: str) -> list[str]:
    """The masks in *text*, in order."""
    return MASKED.findall(text)


def refuse_masked(where: str, text: str) -> None:
    """Refuse to write *text* that holds a mask.

    Raises:
        MaskedTextError: It does; *where* says what it is.
    """
    found = MASKED.search(text)
    if found:
        raise MaskedTextError(where, found[0])


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def _distinct(items: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """A map of *items*; where masks made names equal, the later ones are numbered."""
    found: dict[Any, Any] = {}
    for name, inner in items:
        free, number = name, 1
        while free in found:
            number += 1
            more = f" {number}"
            free = name + (more.encode() if isinstance(name, bytes) else more)
        found[free] = inner
    return found


def _begun(tail: str, secret: str) -> int:
    sizes = range(min(len(tail), len(secret) - 1), 0, -1)
    return next((size for size in sizes if secret.startswith(tail[-size:])), 0)


def _written(secret: str) -> bytes:
    """A pattern of *secret* as it is, and as JSON and URLs write it, whatever they may leave."""
    return b"".join(map(_letter, secret))


def _letter(letter: str) -> bytes:
    plain = _bytes(letter)
    if _PLAIN.fullmatch(plain):
        return re.escape(plain)
    ways = {plain, json.dumps(letter)[1:-1].encode()} | ({b"\\/"} if letter == "/" else set())
    escaped = {b"".join(b"%%%02x" % byte for byte in plain)}  # in either case
    if len(plain) == 1:
        escaped.add(b"\\u%04x" % plain[0])
    either = [b"(?i:%s)" % re.escape(each) for each in sorted(escaped)]
    return b"(?:%s)" % b"|".join([*map(re.escape, sorted(ways)), *either])


def _cores(secret: str) -> Iterator[bytes]:
    """What base64 makes of *secret* for certain, after any bytes: a header, a name and a colon."""
    plain = _bytes(secret)
    for before in range(3):
        first, last = -(-before * 8 // 6), (before + len(plain)) * 8 // 6
        yield base64.b64encode(b"\0" * before + plain)[first:last]


def _in_base64(secret: str) -> Iterator[bytes]:
    if len(_bytes(secret)) < SHORTEST:
        return  # so few letters are in other words
    for core in _cores(secret):  # its letters, or those that URLs take
        yield core.replace(b"+", b"[+-]").replace(b"/", b"[/_]")


def _probes(secret: str) -> Iterator[bytes]:
    """Bytes that are in whatever holds *secret*, where `may_hold` would not notice it."""
    plain = _bytes(secret)
    piece = max(_PLAIN.findall(plain), key=len, default=b"")
    if len(piece) >= _PROBE:
        yield from () if may_hold(piece) else (piece,)
    else:
        strict = secret.encode(errors="replace").decode()
        as_json = json.dumps(secret)[1:-1].encode(), msgspec.json.encode(strict)[1:-1]
        yield from (plain, *as_json, quote(plain, safe="").encode())
    for core in _cores(secret) if len(plain) >= SHORTEST else ():
        piece = max(re.split(rb"[+/]", core), key=len)
        yield from () if may_hold(piece) else (piece,)


@with_fields
class MaskedTextError(CortexError):
    """Text that is to be written holds a mask: its writer never saw what stands there."""

    where: str
    mask: str

    says = (
        "{where} contains {mask}, the mask of a secret that was not shown: leave "
        "that line as it is, and change only what is around it"
    )


class MaskedBlobs:
    """*blobs*, where secrets are masked in all that is put; the digest is that of what is kept."""

    def __init__(self, blobs: Blobs, mask: Mask) -> None:
        self._blobs, self._mask = blobs, mask
        self.get, self.has, self.size = blobs.get, blobs.has, blobs.size

    def put(self, data: bytes) -> str:
        """Keep *data* without secrets; the digest of what is kept comes back."""
        return self._blobs.put(self._mask.data(data))

    def touch(self, digest: str) -> bool:
        """As of *blobs*; a hub's own keeps them, a client's need not."""
        return self._blobs.touch(digest)

    def drop(self, digest: str, idle_s: float) -> bool:
        """As of *blobs*."""
        return self._blobs.drop(digest, idle_s)

    def idle(self, idle_s: float) -> Iterator[tuple[str, int]]:
        """As of *blobs*."""
        return self._blobs.idle(idle_s)

    def note(self, digest: str, text: bytes) -> None:
        """As of *blobs*."""
        self._blobs.note(digest, text)

    def noted(self) -> dict[str, bytes]:
        """As of *blobs*."""
        return self._blobs.noted()

    def unnote(self, digest: str) -> None:
        """As of *blobs*."""
        self._blobs.unnote(digest)


class MaskedPieces:
    """Masks the pieces of one text: all of them together are its text without known secrets.

    What may be the beginning of a known secret is held back until its continuation is known. What
    only looks like a secret is masked where a piece holds all of it.
    """

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self._held = ""

    def next(self, text: str, *, last: bool) -> str:
        """The next piece, as far as it can be shown; the *last* one whole."""
        text = self._held + text
        held = 0 if last else self._mask.begun(text)
        self._held = text[len(text) - held :]
        return self._mask.text(text[: len(text) - held])
