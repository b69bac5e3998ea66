"""How fast is the log: append, catch up, replay, a page that is shown; how large does it become?

Ours (records encoded, leaf hashes kept) beside bare ``sqlite3`` with the same rows, encoded before,
and the same PRAGMAs, written with ``executemany`` and, as ours are, with one statement a batch (the
share is of the faster one, round by round), and beside the package ``eventsourcing`` on SQLite: in
one run and in turn; medians are printed. What is written is made just before, as in a hub. The peer
is asked through ``--peer``, a Python that has it installed; without one its column says so.
"""

import argparse
import itertools
import random
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import log_pages
import msgspec
from measure import Ratios, heading, quickly, ratio

from cortex.bus import FORMAT, Batch, Recorded, Row, decode, encode
from cortex.runtime.log import Durability, EventLog
from cortex.runtime.projections import Changes, EventIndex, Runner

RESULT = Path(__file__).parent / "results" / "bench_log.txt"
ROUNDS = 11
MODES: tuple[Durability, ...] = ("normal", "full")
MIXED = 0  # a size: batches of 1 to 199, as requests that arrive together make them
EVENTS = {
    ("normal", 100): 20_000,
    ("full", 100): 10_000,
    ("normal", MIXED): 20_000,
    ("full", MIXED): 10_000,
    ("normal", 1): 3_000,
    ("full", 1): 400,
}
REPLAYED = 300_000
TURNS, TURN_BYTES = 200, 1_024
GOALS = {"append": 0.65, "replay": 250_000, "size": 2.0}
TOPICS = ("step.execute", "step.completed", "execution.started", "execution.completed")
STATUS = {"execution.started": "running", "execution.completed": "completed"}
BODY = msgspec.msgpack.encode(
    {"execution_id": "k3f9q2m7", "step": "run_tests", "action": "shell", "attempt": 1}
    | {"result": {"exit_code": 0, "summary": "148 passed in 12.3 s"}, "tokens": 1_245}
)

PEER = """
import json, sqlite3, sys, time

mode, batch, events, path, task = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:]
connect = sqlite3.connect

def tuned(*args, **kwargs):
    connection = connect(*args, **kwargs)
    connection.execute(f"pragma synchronous = {mode}")
    connection.execute("pragma wal_autocheckpoint = 16000")
    return connection

sqlite3.connect = tuned
from eventsourcing.application import Application
from eventsourcing.domain import Aggregate, event

class Execution(Aggregate):
    @event("Started")
    def __init__(self): self.status = "running"
    @event("Completed")
    def complete(self, step, action, attempt, exit_code, summary, tokens): self.status = "completed"

app = Application(env={"PERSISTENCE_MODULE": "eventsourcing.sqlite", "SQLITE_DBNAME": path})

def append(count):
    execution = Execution()
    for _ in range(count - 1):
        execution.complete("run_tests", "shell", 1, 0, "148 passed in 12.3 s", 1245)
    app.save(execution)

if task == "append":
    started = time.perf_counter()
    if batch == 1:
        execution = Execution()
        app.save(execution)
        for _ in range(events - 1):
            execution.complete("run_tests", "shell", 1, 0, "148 passed in 12.3 s", 1245)
            app.save(execution)
    else:
        for _ in range(events // batch): append(batch)
    print(events / (time.perf_counter() - started))
else:
    for _ in range(events // 100): append(100)
    started, counts, last = time.perf_counter(), {}, 0
    while page := app.recorder.select_notifications(last, 1000, inclusive_of_start=False):
        for notification in page:
            happened = app.mapper.to_domain_event(notification)
            counts[type(happened).__name__] = counts.get(type(happened).__name__, 0) + 1
        last = page[-1].id
    assert sum(counts.values()) == events
    print(events / (time.perf_counter() - started))
"""


class Statuses:
    """The newest status of every execution and how many events it has."""

    name = "statuses"
    version = 1
    tables = ("create table statuses (stream text primary key, status text, events integer)",)

    def begin(self) -> Changes:
        """Empty changes."""
        return StatusChanges()


class StatusChanges:
    """Statuses and counts of one span."""

    def __init__(self) -> None:
        self.status: dict[str, str] = {}
        self.events: dict[str, int] = {}

    def apply(self, records: Sequence[Recorded]) -> None:
        """Count and keep the newest status."""
        status, events = self.status, self.events
        for record in records:
            stream = record.stream
            events[stream] = events.get(stream, 0) + 1
            if record.topic in STATUS:
                status[stream] = STATUS[record.topic]

    def flush(self, connection: sqlite3.Connection) -> None:
        """Add to what the table has."""
        connection.executemany(
            "insert into statuses values (?, ?, ?) on conflict do update set events = events "
            "+ excluded.events, status = coalesce(excluded.status, status)",
            [(stream, self.status.get(stream), n) for stream, n in self.events.items()],
        )


