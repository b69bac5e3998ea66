"""How many events a second do an export of the log and an import take, and how much memory?

A home of many events is made with our own log. *cortex* writes the log itself, every event checked,
decoded and encoded again; *import* reads that file, checks every line and makes the home; each
other format is written once. The bare limit reads and decodes the records of the log and writes
them as they are. Each is a process of its own.
"""

import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
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

from cortex.bus import decode
from cortex.runtime.exports import FORMATS, NATIVE, export_to, import_log
from cortex.runtime.kernel import Home

RESULT = Path(__file__).parent / "results" / "bench_export.txt"
EVENTS = 1_000_000
QUICK = 20_000
FORMS = [name for name in FORMATS if not name.endswith("-batch")]  # it is written as the other
NAMES = (*FORMS, "import", "bare")


def measured(name: str, folder: Path) -> None:
    """One of them, as *name* of this program."""
    home, there = Home(folder / "home"), Home(folder / "there")
    file = folder / f"out.{NATIVE if name == 'import' else name}"
    shutil.rmtree(there.path, ignore_errors=True)
    began = time.perf_counter()
    if name == "import":
        with file.open("rb") as source:
            import_log(source, there)
    elif name == "bare":
        _bare(home, file)
    else:
        export_to(home, file, form=name)
    report({"took_s": time.perf_counter() - began, "size_mb": file.stat().st_size / 1e6})


def _bare(home: Home, file: Path) -> None:
    with closing(sqlite3.connect(home.log_path)) as log, file.open("wb") as out:
        for (record,) in log.execute("select record from events order by position"):
            decode(record)
            out.write(record)


def main() -> None:
    """Make the home, measure, keep the table."""
    parser = arguments(__doc__)
    parser.add_argument("--events", type=int, default=EVENTS)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cortex-export-") as name:
        folder = Path(name)
        home = Home.create(folder / "home")
        fill(home, given.events)
        runs: dict[str, Run] = {
            each: partial(run, sys.executable, __file__, each, str(folder)) for each in NAMES
        }
        keep(lines(given.rounds, given.events, in_turn(given.rounds, runs)), RESULT)


def quick() -> Ratios:
    """An export of a small home and an import of it, to reading its records."""
    with tempfile.TemporaryDirectory(prefix="cortex-export-") as name:
        folder = Path(name)
        fill(Home.create(folder / "home"), QUICK)

        def speed(what: str) -> float:
            figures: Figures = run(sys.executable, __file__, what, name)
            return float(1 / figures["took_s"])

        return {
            each: ratio(partial(speed, each), partial(speed, "bare")) for each in (NATIVE, "import")
        }


def lines(rounds: int, events: int, found: dict[str, Figures]) -> Iterator[str]:
    """The table."""
    yield heading(rounds)
    yield f"a home of {events:,} events"
    bare = found["bare"]["took_s"]
    for name in NAMES:
        ours = found[name]
        yield (
            f"{name:12} {ours['took_s']:6.2f} s = {ours['took_s'] / bare:5.2f} x bare, "
            f"{events / ours['took_s']:>9,.0f} events/s, {ours['rss_mb']:.0f} MB of memory, "
            f"{ours['size_mb']:,.0f} MB of file"
        )


if __name__ == "__main__":
    quickly(quick)
    if sys.argv[1:2] and sys.argv[1] in NAMES:
        measured(sys.argv[1], Path(sys.argv[2]))
    else:
        main()
