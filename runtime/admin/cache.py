"""The cache of a home: its state, and emptying it; both work beside a hub."""

from collections.abc import Sequence

import msgspec

from cortex.runtime.cache import (
    TIERS,
    Cache,
    CacheStatistics,
    Tier,
    secret_of_user,
    statistics_of,
)
from cortex.runtime.kernel import Config, Home, RefusedError

NO_SECRET = bytes(32)  # where this user cannot have one, nothing on disk is used anyway


class ClearedDocument(msgspec.Struct):
    """What was removed from a cache."""

    tiers: list[Tier]
    removed: int  # artefacts on disk
    processes: int  # that drop theirs from memory, before they use one again


def cache_statistics(home: Home) -> CacheStatistics:
    """The tiers of the cache of *home*.

    Raises:
        CacheReadError: cache.db cannot be read.
        ConfigError: The home's config.toml is wrong.
    """
    home.check()
    return statistics_of(home.path, Config.shown(home).cache)


def clear_cache(home: Home, tiers: Sequence[Tier] = TIERS) -> ClearedDocument:
    """Remove all artefacts from *tiers*; they are made again when they are needed.

    Raises:
        UntrustedHomeError: The user has not trusted that home: its folders may lead elsewhere.
        RefusedError: Another process keeps cache.db locked.
    """
    home.check()
    home.require_trust()
    meant: list[Tier] = [tier for tier in TIERS if tier in tiers]
    cache = Cache(home.path, secret=secret_of_user() or NO_SECRET)
    if not home.cache_path.exists():
        removed = sum(cache.clear(["L3"]).values()) if "L3" in meant else 0
        return ClearedDocument(meant, removed, 0)
    removed = sum(cache.clear(meant).values())
    cache.close()
    left = statistics_of(home.path, cache.config)
    if "L2" in meant and left.tiers[TIERS.index("L2")].entries:
        raise RefusedError("another process keeps cache.db locked, or uses it: repeat this")
    return ClearedDocument(meant, removed, left.processes if "L1" in meant else 0)
