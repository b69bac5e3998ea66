"""A process that is killed while it writes: cache.db opens again, and every value is whole."""

import random
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from structlog.testing import capture_logs

from cortex.runtime.cache import CacheConfig, bytes_of

from ..cache_world import cache_in, key_of
from .killing import kill_until_done

# Most of what it puts leaves the second tier for the third one soon after.
PUT = """
import random, sys
from pathlib import Path
from cortex.runtime.cache import Cache, CacheConfig, CacheKey, digest_of

folder, first = Path(sys.argv[1]), int(sys.argv[2])
cache = Cache(folder, CacheConfig(memory_mb=1, disk_mb=1), secret=bytes(range(32)))
for number in range(first, 10_000):
    drawn = random.Random(number)
    key = CacheKey("test.thing", (digest_of(str(number)), digest_of("code")), 1)
    subjects = ("anna",) if number % 3 == 0 else ()
    cache.put(key, drawn.randbytes(drawn.choice([10, 3_000, 40_000])), subjects)
    if number % 5 == 0:
        old = drawn.randrange(number + 1)
        cache.get(CacheKey("test.thing", (digest_of(str(old)), digest_of("code")), 1), cold=True)
        cache.flush()
    if number % 50 == 0:
        cache.drop([key])
    sys.stdout.write(f"{number}\\n")
    sys.stdout.flush()
"""
KILLS, SEED = 20, 20_030_331
PUTS_MOST = 60  # in one life


def value_of(number: int) -> bytes:
    drawn = random.Random(number)
    return drawn.randbytes(drawn.choice([10, 3_000, 40_000]))


def test_after_each_kill_the_file_opens_and_every_value_is_whole(tmp_path: Path) -> None:
    config = CacheConfig(memory_mb=0, disk_mb=1)
    lives = 0

    def next_life(heard: Sequence[str]) -> list[str]:
        nonlocal lives
        lives += 1
        last = int(heard[-1]) if heard else 0
        _check_values(tmp_path, config, max(1, last - 2 * PUTS_MOST), last)
        _check_books(tmp_path / "cache.db", config)
        first = last + 1 if lives <= KILLS else 10_000
        return [sys.executable, "-c", PUT, str(tmp_path), str(first)]

    killed = kill_until_done(next_life, kills=KILLS, seed=SEED, lines_most=PUTS_MOST)

    assert killed.kills == KILLS
    assert len(killed.lines) > KILLS
    _check_values(tmp_path, config, 1, int(killed.lines[-1]))


def _check_values(folder: Path, config: CacheConfig, first: int, last: int) -> None:
    """What was acknowledged is there, unless it was dropped; what was not is whole or not there."""
    with capture_logs() as lines, closing(cache_in(folder, config)) as cache:
        found = {n: cache.get(key_of(n), cold=True) for n in range(first, last + PUTS_MOST)}
    assert lines == [], "nothing was damaged"
    assert {n for n, value in found.items() if value not in (None, value_of(n))} == set()
    for number in range(first, last + 1):
        assert (found[number] is None) == (number % 50 == 0), f"{number} of {last}"


def _check_books(path: Path, config: CacheConfig) -> None:
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("pragma integrity_check").fetchone() == ("ok",)
        totals = db.execute("select bytes, entries from totals").fetchone()
        counted = db.execute("select coalesce(sum(size), 0), count(*) from entries").fetchone()
        sizes = db.execute("select coalesce(length(value), 0) from bodies").fetchall()
        loose = db.execute(
            "select count(*) from bodies where id not in (select id from entries)"
        ).fetchone()
    assert totals == counted
    assert totals[0] == sum(bytes_of(size) for (size,) in sizes) <= config.disk_bytes
    assert loose == (0,)
