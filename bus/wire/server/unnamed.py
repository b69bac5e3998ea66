"""Blobs that clients uploaded and no event names yet: counts them, and drops old ones.

Each limited client has an allowance of bytes. A blob that an event names belongs to the log. A blob
that no event names after some time is dropped, unless a client uploaded it again. The store keeps a
note of each, so that the next hub continues from there, however this one ended.
"""

import threading
from collections.abc import Callable, Iterable

import msgspec

from ...blob_names import named_after, names_in, with_those_within
from ...blobs import Blobs
from ...clock import Clock
from ...errors import CortexError, LimitError
from ...event import Draft
from ...limits import Allowance
from ...log import Log
from ...port import Wake

SECOND_NS = 1_000_000_000


class _Unnamed(msgspec.Struct):
    size_bytes: int
    head: int  # of the log at upload: no earlier event can name the blob
    until_ns: int
    kept_s: int


class _Note(msgspec.Struct, frozen=True):
    """The note that the store keeps for the next hub."""

    client: str
    size_bytes: int
    head: int
    begun_ns: int  # by the wall clock
    kept_s: int


_READ_NOTE = msgspec.json.Decoder(_Note).decode


class UnnamedBlobs:
    """Tracks them for one hub's server; thread-safe."""

    def __init__(
        self,
        blobs: Blobs,
        log: Log,
        head: Callable[[], int],
        clock: Clock,
        steady_ns: Callable[[], int],
        alarm: Callable[[int, Wake], None],
    ) -> None:
        self._blobs, self._log, self._head = blobs, log, head
        self._clock, self._steady_ns, self._alarm = clock, steady_ns, alarm
        self._lock = threading.Lock()
        self._of: dict[str, dict[str, _Unnamed]] = {}  # by client, by digest
        self._alarmed = False
        self._recall()

    def begin(self, allowance: Allowance, digest: str, size_bytes: int) -> None:
        """Count a blob that a client begins to put.

        Raises:
            LimitError: The client would have too many bytes that no event names.
        """
        limits = allowance.limits
        with self._lock:
            own = self._of.setdefault(allowance.client, {})
            there = sum(each.size_bytes for name, each in own.items() if name != digest)
            if limits.blob_bytes and there + size_bytes > limits.blob_bytes:
                raise LimitError(allowance.client, "blob_bytes", limits.blob_bytes)
            if digest not in own and not self._blobs.has(digest):
                head, kept_s = self._head(), limits.blob_kept_s
                until_ns = self._steady_ns() + kept_s * SECOND_NS
                now_ns = self._clock.now_ns()
                note = _Note(allowance.client, size_bytes, head, now_ns, kept_s)
                self._blobs.note(digest, msgspec.json.encode(note))
                own[digest] = _Unnamed(size_bytes, head, until_ns, kept_s)
        self._set_alarm()

    def became(self, client: str, digest: str, kept: str) -> None:
        """A blob that *client* put is stored under the digest *kept*, not *digest*."""
        with self._lock:
            own = self._of.get(client, {})
            each = own.pop(digest, None)
            if each is None:
                return
            self._blobs.unnote(digest)
            note = _Note(client, each.size_bytes, each.head, self._clock.now_ns(), each.kept_s)
            self._blobs.note(kept, msgspec.json.encode(note))
            own[kept] = each

    def named(self, client: str, drafts: Iterable[Draft]) -> None:
        """Events of *client* were recorded: blobs that they name no longer count."""
        own = self._of.get(client)
        if not own:
            return
        found = {name for draft in drafts for name in names_in(draft.body)}
        if found:
            self._forget(with_those_within(found & own.keys(), self._blobs))

    def _forget(self, named: set[str]) -> None:
        with self._lock:
            for own in self._of.values():
                for digest in named & own.keys():
                    del own[digest]
                    self._blobs.unnote(digest)

    def _recall(self) -> None:
        """Continue with the notes of the previous hub."""
        now_ns, head = self._clock.now_ns(), self._head()
        for digest, text in self._blobs.noted().items():
            try:
                note = _READ_NOTE(text)
            except msgspec.MsgspecError:
                self._blobs.unnote(digest)  # it was being written during a power loss
                continue
            kept_ns = note.kept_s * SECOND_NS
            # If the clock was set meanwhile, the remaining time stays between 0 and the maximum.
            left_ns = min(kept_ns, max(0, note.begun_ns + kept_ns - now_ns))
            # A log that lost its tail assigns positions again.
            since = min(note.head, head)
            unnamed = _Unnamed(note.size_bytes, since, self._steady_ns() + left_ns, note.kept_s)
            self._of.setdefault(note.client, {})[digest] = unnamed
        self._set_alarm()

    def _set_alarm(self) -> None:
        with self._lock:
            times = [each.until_ns for own in self._of.values() for each in own.values()]
            if self._alarmed or not times:
                return
            self._alarmed = True
        # On a thread of its own: it reads the log, and the clock's thread must not wait.
        look = threading.Thread(target=self.look, name="cortex-blobs", daemon=True)
        self._alarm(min(times), look.start)

    def look(self) -> None:
        """Drop the blobs that no event named in time."""
        now_ns = self._steady_ns()
        with self._lock:
            self._alarmed = False
            late = {
                digest: each
                for own in self._of.values()
                for digest, each in own.items()
                if each.until_ns <= now_ns
            }
        try:
            if late:
                self._drop(late, now_ns)
        except CortexError:  # the log cannot be read now, or is closed: nothing is dropped
            with self._lock:
                for each in late.values():
                    each.until_ns = now_ns + max(1, each.kept_s) * SECOND_NS
        self._set_alarm()

    def _drop(self, late: dict[str, _Unnamed], now_ns: int) -> None:
        named = named_after(self._log, min(each.head for each in late.values()), self._blobs)
        gone = {
            digest
            for digest, each in late.items()
            if digest in named or self._blobs.drop(digest, each.kept_s)
        }
        self._forget(gone)
        with self._lock:
            for digest in late.keys() - gone:  # a client has put it again, and may still name it
                late[digest].until_ns = now_ns + max(1, late[digest].kept_s) * SECOND_NS
