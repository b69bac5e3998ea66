"""The cache of artefacts: three tiers of what can always be made again.

A value is looked for in memory, then in cache.db; where it is found below, it moves up. The cold
files are asked only by who says so. A tier that cannot be used misses, and raises nothing.
"""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias

from cortex.bus import whom_it_serves

from .artefacts import CacheEntry, proof_of, subject_digests
from .bookkeeping import Bookkeeping, Notice
from .cold import ColdTier
from .database import Database
from .hot import HotTier
from .key import CacheKey
from .secret import secret_of_user
from .settings import CacheConfig
from .warm import WarmTier, inputs_in

FILE: Final = "cache.db"  # in a home
FOLDER: Final = "cold"
RANKED: Final = 100_000  # entries that a preload considers
LOADED_SHARE: Final = 2  # a preload fills one part in so many of the memory
Tier: TypeAlias = Literal["L1", "L2", "L3"]
TIERS: Final[tuple[Tier, ...]] = ("L1", "L2", "L3")


class Cache:
    """Artefacts by `CacheKey`; threads may share it, and processes its files.

    Nothing is opened before the first use.

    Args:
        home: The folder with cache.db and cold/; None has the tier in memory alone.
        config: The bounds.
        secret: What proves the artefacts on disk; None for the user's.
        now_ns: The time.
        steady_s: A clock that is never set: when to look at what other processes did.
    """

    def __init__(
        self,
        home: Path | None,
        config: CacheConfig | None = None,
        *,
        secret: bytes | None = None,
        now_ns: Callable[[], int] = time.time_ns,
        steady_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self.config = config or CacheConfig()
        self._home = home if self.config.disk_mb else None
        self._secret, self._now_ns, self._steady_s = secret, now_ns, steady_s
        self._hot = HotTier(self.config.memory_bytes)
        self._disk: _Disk | None = None
        self._opening = threading.Lock()

    def get(self, key: CacheKey, *, cold: bool = False) -> bytes | None:
        """The artefact under *key*; None if it has to be made.

        Args:
            key: Its key.
            cold: Whether to look through the cold files, too: for audits and recompilation.
        """
        disk = self._on_disk()
        if disk is not None and disk.books.is_due():
            for notice in disk.books.look():
                self._heed(notice)
        value = self._hot.get(key.digest)
        if value is not None or disk is None:
            return value
        entry = disk.warm.get(key.digest)
        if entry is None and cold:
            entry = disk.cold.get(key.digest)
            if entry is not None:
                disk.warm.put(entry)
        if entry is None:
            return None
        self._hot.put(entry.key, entry.value, entry.subjects)
        self._hot.note_used(entry.key)
        return entry.value

    def put(self, key: CacheKey, value: bytes, subjects: Sequence[str] | None = None) -> None:
        """Keep *value*, which was made from what *key* names.

        Args:
            key: Its key.
            value: The artefact.
            subjects: Whose personal data it was made from, by name or id; None for the subject
                that this thread works for, if any.
        """
        if subjects is None:
            serves = whom_it_serves()
            subjects = () if serves is None else (serves,)
        entry = CacheEntry.of(key, bytes(value), tuple(subjects))
        self._hot.put(entry.key, entry.value, entry.subjects)
        if (disk := self._on_disk()) is not None:
            disk.warm.put(entry)

    def drop(self, keys: Iterable[CacheKey | bytes]) -> int:
        """Remove artefacts from all tiers, by key or by its digest; returns how many there were."""
        digests = [each if isinstance(each, bytes) else each.digest for each in keys]
        removed = self._hot.drop(digests)
        if (disk := self._on_disk()) is not None:
            removed = max(removed, disk.warm.drop(digests)) + disk.cold.drop(digests)
        return removed

    def forget_subject(self, name: str) -> int:
        """Remove all that was made from the data of a subject, from all tiers, ghosts too.

        Other processes drop it from their memory before they use it again, or a second later.

        Args:
            name: As it was named when the artefacts were put: a name or an id.

        Returns:
            How many artefacts there were.
        """
        (subject,) = subject_digests((name,))
        removed = self._hot.forget(subject)
        if (disk := self._on_disk()) is not None:
            keys = disk.warm.forget(subject)
            self._hot.drop(keys)  # it may be here as somebody else's
            removed = max(removed, len(keys)) + disk.cold.forget(subject)
        return removed

    def clear(self, tiers: Iterable[Tier] = TIERS) -> dict[Tier, int]:
        """Remove everything from *tiers*; returns how many artefacts each had."""
        removed: dict[Tier, int] = {}
        disk = self._on_disk()
        for tier in tiers:
            if tier == "L1":
                removed[tier] = self._hot.clear()
                if disk is not None:
                    disk.books.notify_clear()
            elif disk is not None:
                removed[tier] = disk.warm.clear() if tier == "L2" else disk.cold.clear()
        return removed

    def sweep(self, go_on: Callable[[], bool] = lambda: True) -> int:
        """Archive what was not used within the window, while *go_on*; returns how many."""
        disk = self._on_disk()
        return disk.warm.sweep(go_on) if disk is not None else 0

    def hint(self, inputs: Sequence[str]) -> None:
        """Say what will be used: a preload begins with what was made from these digests."""
        if (disk := self._on_disk()) is not None:
            disk.books.hint([bytes.fromhex(each) for each in inputs])

    def preload(self, go_on: Callable[[], bool] = lambda: True) -> int:
        """Load what was used within the window into memory, while *go_on*; returns how many.

        What was hinted at comes first, then what was used the most; as much as half of the memory.
        """
        disk = self._on_disk()
        if disk is None:
            return 0
        hinted = {each: rank for rank, each in enumerate(disk.books.hinted())}
        ranked = disk.warm.ranked(RANKED)
        if hinted:
            last = len(hinted)
            ranked.sort(key=lambda row: min(hinted.get(each, last) for each in inputs_in(row[1])))
        loaded, room = 0, self.config.memory_bytes // LOADED_SHARE
        for key, _, size in ranked:
            room -= size
            if room < 0 or not go_on():
                break
            if (entry := disk.warm.peek(key)) is not None:
                self._hot.put(entry.key, entry.value, entry.subjects)
                loaded += 1
        return loaded

    def flush(self) -> None:
        """Record uses and counts; they are recorded once a second anyway, while it is used."""
        if self._disk is not None:
            self._disk.books.flush()

    def close(self) -> None:
        """Record uses and counts, and let the file go; a later use opens it again."""
        if self._disk is not None:
            self._disk.books.leave()
            self._disk.database.close()

    def _heed(self, notice: Notice) -> None:
        """Do in memory what another process did."""
        if notice.what == "drop":
            self._hot.drop((notice.about,))
        elif notice.what == "forget":
            self._hot.forget(notice.about)
        else:
            self._hot.clear()

    def _on_disk(self) -> "_Disk | None":
        home = self._home
        if self._disk is not None or home is None:
            return self._disk
        with self._opening:
            if self._disk is None:
                secret = self._secret or secret_of_user()
                if secret is None:  # nothing on disk could be proven
                    self._home = None
                    return None
                clocks = self._now_ns, self._steady_s
                self._disk = _Disk(home, self.config, secret, self._hot, *clocks)
            return self._disk


class _Disk:
    """The tiers on disk, and their books."""

    def __init__(
        self,
        home: Path,
        config: CacheConfig,
        secret: bytes,
        hot: HotTier,
        now_ns: Callable[[], int],
        steady_s: Callable[[], float],
    ) -> None:
        self.database = Database(home / FILE, proof_of(secret, FILE.encode(), b""), steady_s)
        self.cold = ColdTier(home / FOLDER, secret)
        self.warm = WarmTier(
            self.database, config.disk_bytes, config.window_ns, secret, self.cold.put, now_ns
        )
        self.books = Bookkeeping(self.database, hot, self.warm, self.cold, now_ns, steady_s)
