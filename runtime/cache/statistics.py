"""The state of the cache of a home, read from its files: it works beside a hub, and without one."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

import msgspec

from .bookkeeping import is_alive
from .cache import FILE, FOLDER, TIERS, Tier
from .cold import ColdState, ColdTier
from .errors import CacheReadError
from .schema import read_only
from .settings import CacheConfig

COUNTS: Final = ("hits", "misses", "evictions", "ghost_hits", "broken", "failures")
PLACES: Final[Mapping[Tier, str]] = {"L1": "memory", "L2": FILE, "L3": f"{FOLDER}/"}


class TierStatistics(msgspec.Struct, kw_only=True):
    """One tier, over all processes that use the home."""

    tier: Tier
    place: str
    entries: int = 0
    bytes: int = 0  # L1 with its ghosts, L2 by what its entries take, L3 by its files
    bound_bytes: int | None = None  # of L1, for each process; None: there is none
    file_bytes: int = 0  # on disk
    hits: int = 0
    misses: int = 0
    hit_rate: float | None = None  # hits of all lookups; None where there were none
    evictions: int = 0
    ghosts: int = 0  # keys of evicted values that L1 remembers
    ghost_hits: int = 0  # values that came back while L1 remembered them
    broken: int = 0  # values without their proof, which were removed
    failures: int = 0  # pieces of work that the file or the disk refused


class CacheStatistics(msgspec.Struct, kw_only=True):
    """The cache of a home."""

    tiers: list[TierStatistics]
    processes: int  # that use it now
    kinds: dict[str, int]  # entries of L2, by what they are


def statistics_of(home: Path, config: CacheConfig) -> CacheStatistics:
    """The cache of the home at that path; counts are since cache.db was made.

    Raises:
        CacheReadError: cache.db is damaged, or of another version.
    """
    path = home / FILE
    tiers: dict[Tier, TierStatistics] = {
        each: TierStatistics(tier=each, place=PLACES[each]) for each in TIERS
    }
    tiers["L1"].bound_bytes, tiers["L2"].bound_bytes = config.memory_bytes, config.disk_bytes
    tiers["L2"].file_bytes = _size_of(path) + _size_of(path.with_name(f"{path.name}-wal"))
    _fill_cold(tiers["L3"], ColdTier(home / FOLDER, b"").state())
    found = CacheStatistics(tiers=list(tiers.values()), processes=0, kinds={})
    if path.exists():
        try:
            with closing(read_only(path)) as connection:
                _fill(found, tiers, connection)
        except sqlite3.Error as error:
            raise CacheReadError(str(path), str(error)) from error
    return found


def _fill_cold(tier: TierStatistics, state: ColdState) -> None:
    tier.entries, tier.bytes, tier.file_bytes = state.entries, state.bytes, state.bytes


def _fill(
    found: CacheStatistics,
    tiers: Mapping[Tier, TierStatistics],
    connection: sqlite3.Connection,
) -> None:
    counted = dict(connection.execute("select name, value from counters").fetchall())
    for name, tier in tiers.items():
        for count in COUNTS:
            setattr(tier, count, counted.get(f"{name}.{count}", 0))
        lookups = tier.hits + tier.misses
        tier.hit_rate = tier.hits / lookups if lookups else None
    totals = connection.execute("select bytes, entries from totals").fetchone()
    tiers["L2"].bytes, tiers["L2"].entries = totals
    rows = connection.execute("select pid, bytes, entries, ghosts from processes").fetchall()
    for pid, size, entries, ghosts in rows:
        if is_alive(pid):
            hot = tiers["L1"]
            hot.bytes, hot.entries = hot.bytes + size, hot.entries + entries
            hot.ghosts += ghosts
            found.processes += 1
    kinds = connection.execute("select kind, count(*) from entries group by kind order by kind")
    found.kinds.update(kinds.fetchall())


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