def record(position: int, body: bytes = BODY, topic: str | None = None) -> Recorded:
    """Streams of 100 events, as an execution has them."""
    return Recorded(
        format=FORMAT,
        position=position,
        stream=f"execution/{(position - 1) // 100:08x}",
        version=(position - 1) % 100 + 1,
        id=position.to_bytes(16, "big"),
        time_ns=1_700_000_000_000_000_000 + position,
        topic=topic or TOPICS[position % 4],
        schema=1,
        correlation=f"{(position - 1) // 100:08x}",
        causation=position - 1,
        source="process_execution_engine",
        key="shell",
        subject=None,
        body=body,
    )


def row(made: Recorded) -> Row:
    return Row(made.position, made.stream, made.version, encode(made))


def batches(events: int, size: int) -> Iterator[list[Recorded]]:
    first, chosen = 1, random.Random(1)
    while first <= events:
        last = min(first + (size or chosen.randint(1, 199)) - 1, events)
        yield [record(position) for position in range(first, last + 1)]
        first = last + 1


def ours(path: Path, mode: Durability, size: int, events: int) -> float:
    log, took_s = EventLog.open(path, durability=mode), 0.0
    for records in batches(events, size):
        started = time.perf_counter()
        log.write(Batch(rows=[Row(r.position, r.stream, r.version, encode(r)) for r in records]))
        took_s += time.perf_counter() - started
    log.close()
    return events / took_s


def bare(path: Path, mode: Durability, size: int, events: int, *, many: bool) -> float:
    EventLog.open(path, durability=mode).close()  # the same tables
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"pragma synchronous = {mode}")
    connection.execute("pragma wal_autocheckpoint = 16000")
    connection.execute("pragma journal_size_limit = 67108864")
    statements = [
        f"insert into events values {', '.join(['(?, ?, ?, ?)'] * n)}" for n in range(200)
    ]
    took_s = 0.0
    for records in batches(events, size):
        rows = [(r.position, r.stream, r.version, encode(r)) for r in records]
        started = time.perf_counter()
        connection.execute("begin immediate")
        if many:
            connection.executemany(statements[1], rows)
        else:
            connection.execute(statements[len(rows)], tuple(chain.from_iterable(rows)))
        connection.execute("commit")
        took_s += time.perf_counter() - started
    connection.close()
    return events / took_s


def peer(python: str | None, mode: str, size: int, events: int, path: Path, task: str) -> float:
    if python is None or size == MIXED:
        return 0.0
    command = [python, "-c", PEER, mode, str(size), str(events), str(path), task]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout)


def fill(path: Path, events: int) -> EventLog:
    log = EventLog.open(path)
    for records in batches(events, 1_000):
        log.write(Batch(rows=[row(made) for made in records]))
    return log


def catch_up(log: EventLog) -> float:
    started, position = time.perf_counter(), 0
    while page := log.read(position, 1_000, 8 << 20):
        position += len([decode(data) for data in page])
    return position / (time.perf_counter() - started)


def replay(log: EventLog, path: Path, projection: Statuses | EventIndex) -> float:
    runner = Runner.open(path, [projection])
    started = time.perf_counter()
    position = runner.advance(log)
    rate = position / (time.perf_counter() - started)
    runner.close()
    return rate


def beside_a_busy_thread(path: Path) -> tuple[float, float]:
    """Events/s and p99 in ms of batches of 100 while another thread computes all the time."""
    log, made, running = EventLog.open(path), list(batches(20_000, 100)), True
    before, took = sys.getswitchinterval(), []

    def compute() -> None:
        while running:
            sum(range(1_000))

    busy = threading.Thread(target=compute)
    sys.setswitchinterval(0.0005)
    busy.start()
    started = time.perf_counter()
    for records in made:
        began = time.perf_counter()
        log.write(Batch(rows=[row(made) for made in records]))
        took.append(time.perf_counter() - began)
    rate = 20_000 / (time.perf_counter() - started)
    running = False
    busy.join()
    sys.setswitchinterval(before)
    log.close()
    return rate, statistics.quantiles(took, n=100)[98] * 1_000


