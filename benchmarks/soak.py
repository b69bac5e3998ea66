"""What does a log of ten million events cost, to keep and to use?

Not part of any check: ten million events take from 15 minutes to two hours, and 20 GB. `--events`
makes fewer, `--only` runs the parts that have this in their name. A script makes the log,
executions of eight events each; then each part runs in a process of its own, whose most memory is
shown. *Query* is a first page of 50 events by what they have in common, and the newest 50, the
slowest of five runs of each; *proof* is checked without a network, as an auditor does it.

*Seal* moves all but the newest events into the archive, by the policy of a hub, while a client
publishes one event each 5 ms: how long that takes, without a sealing and during it. Sizes are what
is in use, because log.db keeps its free pages for later events. The parts below are run again then.

With `--folder FOLDER` all of it stays there, and a soak that was interrupted goes on with the first
part that is not done. Measure on a quiet machine: the load at the end is in the first line.
"""

import contextlib
import io
import json
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, get_args

from bench_start import fill
from measure import Figures, arguments, heading, keep, percentiles, report, run

from cortex.bus import Client, Hub, LocalHub, SystemClock, system_entropy
from cortex.bus.events import VOCABULARY, RuntimeStopped
from cortex.runtime.admin import back_up, restore
from cortex.runtime.audit import Auditing, Cosigning, OfLogs, sign
from cortex.runtime.executions import ExecutionRecords
from cortex.runtime.kernel import Home, Runtime
from cortex.runtime.log import SEGMENT, Archiver, EventLog
from cortex.runtime.projections import EventIndex, HomeLog, Runner, Selection

RESULT = Path(__file__).parent / "results" / "soak.txt"
EVENTS = 10_000_000
PAGE, TIMES = 50, 5
QUIET_TIMES = 1_000  # publishes without a sealing
EACH_S = 0.005  # between two publishes
KINDS: tuple[OfLogs, ...] = get_args(OfLogs)
ARCHIVED = ", archived"  # end of the name of a part that runs again
VERIFY: Any = import_module("cortex.runtime.audit.verify")
GOALS = {
    "verify": "300,000 events/s",
    "replay": "250,000 events/s",
    "start": "2 s",
    "query": "50 ms",
    "proof": "5 ms; 2 kB, 9 kB",
}


def took(work: Callable[[], object]) -> float:
    """Seconds that it takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def make(home: Home, events: int) -> Figures:
    """The log, and what an event takes on the disk."""
    made_s = took(partial(fill, home, events))
    with contextlib.closing(sqlite3.connect(home.log_path)) as log:
        log.execute("pragma wal_checkpoint(truncate)")
        (content,) = log.execute("select sum(length(record)) from events").fetchone()
    size = home.log_path.stat().st_size
    return {"s": made_s, "bytes": size / events, "content": content / events}


def verify(home: Home, _: int) -> Figures:
    """Every byte, by Cortex."""
    log = EventLog.open(home.log_path)
    with contextlib.closing(log):
        return {"s": took(log.verify)}


def auditor(home: Home, _: int) -> Figures:
    """Every byte, by the auditor's own program."""
    with contextlib.redirect_stdout(io.StringIO()) as said:
        seconds = took(lambda: VERIFY.main([str(home.log_path)]))
    if "all of it holds" not in said.getvalue():
        sys.exit(said.getvalue())
    return {"s": seconds}


def project(home: Home, path: Path, projections: list[Any]) -> Figures:
    """These projections, from nothing."""
    with contextlib.closing(EventLog.open(home.log_path)) as log:
        runner = Runner.open(path, projections)
        with contextlib.closing(runner):
            return {"s": took(lambda: runner.advance(log))}


def replay(home: Home, _: int) -> Figures:
    """The projection of executions, by folding the log."""
    with tempfile.TemporaryDirectory(dir=home.path.parent) as folder:
        return project(home, Path(folder) / "projections.db", [ExecutionRecords()])


def index(home: Home, _: int) -> Figures:
    """The query index."""
    made = project(home, home.projections_path, [EventIndex()])
    return {**made, "mb": home.projections_path.stat().st_size / 1e6}


