"""Caches in folders of tests, with a clock that tests move, and keys from small numbers."""

from pathlib import Path

from cortex.runtime.cache import Cache, CacheConfig, CacheKey, digest_of

SECRET = bytes(range(32))
DAY_NS = 86_400_000_000_000
BEGAN_NS = 1_700_000_000_000_000_000


class Clock:
    """The time, which stands still until a test moves it."""

    def __init__(self) -> None:
        self.ns = BEGAN_NS

    def steady_s(self) -> float:
        return self.ns / 1e9

    def __call__(self) -> int:
        return self.ns

    def sleep(self, days: float) -> None:
        self.ns += int(days * DAY_NS)


def key_of(number: int | str, kind: str = "test.thing", version: int = 1) -> CacheKey:
    return CacheKey(kind, (digest_of(str(number)), digest_of("code")), version)


def cache_in(
    folder: Path | None, config: CacheConfig | None = None, clock: Clock | None = None
) -> Cache:
    clock = clock or Clock()
    return Cache(folder, config, secret=SECRET, now_ns=clock, steady_s=clock.steady_s)
