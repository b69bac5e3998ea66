"""How fast is the cache of artefacts, and is its hit rate that of the published ARC?

*Hit rates*: each trace by our ARC, by one that was written for the tests line by line from the
paper, and by LRU and LFU (cachetools). The traces are seeded; with `--traces FOLDER` (or
`CORTEX_TRACES`) also those of the paper that are there, with what it reports. *Times*: values of
20 kB, looked up at random. L1 beside cachetools' LRU under a lock, and a bare dict; L2 beside
diskcache, and one bare SELECT by an indexed key. *Cold* is after the system dropped its copy of the
file. *A prompt* from the pages of docs/ is compiled for the first time, and then in a process that
finds their shorter forms in cache.db.
"""

import argparse
import os
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TypeVar

from measure import (
    Figures,
    Ratios,
    Run,
    arguments,
    heading,
    in_turn,
    keep,
    peer,
    percentiles,
    quickly,
    ratio,
    report,
    run,
)

ROOT = Path(__file__).parents[1]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))  # a script has only its own folder there

# E402: these are found by the path that was just set.
from tests.arc_of_the_paper import PaperArc  # noqa: E402
from tests.cache_traces import SEEDED, recorded  # noqa: E402

from cortex.runtime.cache import Arc, Cache, CacheConfig, CacheKey, digest_of  # noqa: E402
from cortex.runtime.context import (  # noqa: E402
    ContextCompiler,
    Item,
    PromptStep,
    Request,
    TokenCounter,
)

RESULT = Path(__file__).parent / "results" / "bench_cache.txt"
SECRET = bytes(32)
T = TypeVar("T")
VALUE_BYTES = 20_000
GETS, QUICK = 20_000, 2_000
GB = 1_000_000_000
IN_MEMORY = 200_000_000  # bytes of values in L1
CAPACITIES = (100, 1_000, 5_000)
# Of the paper's traces: by how many pages, and the hit rates of ARC and LRU that it reports.
REPORTED: dict[str, dict[int, tuple[float, float]]] = {
    "OLTP": {
        1_000: (38.93, 32.83),
        2_000: (46.08, 42.47),
        5_000: (55.25, 53.65),
        10_000: (61.87, 60.70),
        15_000: (65.40, 64.63),
    },
    "P3": {32_768: (17.12, 3.57)},
}
GOAL_L1_US, GOAL_L2_US = 5.0, 2_000.0

RATES = """
import json, sys
from array import array
import cachetools
pages = array("q")
with open(sys.argv[1], "rb") as file:
    pages.frombytes(file.read())
found = {}
for policy in ("LRU", "LFU"):
    for capacity in map(int, sys.argv[2:]):
        cache, hits = getattr(cachetools, policy + "Cache")(capacity), 0
        for page in pages:
            if page in cache:
                cache[page]
                hits += 1
            else:
                cache[page] = True
        found[f"{policy} {capacity}"] = 100 * hits / len(pages)
print(json.dumps(found))
"""
TOLD = """
took.sort()
print(json.dumps(dict(p50_us=took[len(took) // 2] / 1e3, p99_us=took[len(took) * 99 // 100] / 1e3)))
"""
CACHETOOLS = (
    """
import json, os, random, sys, threading, time
import cachetools
values, gets, size = map(int, sys.argv[1:4])
cache, lock = cachetools.LRUCache(values), threading.Lock()
keys = [os.urandom(32) for _ in range(values)]
for key in keys:
    cache[key] = os.urandom(size)
drawn, took = random.Random(1), []
for key in drawn.choices(keys, k=gets):
    began = time.perf_counter_ns()
    with lock:
        cache.get(key)
    took.append(time.perf_counter_ns() - began)
"""
    + TOLD
)
DISKCACHE = (
    """
import json, os, random, sys, time
import diskcache
folder, values, gets, size = sys.argv[1], *map(int, sys.argv[2:5])
cache = diskcache.Cache(folder, size_limit=1 << 40)
drawn = random.Random(1)
keys = [drawn.randbytes(32) for _ in range(values)]
began = time.perf_counter()
if len(cache) < values:
    for key in keys:
        cache.set(key, os.urandom(size))
filled = time.perf_counter() - began
took = []
for key in drawn.choices(keys, k=gets):
    began = time.perf_counter_ns()
    assert cache.get(key) is not None
    took.append(time.perf_counter_ns() - began)
"""
    + TOLD
)


