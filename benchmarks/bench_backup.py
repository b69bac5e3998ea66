"""How long does a backup of a home take, the first time and again, and a restore?

A home of many events is made with our own log. *First* copies everything and checks every event,
*again* copies into the same folder after nothing has changed, *restore* checks every event and
makes the home. The bare limit is ``shutil.copytree`` of the home.
"""

import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
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

from cortex.runtime.admin import back_up, restore
from cortex.runtime.kernel import Home

RESULT = Path(__file__).parent / "results" / "bench_backup.txt"
EVENTS = 1_000_000
QUICK = 20_000
NAMES = ("first", "again", "restore", "bare")


def measured(name: str, folder: Path) -> None:
    """One of them, as *name* of this program."""
    home, backup = Home(folder / "home"), folder / "backup"
    there = folder / "there"
    if name == "first":
        shutil.rmtree(backup, ignore_errors=True)
    shutil.rmtree(there, ignore_errors=True)
    began = time.perf_counter()
    if name == "bare":
        shutil.copytree(home.path, there)
    elif name == "restore":
        restore(backup, Home(there))
    else:
        back_up(home, backup)
    report({"took_s": time.perf_counter() - began})


def main() -> None:
    """Make the home, measure, keep the table."""
    parser = arguments(__doc__)
    parser.add_argument("--events", type=int, default=EVENTS)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cortex-backup-") as name:
        folder = Path(name)
        home = Home.create(folder / "home")
        fill(home, given.events)
        runs: dict[str, Run] = {
            each: partial(run, sys.executable, __file__, each, str(folder)) for each in NAMES
        }
        keep(lines(given.rounds, given.events, in_turn(given.rounds, runs)), RESULT)


def quick() -> Ratios:
    """A backup of a small home, to a copy of its folder."""
    with tempfile.TemporaryDirectory(prefix="cortex-backup-") as name:
        folder = Path(name)
        fill(Home.create(folder / "home"), QUICK)

        def speed(what: str) -> float:
            figures: Figures = run(sys.executable, __file__, what, name)
            return float(1 / figures["took_s"])

        return {"first": ratio(partial(speed, "first"), partial(speed, "bare"))}


def lines(rounds: int, events: int, found: dict[str, Figures]) -> Iterator[str]:
    """The table."""
    yield heading(rounds)
    yield f"a home of {events:,} events"
    bare = found["bare"]["took_s"]
    for name in NAMES:
        ours = found[name]
        yield (
            f"{name:8} {ours['took_s']:6.2f} s = {ours['took_s'] / bare:5.2f} x bare, "
            f"{events / ours['took_s']:>9,.0f} events/s, {ours['rss_mb']:.0f} MB"
        )


if __name__ == "__main__":
    quickly(quick)
    if sys.argv[1:2] and sys.argv[1] in NAMES:
        measured(sys.argv[1], Path(sys.argv[2]))
    else:
        main()
