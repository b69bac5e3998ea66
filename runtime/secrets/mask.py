"""Masks secrets in what is about to be kept: those that are known, and what looks like one."""

import json
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import quote

import msgspec

from cortex.bus import Draft

from .errors import MaskedTextError
from .shapes import MASKED, marked, mask_of, masked_shapes, may_hold

SHORTEST = 8  # bytes of a known secret; a shorter one would be in other words


class Mask:
    """Hides secrets in bytes of any encoding; what comes out is as long as what went in.

    Safe to share by threads. Where nothing is to be hidden, the very same object comes back.

    Args:
        known: The secrets themselves.
    """

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._adding = threading.Lock()
        self._known: frozenset[bytes] = frozenset()
        self._pattern: re.Pattern[bytes] | None = None
        self._odd: tuple[bytes, ...] = ()  # those that `may_hold` would not notice
        self.add(known)

    def add(self, known: Iterable[str]) -> None:
        """Hide these, too, from now on."""
        with self._adding:
            forms = {form for each in known for form in _forms(each)} | self._known
            if forms != self._known:
                self._known = frozenset(forms)
                self._pattern = _any_of(forms)
                self._odd = tuple(form for form in forms if not may_hold(form))

    def data(self, data: bytes) -> bytes:
        """*data* without secrets."""
        if not self._may_hold(data):
            return data
        if self._pattern is not None:
            data = self._pattern.sub(lambda match: mask_of(len(match[0])), data)
        masked, found = masked_shapes(data)
        return masked if found else data

    def text(self, text: str) -> str:
        """*text* without secrets."""
        data = text.encode(errors="surrogatepass")
        masked = self.data(data)
        return text if masked is data else masked.decode(errors="surrogatepass")

    def known_in(self, text: str, instead: str) -> str:
        """*text* with *instead* for every known secret; what only looks like one stays."""
        if self._pattern is None:
            return text
        data = self._pattern.sub(instead.encode(), text.encode(errors="surrogatepass"))
        return data.decode(errors="surrogatepass")

    def drafts(self, drafts: Sequence[Draft]) -> Sequence[Draft]:
        """*drafts* whose bodies hold no secrets: what a hub does to all that it records."""
        # All at once: it costs less, and mostly there is nothing. No pattern takes the space at
        # the end of a body for a part of a secret, so what is in one of them is found here, too.
        if not self._found(b" ".join([draft.body for draft in drafts])):
            return drafts
        masked = [self.data(draft.body) for draft in drafts]
        return [
            draft if body is draft.body else msgspec.structs.replace(draft, body=body)
            for draft, body in zip(drafts, masked, strict=True)
        ]

    def _found(self, data: bytes) -> bool:
        """Whether anything in *data* is to be hidden."""
        if not self._may_hold(data):
            return False
        if self._pattern is not None and self._pattern.search(data):
            return True
        return any(pattern.search(data) for pattern in marked(data))

    def _may_hold(self, data: bytes) -> bool:
        return may_hold(data) or any(form in data for form in self._odd)


def refuse_masked(where: str, text: str) -> None:
    """Refuse to write *text* that holds a mask.

    Raises:
        MaskedTextError: It does; *where* says what it is.
    """
    found = MASKED.search(text)
    if found:
        raise MaskedTextError(where, found[0])


def _forms(secret: str) -> Iterator[bytes]:
    """A secret as it is, and as JSON and URLs write it."""
    plain = secret.encode(errors="surrogatepass")
    strict = secret.encode(errors="replace").decode()
    as_json = (json.dumps(secret)[1:-1].encode(), msgspec.json.encode(strict)[1:-1])
    for data in (plain, *as_json, quote(plain, safe="").encode()):
        if len(data) >= SHORTEST:
            yield data


def _any_of(forms: Iterable[bytes]) -> re.Pattern[bytes]:
    # The longest first: one that begins with another is hidden whole.
    return re.compile(b"|".join(map(re.escape, sorted(forms, key=len, reverse=True))))
