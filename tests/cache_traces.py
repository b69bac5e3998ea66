"""Requests for pages: seeded ones, and those of the paper where they are on this machine."""

import itertools
import os
import random
from bisect import bisect
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

FOLDER = os.environ.get("CORTEX_TRACES", "")  # with OLTP.lis, P3.lis, ... of the ARC paper
SEED = 20_030_331


def zipf(requests: int, pages: int, skew: float = 1.0, seed: int = SEED) -> list[int]:
    """Pages by Zipf's law: the n-th most popular one has a share of 1/n**skew."""
    drawn = random.Random(seed)
    sums = list(itertools.accumulate(1 / n**skew for n in range(1, pages + 1)))
    names = list(range(pages))
    drawn.shuffle(names)
    return [names[bisect(sums, drawn.random() * sums[-1])] for _ in range(requests)]


def loop(requests: int, pages: int) -> list[int]:
    """All pages in order, again and again: the worst case of LRU where they do not fit."""
    return [at % pages for at in range(requests)]


def scans(requests: int, pages: int, every: int = 2_000, length: int = 1_500) -> list[int]:
    """Zipf's law, and every now and then a scan over pages that never come back."""
    found: list[int] = []
    fresh = itertools.count(pages)
    for at, page in enumerate(zipf(requests, pages)):
        found.append(page)
        if at % every == every - 1:
            found += itertools.islice(fresh, length)
    return found[:requests]


def mixed(requests: int, pages: int) -> list[int]:
    """Phases, each with popular pages of its own, a loop and a scan."""
    found: list[int] = []
    part = requests // 8
    for phase in range(4):
        shift = phase * pages // 2
        found += [page + shift for page in zipf(part, pages, 0.8, SEED + phase)]
        found += [page + shift for page in loop(part // 2, pages // 3)]
        found += range(10 * pages + phase * part, 10 * pages + phase * part + part // 2)
    return found


SEEDED: Mapping[str, Callable[[], list[int]]] = {
    "zipf 0.7": lambda: zipf(100_000, 10_000, 0.7),
    "zipf 1.0": lambda: zipf(100_000, 10_000),
    "loop": lambda: loop(100_000, 1_500),
    "zipf with scans": lambda: scans(100_000, 10_000),
    "mixed": lambda: mixed(100_000, 3_000),
}


def recorded(name: str, folder: Path = Path(FOLDER)) -> Iterator[int]:
    """The pages of a trace of the paper: each line has the first one, and how many there are."""
    with (folder / f"{name}.lis").open(encoding="ascii") as file:
        for line in file:
            first, pages, *_ = line.split()
            yield from range(int(first), int(first) + int(pages))


def is_recorded(name: str) -> bool:
    """Whether that trace is on this machine."""
    return bool(FOLDER) and Path(FOLDER, f"{name}.lis").is_file()
