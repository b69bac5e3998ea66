"""How fast is `cortex diff` on logs of 100,000 events?

A home is made by the real runtime: executions of a process of six steps. It goes on with one more
after it was copied. Then, each in a process of its own: *logs* finds where the two part by their
leaf hashes; *moments* compares the state at the middle with that at the end; *executions* compares
two of them. The bare limit of *logs* reads the rows of both tables of leaf hashes with ``sqlite3``
and compares them; that of *moments* reads and decodes every record once. Beside them is a *walk*
that compares each record of both logs.
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

from adding import COMPONENTS, drive
from bench_replay import fill
from bench_steps import STEPS, requests
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

from cortex.bus import Log
from cortex.runtime.diff import diff_executions, diff_logs, diff_moments, opened_log
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Config, Home, Runtime

RESULT = Path(__file__).parent / "results" / "bench_diff.txt"
EVENTS = 100_000
EVENTS_EACH = 15  # of one execution
QUICK = 15_000
NAMES = ("logs", "walk", "bare logs", "moments", "executions", "bare records")


def made(folder: Path, events: int) -> tuple[Path, Path]:
    """Two homes whose logs part at the last event."""
    one, other = folder / "one", folder / "other"
    home = Home.create(one / ".cortex")
    fill(home, events // EVENTS_EACH)
    shutil.copytree(one, other)
    with Runtime(home, components=COMPONENTS, config=Config()) as runtime:
        drive(runtime.client("bench"), requests("y", 1), 1, STEPS)
    return one, other


def measured(name: str, one: str, other: str) -> None:
    """One comparison, as *name* of this program."""
    home = Home(Path(one) / ".cortex")
    with opened_log(Path(one)) as log:
        head = log.state().head
    started = time.perf_counter()
    if name == "executions":
        with History.open(home) as history:
            ids = [r.correlation or "" for r in history.read() if r.topic == "execution.started"]
            started = time.perf_counter()
            diff_executions(history, ids[0], ids[-1])
    elif name == "moments":
        found = diff_moments(home, head // 2, head)
        assert found.state is not None
    elif name == "bare records":
        with History.open(home) as history:
            assert sum(1 for _ in history.read()) == head
    elif name == "bare logs":
        assert _rows(one) != _rows(other)
    else:
        with opened_log(Path(one)) as ours, opened_log(Path(other)) as theirs:
            if name == "logs":
                assert diff_logs(ours, theirs, ("one", "other")).parted
            else:
                _walked(ours, theirs, head)
    report({"took_s": time.perf_counter() - started, "events": float(head)})


def _walked(ours: Log, theirs: Log, head: int) -> None:
    """Read every record of both logs, and compare."""
    for after in range(0, head, 1_024):
        pages = [list(log.read(after, 1_024, 4 << 20)) for log in (ours, theirs)]
        if pages[0] != pages[1]:
            return


def _rows(folder: str) -> list[tuple[int, bytes]]:
    path = Path(folder) / ".cortex" / "log.db"
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as log:
        return log.execute("select first, hashes from tiles order by first").fetchall()


def runs_of(one: Path, other: Path) -> dict[str, Run]:
    """What is measured in turn."""
    call = partial(run, sys.executable, __file__)
    return {name: partial(call, name, str(one), str(other)) for name in NAMES}


def main() -> None:
    """Make the homes, measure, keep the table."""
    parser = arguments(__doc__)
    parser.add_argument("--events", type=int, default=EVENTS)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cortex-diff-") as folder:
        one, other = made(Path(folder), given.events)
        keep(lines(given.rounds, in_turn(given.rounds, runs_of(one, other))), RESULT)


def lines(rounds: int, found: dict[str, Figures]) -> Iterator[str]:
    """The table."""
    yield heading(rounds)
    yield f"two logs of {found['logs']['events']:,.0f} events that part at the end"
    for name in NAMES:
        took_s = found[name]["took_s"]
        yield f"{name:14} {took_s * 1_000:>8,.1f} ms, {found[name]['rss_mb']:.0f} MB"
    walk = found["walk"]["took_s"] / found["logs"]["took_s"]
    yield f"by leaf hashes {walk:.1f} times as fast as by records"


def quick() -> Ratios:
    """Logs to the rows of both tables of hashes, moments to reading every record."""
    with tempfile.TemporaryDirectory(prefix="cortex-diff-") as folder:
        runs = runs_of(*made(Path(folder), QUICK))

        def speed(name: str) -> float:
            return float(1 / runs[name]()["took_s"])

        return {
            name: ratio(partial(speed, name), partial(speed, bare))
            for name, bare in (("logs", "bare logs"), ("moments", "bare records"))
        }


if __name__ == "__main__":
    quickly(quick)
    if " ".join(sys.argv[1:2]) in NAMES:
        measured(sys.argv[1], sys.argv[2], sys.argv[3])
    else:
        main()
