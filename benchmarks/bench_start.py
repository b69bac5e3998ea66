"""How long until a runtime on a home of a million events is ready, and until a goal is begun?

The home is made with our own log: executions of eight events each, as a runtime records them, and
one of every component's. Three starts, each in a process of its own: with nothing but the log
(snapshots and projections are gone, as after a restore), with snapshots and the projections half
made, and with everything up to date. *Ready* is when the runtime was entered, *answered* when the
processes and the executions were listed after it; *goal* is `cortex run --quiet --goal` by hand,
which begins and then waits, as a program. The bare limit is `sqlite3` that opens the log and reads
its last row, in a process of its own too. Interpreter and imports are counted in none but the goal.
"""

import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec
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

from cortex.bus import FORMAT, Batch, Event, Recorded, Row, decode, encode
from cortex.bus.events import (
    ExecutionAnswer,
    ExecutionCompleted,
    ExecutionList,
    ExecutionRequest,
    ExecutionStarted,
    GateEvaluate,
    GateEvaluated,
    ProcessList,
    StepCompleted,
    StepExecute,
)
from cortex.runtime.executions import PROJECTIONS
from cortex.runtime.kernel import Home, Runtime
from cortex.runtime.log import EventLog
from cortex.runtime.projections import Runner, checkpoints

RESULT = Path(__file__).parent / "results" / "bench_start.txt"
BATCH = 8_000
SPAN = 10_000  # events of one step of a projection
GOAL = "Say hello"
WAITING = 5  # the exit code of what waits for a person
WORDS = "Keep the style of the sources"  # what the executions of the log are for
GOALS_S = {"up to date": 3.0}
NAMES = ("nothing but the log", "half projected", "up to date")


def events_of(one: str) -> Iterator[tuple[str, Event]]:
    """The events of one short execution, with their sources."""
    engine, shell = "ProcessExecutionEngine", {"run": "ruff check ."}
    request = ExecutionRequest(execution_id=one, process="lint", goal=WORDS, workspace="/work")
    yield "cli", request
    yield "ProcessManager", started(request)
    yield engine, GateEvaluate(execution_id=one, gate="branch_clean", workspace="/work")
    yield "BranchClean", GateEvaluated(execution_id=one, gate="branch_clean", outcome="passed")
    yield engine, StepExecute(execution_id=one, step_id="check", action="shell", parameters=shell)
    yield "Shell", StepCompleted(execution_id=one, step_id="check", summary="all checks passed")
    yield engine, GateEvaluate(execution_id=one, gate="file_exists", index=1, workspace="/work")
    yield engine, ExecutionCompleted(execution_id=one, tokens=1_200, duration_s=4.5)


def started(request: ExecutionRequest) -> ExecutionStarted:
    """A manager's answer to *request*."""
    return ExecutionStarted(
        execution_id=request.execution_id,
        process=request.process,
        process_version=1,
        digest="d" * 64,
        linked="b" * 64,
        inputs={"folder": "src"},
        goal=request.goal,
        workspace=request.workspace,
        trigger="",
    )


def fill(home: Home, events: int) -> None:
    """Append executions until the log holds *events*."""
    log = EventLog.open(home.log_path)
    position = log.state().head
    rows: list[Row] = []
    while position < events:
        execution_id = f"k{position:015d}"
        for version, (source, event) in enumerate(events_of(execution_id), 1):
            position += 1
            rows.append(_row(position, version, source, event, execution_id))
        if len(rows) >= BATCH or position >= events:
            log.write(Batch(rows=rows))
            rows = []
    # Everybody has seen them: what waits for nobody is what a start is about.
    standings = [msgspec.structs.replace(s, cursor=position) for s in log.state().standings]
    log.write(Batch(standings={standing.name: standing for standing in standings}))
    log.close()


def _row(position: int, version: int, source: str, event: Event, execution_id: str) -> Row:
    body = msgspec.to_builtins(event)
    topic = body.pop("topic")
    made = Recorded(
        format=FORMAT,
        position=position,
        stream=event.stream(),
        version=version,
        id=position.to_bytes(16, "big"),
        time_ns=1_700_000_000_000_000_000 + position * 1_000_000,
        topic=topic,
        schema=1,
        correlation=execution_id,
        causation=position - 1 if version > 1 else None,
        source=source,
        key=event.key(),
        subject=None,
        body=msgspec.msgpack.encode(body),
    )
    return Row(position, made.stream, version, encode(made))


def ours(path: str) -> None:
    """One start, as `ours` of this program: ready, and both lists answered."""
    started = time.perf_counter()
    with Runtime(Home(Path(path))) as runtime:
        ready_s = time.perf_counter() - started
        client = runtime.client("bench")
        client.ask(ProcessList(), timeout_s=60.0)
        answer = client.ask(ExecutionList(limit=1), timeout_s=60.0)
        answered_s = time.perf_counter() - started
        assert isinstance(answer, ExecutionAnswer)
        stopping = time.perf_counter()
    stopped_s = time.perf_counter() - stopping
    report({"ready_s": ready_s, "answered_s": answered_s, "stopped_s": stopped_s})