def key_of(number: int) -> CacheKey:
    return CacheKey("bench.value", (digest_of(str(number)),), 1)


# One process each


def l1(values: int, gets: int, *, new_keys: bool) -> Figures:
    cache = Cache(None, CacheConfig(memory_mb=1_000), secret=SECRET)
    for number in range(values):
        cache.put(key_of(number), os.urandom(VALUE_BYTES))
    drawn = random.Random(1).choices(range(values), k=gets)
    if new_keys:
        digests = {number: digest_of(str(number)) for number in drawn}
        return _timed(
            lambda number: cache.get(CacheKey("bench.value", (digests[number],), 1)), drawn
        )
    keys = {number: key_of(number) for number in drawn}
    return _timed(lambda key: cache.get(key), [keys[number] for number in drawn])


def bare_dict(values: int, gets: int) -> Figures:
    held = {key_of(number).digest: os.urandom(VALUE_BYTES) for number in range(values)}
    return _timed(lambda key: held.get(key), random.Random(1).choices(list(held), k=gets))


def l2(folder: Path, values: int, gets: int, *, cold: bool) -> Figures:
    with closing(_on_disk(folder, values)) as cache:
        keys = [key_of(number) for number in random.Random(1).choices(range(values), k=gets)]
        if cold:
            _drop_pages(folder)
        return _timed(lambda key: cache.get(key), keys)


def sqlite(folder: Path, values: int, gets: int, *, cold: bool) -> Figures:
    sql = "select b.value from entries e join bodies b on b.id = e.id where e.key = ?"
    with closing(sqlite3.connect(folder / "cache.db")) as db:
        keys = [key_of(number).digest for number in random.Random(1).choices(range(values), k=gets)]
        if cold:
            _drop_pages(folder)
        return _timed(lambda key: db.execute(sql, (key,)).fetchone()[0], keys)