def size_of_turns(path: Path) -> tuple[float, float]:
    """Size over content after TURNS turns of two events each: while open, and closed."""
    log, text = EventLog.open(path), random.Random(1)
    for turn in range(TURNS):
        rows = []
        for part, topic in ((1, "model.invoke"), (2, "model.responded")):
            body = msgspec.msgpack.encode({"text": text.randbytes(TURN_BYTES // 2)})
            rows.append(row(record(2 * turn + part, body, topic)))
            log.write(Batch(rows=rows[-1:]))
    content = TURNS * TURN_BYTES
    sized = sum(file.stat().st_size for file in path.parent.glob(path.name + "*"))
    log.close()
    return sized / content, path.stat().st_size / content


def median_of(rounds: int, *runs: Callable[[Path], float]) -> list[float]:
    """The median figure of each of *runs*."""
    return [statistics.median(kept) for kept in in_turn(rounds, *runs)]


def in_turn(rounds: int, *runs: Callable[[Path], float]) -> list[list[float]]:
    """The figures of each of *runs*, taken in turn, *rounds* times, each in a folder of its own."""
    figures: list[list[float]] = [[] for _ in runs]
    for _ in range(rounds):
        for kept, run in zip(figures, runs, strict=True):
            with tempfile.TemporaryDirectory() as folder:
                kept.append(run(Path(folder) / "log.db"))
    return figures


def append_lines(rounds: int, python: str | None) -> Iterator[str]:
    for size in (100, MIXED, 1):
        for mode in MODES:
            count = EVENTS[mode, size]
            figures = in_turn(
                rounds,
                # Ignored: the defaults that hold the loop's values have no inferred type.
                lambda path, m=mode, s=size, n=count: ours(path, m, s, n),  # type: ignore[misc]
                lambda path, m=mode, s=size, n=count: bare(path, m, s, n, many=False),  # type: ignore[misc]
                lambda path, m=mode, s=size, n=count: bare(path, m, s, n, many=True),  # type: ignore[misc]
                lambda path, m=mode, s=size, n=count: peer(python, m, s, n, path, "append"),  # type: ignore[misc]
            )
            share = statistics.median(m / max(o, n) for m, o, n, _ in zip(*figures, strict=True))
            mine, one, many, other = map(statistics.median, figures)
            goal = f" (goal >= {GOALS['append']:.0%})" if (mode, size) == ("normal", 100) else ""
            yield (
                f"append, batches of {size or '1-199':>5}, {mode:6}: {mine:9,.0f} events/s = "
                f"{share:.0%} of bare sqlite3{goal} (one statement {one:9,.0f}, "
                f"executemany {many:9,.0f}); eventsourcing {said(other, mine)}"
            )


def said(other: float, mine: float) -> str:
    return f"{other:,.0f}, ours {mine / other:.1f} x" if other else "not asked"


def read_lines(rounds: int, python: str | None, folder: Path) -> Iterator[str]:
    log = fill(folder / "log.db", REPLAYED)
    read, folded, indexed, other = median_of(
        rounds,
        lambda _: catch_up(log),
        lambda path: replay(log, path.with_name("projections.db"), Statuses()),
        lambda path: replay(log, path.with_name("projections.db"), EventIndex()),
        lambda path: peer(python, "normal", 100, REPLAYED // 10, path, "replay"),
    )
    started = time.perf_counter()
    verified = log.verify() / (time.perf_counter() - started)
    log.close()
    yield f"catch up, pages of 1,000, decoded: {read:,.0f} events/s"
    yield (
        f"replay through a projection, tables and checkpoint every 10,000: {folded:,.0f} events/s "
        f"(goal >= {GOALS['replay']:,}); eventsourcing, in memory: {said(other, folded)}"
    )
    yield f"replay through the query index (five indexes): {indexed:,.0f} events/s"
    yield f"verify: {verified:,.0f} events/s"


def other_lines(folder: Path) -> Iterator[str]:
    rate, p99_ms = beside_a_busy_thread(folder / "busy.db")
    yield f"append beside a busy thread, batches of 100: {rate:,.0f} events/s, p99 {p99_ms:.1f} ms"
    opened, closed = size_of_turns(folder / "turns.db")
    yield (
        f"log of {TURNS} turns of {TURN_BYTES} bytes: {closed:.2f} x content (goal <= "
        f"{GOALS['size']:g} x); {opened:.1f} x with the write-ahead log while it is open"
    )


def quick() -> Ratios:
    """Batches and single records appended, to bare rows; a page shown, to one not compared."""

    def one(size: int, events: int) -> float:
        with tempfile.TemporaryDirectory() as name:
            paths = (Path(name) / f"{number}.db" for number in itertools.count())
            found: float = ratio(
                lambda: ours(next(paths), "normal", size, events),
                lambda: bare(next(paths), "normal", size, events, many=False),
            )
            return found

    with (
        tempfile.TemporaryDirectory() as name,
        log_pages.homes(Path(name), 2_000) as homes,
    ):
        _, checked = log_pages.compared(homes[2_000], "events", "query", rounds=7)
    return {"append/100": one(100, 8_000), "append/1": one(1, 800), "page checked": checked}


def main() -> None:
    quickly(quick)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", help="a Python with eventsourcing installed")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    peer_python = options.peer and shutil.which(options.peer)
    lines = [heading(options.rounds)]
    print(lines[0])
    with tempfile.TemporaryDirectory() as name:
        for line in chain(
            append_lines(options.rounds, peer_python),
            read_lines(options.rounds, peer_python, Path(name)),
            log_pages.lines(Path(name) / "pages", options.rounds),
            other_lines(Path(name)),
        ):
            print(line, flush=True)
            lines.append(line)
    RESULT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