def bare(path: str) -> None:
    """The least that a start can do: open the log, read its newest row."""
    started = time.perf_counter()
    connection = sqlite3.connect(path)
    row = connection.execute("select record from events order by position desc").fetchone()
    decode(row[0])
    report({"ready_s": time.perf_counter() - started})


def goal(home: Home) -> float:
    """Seconds until a quiet goal waits for a person, as a program."""
    program = Path(sys.executable).with_name("cortex")
    asked = ["--quiet", "--goal", GOAL, "--by-hand", "--home", str(home.path)]
    command = [str(program), "run", *asked]
    started = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != WAITING:
        sys.exit(done.stdout + done.stderr)
    return time.perf_counter() - started


def forget(home: Home) -> None:
    """Leave nothing but what is backed up."""
    for name in ("projections.db", "snapshots.db"):
        for end in ("", "-wal", "-shm", "-journal"):
            home.path.joinpath(name + end).unlink(missing_ok=True)


def project(home: Home, half: bool) -> None:
    """Make the projections, or the first half of them."""
    log = EventLog.open(home.log_path)
    runner = Runner.open(home.projections_path, PROJECTIONS)
    runner.advance(log, spans=log.state().head // (2 * SPAN) if half else None)
    runner.close()
    log.close()


def measured(home: Home, state: str) -> Figures:
    """Bring *home* into *state*, start on it, and begin work towards a goal."""
    figures: Figures = {}
    for what in ("ready", "goal"):
        forget(home)
        if state != NAMES[0]:
            project(home, half=state == NAMES[1])
            run(sys.executable, __file__, "ours", str(home.path))  # keeps snapshots at its end
        if state == NAMES[2]:
            goal(home)  # waits until every component has one
        if what == "ready":
            figures |= run(sys.executable, __file__, "ours", str(home.path))
        else:
            figures["goal_s"] = goal(home)
    figures["behind"] = _behind(home)
    return figures


def _behind(home: Home) -> float:
    log = EventLog.open(home.log_path, readonly=True)
    head = log.state().head
    log.close()
    return head - min(each.position for each in checkpoints(home.projections_path))


def main() -> None:
    """Make the home, measure, keep the table."""
    parser = arguments(__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="cortex-start-"))
    try:
        home = Home(folder / ".cortex").open()
        goal(home)  # components are subscribed, processes compiled, then the log grows
        fill(home, given.events)
        runs: dict[str, Run] = {name: partial(measured, home, name) for name in NAMES}
        runs["bare"] = lambda: run(sys.executable, __file__, "bare", str(home.log_path))
        found = in_turn(given.rounds, runs)
    finally:
        shutil.rmtree(folder)
    keep(lines(given.rounds, given.events, found), RESULT)


def quick() -> Ratios:
    """A start on a small home, to opening its log with sqlite3."""
    folder = Path(tempfile.mkdtemp(prefix="cortex-start-"))
    try:
        home = Home(folder / ".cortex").open()
        goal(home)
        fill(home, 20_000)
        project(home, half=False)
        run(sys.executable, __file__, "ours", str(home.path))  # keeps snapshots at its end
        return {
            "ready": ratio(
                lambda: 1 / run(sys.executable, __file__, "ours", str(home.path))["ready_s"],
                lambda: 1 / run(sys.executable, __file__, "bare", str(home.log_path))["ready_s"],
            )
        }
    finally:
        shutil.rmtree(folder)


def lines(rounds: int, events: int, found: dict[str, Figures]) -> Iterator[str]:
    """The table."""
    yield heading(rounds)
    limit = found["bare"]["ready_s"]
    yield f"a home of {events:,} events; sqlite3, open and last row: {limit * 1e3:.1f} ms"
    for name in NAMES:
        figures = found[name]
        wanted = f" (goal < {GOALS_S[name]:.0f} s)" if name in GOALS_S else ""
        yield (
            f"{name:19}: ready {figures['ready_s']:.2f} s = {figures['ready_s'] / limit:,.0f} x "
            f"sqlite3, answered {figures['answered_s']:.2f} s, stopped in "
            f"{figures['stopped_s']:.2f} s; quiet goal {figures['goal_s']:.2f} s{wanted}, "
            f"after which the projections lack {figures['behind']:,.0f} events"
        )


if __name__ == "__main__":
    quickly(quick)
    if sys.argv[1:2] == ["ours"]:
        ours(sys.argv[2])
    elif sys.argv[1:2] == ["bare"]:
        bare(sys.argv[2])
    else:
        main()