def l2_put(values: int, gets: int, *, evicts: bool) -> Figures:
    puts = min(values, gets)
    with tempfile.TemporaryDirectory(prefix="cortex-cache-") as name:
        room = puts * VALUE_BYTES // (4 if evicts else 1)
        config = CacheConfig(
            memory_mb=0, disk_mb=2 * room // 1_000_000 if not evicts else room // 1_000_000
        )
        with closing(Cache(Path(name), config, secret=SECRET)) as cache:
            data = [os.urandom(VALUE_BYTES) for _ in range(64)]
            keys = [key_of(number) for number in range(puts)]
            if evicts:  # full before the clock starts
                for key in keys[: puts // 3]:
                    cache.put(key, data[0])
                keys = keys[puts // 3 :]
            turn = iter(range(len(keys)))
            return _timed(lambda key: cache.put(key, data[next(turn) % 64]), keys)


def forms(folder: Path) -> Figures:
    """A prompt from all pages of docs/, by a compiler on the cache in *folder*."""
    pages = sorted((ROOT / "docs").glob("*.md"))
    step = PromptStep(process="bench", id="answer", description="Say what a projection is")
    items = tuple(
        Item(
            id=page.stem, section="knowledge", kind="knowledge", text=page.read_text(),
            source=page.name, trust="trusted",
        )
        for page in pages
    )  # fmt: skip
    request = Request(step=step, window=60_000, items=items, persona="You answer.")
    with closing(Cache(folder, secret=SECRET)) as cache:
        counter = TokenCounter()
        counter.count("x")  # loads its ranks
        compiler = ContextCompiler(counter, artefacts=cache)
        began = time.perf_counter()
        prompt = compiler.compile(request)
        took_ms = (time.perf_counter() - began) * 1e3
        return {"took_ms": took_ms, "texts": float(len(pages)), "tokens": float(prompt.tokens)}


def _timed(work: Callable[[T], object], given: Sequence[T]) -> Figures:
    took_s: list[float] = []
    for argument in given:
        began = time.perf_counter_ns()
        work(argument)
        took_s.append((time.perf_counter_ns() - began) / 1e9)
    return percentiles(took_s)


def _on_disk(folder: Path, values: int) -> Cache:
    config = CacheConfig(memory_mb=0, disk_mb=2 * values * VALUE_BYTES // 1_000_000 + 10)
    return Cache(folder, config, secret=SECRET)


def _fill(folder: Path, values: int) -> float:
    with closing(_on_disk(folder, values)) as cache:
        began = time.perf_counter()
        for number in range(values):
            cache.put(key_of(number), os.urandom(VALUE_BYTES))
        return time.perf_counter() - began


def _drop_pages(folder: Path) -> None:
    """Have the system drop its copy of the file, so that reading it is reading the disk."""
    with closing(sqlite3.connect(folder / "cache.db")) as db:
        db.execute("pragma wal_checkpoint(truncate)").fetchall()
    descriptor = os.open(folder / "cache.db", os.O_RDONLY)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


MEASURED: dict[str, Callable[[Path, int, int], Figures]] = {
    "L1": lambda _, values, gets: l1(values, gets, new_keys=False),
    "L1, key made": lambda _, values, gets: l1(values, gets, new_keys=True),
    "dict": lambda _, values, gets: bare_dict(values, gets),
    "L2": partial(l2, cold=False),
    "SELECT": partial(sqlite, cold=False),
    "L2, cold": partial(l2, cold=True),
    "SELECT, cold": partial(sqlite, cold=True),
    "L2 put": lambda _, values, gets: l2_put(values, gets, evicts=False),
    "L2 put, evicting": lambda _, values, gets: l2_put(values, gets, evicts=True),
}
OF_MEMORY = ("L1", "L1, key made", "dict")


# The record


def lines(asked: argparse.Namespace) -> Iterator[str]:
    """The record."""
    yield heading(asked.rounds)
    python = peer(asked.peers, "caches", "cachetools", "diskcache")
    yield from _rates(python, Path(asked.traces) if asked.traces else None)
    with tempfile.TemporaryDirectory(prefix="cortex-cache-") as name:
        yield from _times(asked, Path(name), python)
    yield from _forms(asked.rounds)


def _rates(python: str | None, folder: Path | None) -> Iterator[str]:
    yield "hit rates in per cent; reported in FAST '03"
    heads = f"{'trace':16} {'pages':>7} {'ours':>7} {'by paper':>9} {'LRU':>7} {'LFU':>7}"
    yield f"{heads}  reported: ARC, LRU"
    for name, make in SEEDED.items():
        yield from _rates_of(name, array("q", make()), CAPACITIES, python, {})
    for name, reported in REPORTED.items():
        if folder is None or not (folder / f"{name}.lis").is_file():
            yield f"{name:16} skipped: the trace is not here (--traces FOLDER)"
            continue
        yield from _rates_of(
            name, array("q", recorded(name, folder)), tuple(reported), python, reported
        )


def _rates_of(
    name: str,
    pages: "array[int]",
    capacities: Sequence[int],
    python: str | None,
    reported: dict[int, tuple[float, float]],
) -> Iterator[str]:
    others: Figures = {}
    if python is not None:
        with tempfile.NamedTemporaryFile() as file:
            file.write(pages.tobytes())
            file.flush()
            others = run(python, "-c", RATES, file.name, *map(str, capacities))
    for capacity in capacities:
        ours = 100 * _hits(pages, capacity) / len(pages)
        paper = 100 * PaperArc(capacity).hits(pages) / len(pages)
        told = reported.get(capacity)
        yield (
            f"{name:16} {capacity:>7,} {ours:>7.2f} {paper:>9.2f} "
            f"{others.get(f'LRU {capacity}', float('nan')):>7.2f} "
            f"{others.get(f'LFU {capacity}', float('nan')):>7.2f}"
            + (f"  {told[0]:.2f}, {told[1]:.2f}" if told else "")
            + ("" if ours == paper else "  DIFFERS")
        )


def _hits(pages: "array[int]", capacity: int) -> int:
    arc: Arc[int, bool] = Arc(capacity)
    get, put = arc.get, arc.put
    for page in pages:
        if get(page) is None:
            put(page, True)
    return arc.counts.hits


def _times(asked: argparse.Namespace, folder: Path, python: str | None) -> Iterator[str]:
    values = int(asked.gb * GB) // VALUE_BYTES
    took_s = _fill(folder, values)
    size = (folder / "cache.db").stat().st_size
    yield (
        f"{values:,} values of {VALUE_BYTES:,} bytes put in {took_s:.1f} s; "
        f"cache.db has {size / GB:.2f} GB"
    )
    found = in_turn(asked.rounds, _runs_of(folder, values, python, asked.only))
    for name, figures in found.items():
        yield f"{name:18} p50 {figures['p50_us']:>8,.1f} us, p99 {figures['p99_us']:>9,.1f} us"
    for name, limit in (("L1", "dict"), ("L2", "SELECT"), ("L2, cold", "SELECT, cold")):
        if name in found and limit in found:
            times = found[name]["p50_us"] / found[limit]["p50_us"]
            yield f"{name} takes {times:.2f} times as long as {limit}"
    for name, other in (("L1", "cachetools"), ("L2", "diskcache")):
        if name in found and other in found:
            times = found[other]["p50_us"] / found[name]["p50_us"]
            yield f"{name} is {times:.2f} times as fast as {other}"
    for name, goal in (
        ("L1", GOAL_L1_US),
        ("L1, key made", GOAL_L1_US),
        ("L2", GOAL_L2_US),
        ("L2, cold", GOAL_L2_US),
    ):
        if name in found:
            met = "met" if found[name]["p50_us"] < goal else "NOT MET"
            yield f"goal: {name} p50 < {goal:,.0f} us: {met}"


def _runs_of(folder: Path, values: int, python: str | None, only: str) -> dict[str, Run]:
    in_memory = min(values, IN_MEMORY // VALUE_BYTES)
    runs: dict[str, Run] = {
        name: partial(
            run,
            sys.executable,
            __file__,
            name,
            str(folder),
            str(in_memory if name in OF_MEMORY else values),
        )
        for name in MEASURED
    }
    if python is not None:
        sizes = (str(GETS), str(VALUE_BYTES))
        runs["cachetools"] = partial(run, python, "-c", CACHETOOLS, str(in_memory), *sizes)
        other = str(folder / "diskcache")
        runs["diskcache"] = partial(run, python, "-c", DISKCACHE, other, str(values), *sizes)
    return {name: each for name, each in runs.items() if only in name}


def _forms(rounds: int) -> Iterator[str]:
    first: list[float] = []
    again: list[float] = []
    texts = 0.0
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(prefix="cortex-cache-") as name:
            made = run(sys.executable, __file__, "forms", name, "0")
            found = run(sys.executable, __file__, "forms", name, "0")
        first.append(made["took_ms"])
        again.append(found["took_ms"])
        texts = made["texts"]
    before, after = statistics.median(first), statistics.median(again)
    yield (
        f"a prompt from {texts:.0f} pages of docs/: {before:,.0f} ms the first time, {after:,.0f} "
        f"ms in the next process, {before / after:.1f} times as fast"
    )


def quick() -> Ratios:
    """Ratios to the bare limits, by a short run."""
    values = 2_000
    with tempfile.TemporaryDirectory(prefix="cortex-cache-") as name:
        folder = Path(name)
        _fill(folder, values)

        def speed_of(figures: Figures) -> float:
            speed: float = 1 / figures["p50_us"]
            return speed

        return {
            "L1": ratio(
                lambda: speed_of(l1(values, QUICK, new_keys=False)),
                lambda: speed_of(bare_dict(values, QUICK)),
            ),
            "L2": ratio(
                lambda: speed_of(l2(folder, values, QUICK, cold=False)),
                lambda: speed_of(sqlite(folder, values, QUICK, cold=False)),
            ),
        }


def main() -> None:
    quickly(quick)
    if len(sys.argv) == 4 and (sys.argv[1] in MEASURED or sys.argv[1] == "forms"):
        name, folder, values = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
        report(forms(folder) if name == "forms" else MEASURED[name](folder, values, GETS))
        return
    parser = arguments(__doc__)
    parser.add_argument("--gb", type=float, default=0.2, help="gigabytes of values in L2")
    parser.add_argument(
        "--traces",
        default=os.environ.get("CORTEX_TRACES", ""),
        help="folder with OLTP.lis, P3.lis, ... of the ARC paper",
    )
    keep(lines(parser.parse_args()), RESULT)


if __name__ == "__main__":
    main()