def start(home: Home, _: int) -> Figures:
    """A runtime, until it is ready."""
    began = time.perf_counter()
    with Runtime(home):
        return {"s": time.perf_counter() - began}


def query(home: Home, events: int) -> Figures:
    """The slowest first page by each thing that events have in common."""
    one = f"k{events // 2 // 8 * 8:015d}"
    middle_ns = 1_700_000_000_000_000_000 + events // 2 * 1_000_000
    asked = {
        "stream": Selection(stream=f"execution/{one}"),
        "correlation": Selection(execution=one),
        "causation": Selection(cause=events // 2 // 8 * 8 + 1),
        "topic": Selection(topics=("step.completed",)),
        "pattern": Selection(topics=("*.completed",)),
        "source": Selection(source="Shell"),
        "time": Selection(since_ns=middle_ns),
        "topic and time": Selection(topics=("gate.*",), since_ns=middle_ns),
    }
    slowest: Figures = {}
    for name, selection in asked.items():
        for newest in (False, True):
            each = [took(partial(page, home, selection, newest=newest)) for _ in range(TIMES)]
            slowest[name] = max(slowest.get(name, 0.0), *each)
    return slowest


def page(home: Home, selection: Selection, *, newest: bool) -> None:
    """Open the log, read one page."""
    with HomeLog.open(home) as log:
        found = list(islice((log.newest if newest else log.select)(selection), PAGE))
    if not found:
        sys.exit(f"nothing was found by {selection}")


def proof(home: Home, events: int) -> Figures:
    """A proof of one event for each kind of signature, made and checked; one witness cosigned."""
    auditing = Auditing(home)
    if not auditing.public_keys():
        for kind in KINDS:
            auditing.new_key(f"soak/{kind}", kind)
        Cosigning(home).add_home("witness", Home.create(home.path.parent / "witness").path)
    found: Figures = {"signed_s": took(lambda: sign(home))}
    for kind in KINDS:
        began = time.perf_counter()
        made = auditing.prove(events // 3, kind)
        found[f"made_s {kind}"] = time.perf_counter() - began
        text, record = made.text(), auditing.record(events // 3)
        keys = [key.text() for key in auditing.public_keys() if key.algorithm == kind]
        check = partial(VERIFY.check_proof, text, record, keys)
        checks = [took(check) for _ in range(TIMES)]
        found[f"checked_s {kind}"], found[f"bytes {kind}"] = max(checks[1:]), len(text)
    return found


def backup(home: Home, _: int) -> Figures:
    """A backup, and a restore of it."""
    folder, there = home.path.parent / "backup", home.path.parent / "there"
    try:
        backup_s = took(lambda: back_up(home, folder))
        return {"s": backup_s, "restore_s": took(lambda: restore(folder, Home(there)))}
    finally:
        for each in (folder, there):
            shutil.rmtree(each, ignore_errors=True)


def seal(home: Home, events: int) -> Figures:
    """All but the newest segment, while a client publishes."""
    with contextlib.closing(EventLog.open(home.log_path)) as log:
        before = log.table_bytes
        hub = LocalHub(Hub(log, VOCABULARY, system_entropy), SystemClock())
        with contextlib.closing(hub):
            client = Client("soak", hub, log, VOCABULARY)
            quiet = [publish(client) for _ in range(QUIET_TIMES)]
            archiver, during = Archiver(log, client.publish, age_ns=0, table_bytes=1), list[float]()
            began, through = time.perf_counter(), log.head - log.head % SEGMENT
            archiver.start()
            while log.archive.through < through or log.trim(0):
                during.append(publish(client))
            seconds = time.perf_counter() - began
            archiver.close()
        archived = sum(each.file_bytes for each in log.archive.segments)
        after = log.table_bytes + archived
    project(home, home.projections_path, [EventIndex()])  # as a runtime does with what came in
    found = {f"quiet_{key}": value for key, value in percentiles(quiet).items()}
    found |= {f"sealing_{key}": value for key, value in percentiles(during).items()}
    found |= {"quiet_most_us": 1e6 * max(quiet), "sealing_most_us": 1e6 * max(during)}
    return {
        "s": seconds,
        "before": before / events,
        "after": after / events,
        "archive": archived / events,
        **found,
    }


def publish(client: Client) -> float:
    """Publish one event, a little after the one before; the seconds that it took."""
    time.sleep(EACH_S)
    return took(lambda: client.publish(RuntimeStopped(runtime="soak")))


PARTS: dict[str, Callable[[Home, int], Figures]] = {
    each.__name__: each
    for each in (make, verify, auditor, replay, index, start, query, proof, backup, seal)
}
AGAIN = ("verify", "auditor", "replay", "start", "query", "proof", "backup")
NEEDED = ("make", "index", "seal")  # by the others
NAMES = (*PARTS, *(f"{name}{ARCHIVED}" for name in AGAIN))


def lines(events: int, found: dict[str, Figures]) -> Iterator[str]:
    """The table."""
    yield heading(1)
    yield f"a log of {events:,} events"
    for whole, figures in found.items():
        name = whole.removesuffix(ARCHIVED)
        said = _said(name, events, figures)
        goal = f" (goal: {GOALS[name]})" if name in GOALS else ""
        yield f"{whole:17} {said}{goal}; most memory {figures['rss_mb']:.0f} MB (goal: 300 MB)"


def _said(name: str, events: int, found: Figures) -> str:
    if name == "query":
        each = (f"{key} {1e3 * s:.1f}" for key, s in found.items() if key != "rss_mb")
        return f"{', '.join(each)} ms"
    if name == "proof":
        each = (
            f"{kind} {1e3 * found[f'made_s {kind}']:.1f} ms, checked in "
            f"{1e3 * found[f'checked_s {kind}']:.2f} ms, {found[f'bytes {kind}']:,.0f} bytes"
            for kind in KINDS
        )
        return f"head, with a witness, {found['signed_s']:.2f} s; proof by {'; by '.join(each)}"
    said = f"{found['s']:.2f} s"
    if name != "start":
        said += f" = {events / found['s']:,.0f} events/s"
    if name == "make":
        said += f", {found['bytes']:.0f} bytes an event, of which its record {found['content']:.0f}"
    if name == "seal":
        said += (
            f"; {found['before']:.0f} bytes an event before, {found['after']:.0f} after, of which "
            f"{found['archive']:.0f} in the archive; publish p50 {found['quiet_p50_us']:.0f} us, "
            f"p99 {found['quiet_p99_us']:.0f}, most {found['quiet_most_us']:,.0f}; while sealing "
            f"{found['sealing_p50_us']:.0f}, {found['sealing_p99_us']:.0f}, "
            f"{found['sealing_most_us']:,.0f}"
        )
    if "mb" in found:
        said += f", {found['mb']:,.0f} MB"
    if "restore_s" in found:
        said += f"; restore {found['restore_s']:.1f} s"
    return said


def main() -> None:
    """Make the log, measure each part, keep the table."""
    parser = arguments(__doc__)
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--folder", type=Path, help="keep all of it there, and go on from there")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cortex-soak-") as folder:
        place = given.folder or Path(folder)
        keep(lines(given.events, measured(place, given.events, given.only)), RESULT)


def measured(folder: Path, events: int, only: str) -> dict[str, Figures]:
    """Each part that was asked for and is not done yet, in *folder*; with those that are done."""
    done = folder / "figures.json"
    found: dict[str, Figures] = json.loads(done.read_text()) if done.exists() else {}
    home = Home(folder / "home")
    if not found:
        shutil.rmtree(home.path, ignore_errors=True)  # half of a log
        Home.create(home.path)
    for name in NAMES:
        asked = only in name or name in NEEDED
        if asked and name not in found:
            print(f"{name} ...", file=sys.stderr, flush=True)
            part = name.removesuffix(ARCHIVED)
            found[name] = run(sys.executable, __file__, part, str(home.path), str(events))
            done.write_text(json.dumps(found))
    return found


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in PARTS:
        report(PARTS[sys.argv[1]](Home(Path(sys.argv[2])), int(sys.argv[3])))
    else:
        main()
