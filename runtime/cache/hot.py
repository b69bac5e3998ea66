"""The first tier: artefacts in the memory of this process, an ARC bounded by bytes."""

import threading
from collections.abc import Iterable
from typing import Final, NamedTuple

from .arc import Arc, ArcCounts

ENTRY_BYTES: Final = 400  # of an entry beside its value, as CPython has it
GHOST_BYTES: Final = 400
GHOST_SHARE: Final = 8  # of the memory, one part in so many is for ghosts


class HotState(NamedTuple):
    """How full the tier is."""

    bytes: int  # ghosts included
    entries: int
    ghosts: int
    bound: int


class HotTier:
    """Values by the digest of their key; threads may share it.

    Args:
        bound: Bytes that it never takes more of, ghosts included; 0 holds nothing.
    """

    def __init__(self, bound: int) -> None:
        self.bound = bound
        ghosts = bound // GHOST_SHARE // GHOST_BYTES
        self._arc: Arc[bytes, bytes] = Arc(bound - ghosts * GHOST_BYTES, ghosts)
        self._used: dict[bytes, int] = {}  # times, since they were taken
        self._lock = threading.Lock()

    def get(self, key: bytes) -> bytes | None:
        """The value under *key*; None if it is not here."""
        with self._lock:
            value = self._arc.get(key)
            if value is not None:
                self._used[key] = self._used.get(key, 0) + 1
            return value

    def note_used(self, key: bytes) -> None:
        """Count a use of a value that was found in the tier below."""
        with self._lock:
            self._used[key] = self._used.get(key, 0) + 1

    def put(self, key: bytes, value: bytes, subjects: tuple[bytes, ...] = ()) -> None:
        """Hold *value*, unless it is larger than the tier."""
        with self._lock:
            self._arc.put(key, value, len(value) + ENTRY_BYTES, subjects)

    def drop(self, keys: Iterable[bytes]) -> int:
        """Forget *keys*, ghosts too; returns how many values were here."""
        with self._lock:
            return sum(map(self._arc.drop, keys))

    def forget(self, subject: bytes) -> int:
        """Forget what came from *subject*, ghosts too; returns how many values were here."""
        with self._lock:
            return self._arc.forget(lambda tags: subject in tags)

    def clear(self) -> int:
        """Forget everything; returns how many values were here."""
        with self._lock:
            held = len(self._arc)
            self._arc.clear()
            return held

    def take_used(self) -> dict[bytes, int]:
        """How often each key was found here since the last call."""
        with self._lock:
            used, self._used = self._used, {}
            return used

    def counts(self) -> ArcCounts:
        """What happened since this process began."""
        with self._lock:
            counts = self._arc.counts
            return ArcCounts(counts.hits, counts.misses, counts.ghost_hits, counts.evictions)

    def state(self) -> HotState:
        """How full it is."""
        with self._lock:
            arc = self._arc
            held = arc.weight + arc.ghosts * GHOST_BYTES
            return HotState(held, len(arc), arc.ghosts, self.bound)
