"""Measures what is done with a home of many events: each part is a process of its own.

A benchmark names its parts, and runs one of them if it is started with that name and a folder.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from bench_start import fill
from measure import (
    Figures,
    Ratios,
    Run,
    arguments,
    heading,
    in_turn,
    keep,
    quickly,
    ratio,
    report,
    run,
)

from cortex.runtime.kernel import Home

EVENTS = 1_000_000
QUICK = 20_000
BARE = "bare"  # the part that is the limit

Work = Callable[[], dict[str, float]]  # what is timed; gives more figures
Part = Callable[[str, Path], Work]  # prepares the part of that name in a folder with `home`
Row = Callable[[Figures], str]  # the end of a part's line


def measure(
    program: str, parts: Sequence[str], part: Part, *, quick: Sequence[str], row: Row
) -> None:
    """Run the benchmark *program*, whose docstring is its question.

    Args:
        program: Its file; the table goes to the file of that name in `results`.
        parts: Their names, `BARE` among them.
        part: Prepares one.
        quick: The parts whose ratio to `BARE` a quick run gives.
        row: Adds to a part's line.
    """
    path = Path(program)
    quickly(partial(_quick, program, quick))
    if sys.argv[1:2] and sys.argv[1] in parts:
        _report(part, sys.argv[1], Path(sys.argv[2]))
        return
    parser = arguments(sys.modules["__main__"].__doc__)
    parser.add_argument("--events", type=int, default=EVENTS)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix=f"cortex-{path.stem}-") as folder:
        fill(Home.create(Path(folder, "home")), given.events)
        runs: dict[str, Run] = {
            each: partial(run, sys.executable, program, each, folder) for each in parts
        }
        found = in_turn(given.rounds, runs)
    table = _lines(given.rounds, given.events, found, parts, row)
    keep(table, path.parent / "results" / f"{path.stem}.txt")


def _report(part: Part, name: str, folder: Path) -> None:
    work = part(name, folder)
    began = time.perf_counter()
    more = work()
    report({"took_s": time.perf_counter() - began, **more})


def _quick(program: str, wanted: Sequence[str]) -> Ratios:
    """The speed of these parts with a small home, to that of the limit."""
    with tempfile.TemporaryDirectory(prefix="cortex-quick-") as folder:
        fill(Home.create(Path(folder, "home")), QUICK)

        def speed(what: str) -> float:
            figures: Figures = run(sys.executable, program, what, folder)
            return float(1 / figures["took_s"])

        return {each: ratio(partial(speed, each), partial(speed, BARE)) for each in wanted}


def _lines(
    rounds: int, events: int, found: dict[str, Figures], parts: Sequence[str], row: Row
) -> Iterator[str]:
    yield heading(rounds)
    yield f"a home of {events:,} events"
    wide, bare_s = max(map(len, parts)), found[BARE]["took_s"]
    for name in parts:
        took_s = found[name]["took_s"]
        yield (
            f"{name:{wide}} {took_s:6.2f} s = {took_s / bare_s:5.2f} x bare, "
            f"{events / took_s:>9,.0f} events/s, {row(found[name])}"
        )
