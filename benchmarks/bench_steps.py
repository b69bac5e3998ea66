"""How many durable steps a second does a process take, and what does a busy component do to that?

A process of six steps of a trivial action (each adds one to what the step before gave), no gates
and no model, on SQLite: 64 executions at a time and one at a time. Ours runs the real components:
ProcessDefinitionAccessor, ProcessManager, ProcessExecutionEngine and one worker for the action.
The peers run their natural program of six steps, at the same PRAGMAs: LangGraph with SqliteSaver,
DBOS on SQLite. The bare limit is a loop of ``sqlite3`` transactions that write as many events as
ours have, one transaction a step, or one for 64 steps. All in one run and in turn.

Then ours beside one component that computes all the time, in a thread of the same process and, as
the docs recommend for such a component, with ``cpu = True`` in a process of its own: steps a second
at 64, and how long a single publish takes until it is acknowledged, alone and beside those steps.
"""

import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import peers
from adding import COMPONENTS, INSERT, RECORD, bare_log, drive, submit
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

from cortex.bus import Client, Event, as_map
from cortex.bus.events import (
    ExecutionRequest,
)
from cortex.runtime.kernel import Component, Config, Delivery, Home, Runtime, on

RESULT = Path(__file__).parent / "results" / "bench_steps.txt"
MODES = ("normal", "full")
STEPS = 6
AT_ONCE = 64
ROWS = 3 + 2 * STEPS  # events of one execution: request, started, two a step, completed
GOALS = {AT_ONCE: 3_000, 1: 600}
BUSY_GOALS = {"p99_us": 50_000, "steps": 500}
EXECUTIONS = {64: 1_024, 1: 150}  # of ours, the peers and the bare limit alike
BUSY_EXECUTIONS = 2_000
PROBES = 600
PROCESS = """
process: six_steps
version: 1
description: Add one, six times
inputs:
  value: { type: integer }
steps:
  - { id: s1, action: add_one, description: Add one, with: { value: "${inputs.value}" } }
  - { id: s2, action: add_one, description: Add one, with: { value: "${steps.s1.value}" } }
  - { id: s3, action: add_one, description: Add one, with: { value: "${steps.s2.value}" } }
  - { id: s4, action: add_one, description: Add one, with: { value: "${steps.s3.value}" } }
  - { id: s5, action: add_one, description: Add one, with: { value: "${steps.s4.value}" } }
  - { id: s6, action: add_one, description: Add one, with: { value: "${steps.s5.value}" } }
outputs:
  value: { type: integer, value: "${steps.s6.value}" }
"""


class Noted(Event, frozen=True, kw_only=True, tag="x.bench.noted"):
    """Something that is only recorded."""

    number: int


class Compute(Event, frozen=True, kw_only=True, tag="x.bench.compute"):
    """Request computing while a file exists."""

    path: str


class Computed(Event, frozen=True, kw_only=True, tag="x.bench.computed"):
    """Computing is over."""

    share: float  # of one core, that it had


class Computing(Component):
    """Computes all the time, and never waits for anything."""

    @on(Compute)
    def compute(self, event: Compute, _: Delivery) -> Iterator[Event]:
        """Compute until the file is deleted."""
        total, began, cpu = 0, time.perf_counter(), time.thread_time()
        while Path(event.path).exists():
            for number in range(1_000_000):
                total += number * number
        share = (time.thread_time() - cpu) / (time.perf_counter() - began)
        yield Computed(share=share)


class ComputingApart(Computing):
    """The same in a process of its own."""

    cpu = True


BUSY = {"thread": "bench_steps:Computing", "spawned": "bench_steps:ComputingApart"}


def requests(name: str, executions: int) -> list[ExecutionRequest]:
    return [
        ExecutionRequest(execution_id=f"{name}{n}", process="six_steps", inputs={"value": 0})
        for n in range(executions)
    ]


def probe(client: Client, pause_s: float, until: threading.Event) -> list[float]:
    """How long each of some publishes takes until it is acknowledged."""
    took_s: list[float] = []
    while len(took_s) < PROBES and not until.wait(pause_s):
        began = time.perf_counter()
        client.publish(Noted(number=len(took_s)))
        took_s.append(time.perf_counter() - began)
    return took_s


def ours(mode: str, at_once: int, executions: int) -> Figures:
    """Steps a second with nothing beside them."""
    with tempfile.TemporaryDirectory() as folder:
        home = Home.create(Path(folder) / ".cortex")
        config = Config(durability="full" if mode == "full" else "normal")
        with Runtime(home, components=COMPONENTS, config=config) as runtime:
            client = runtime.client("bench")
            submit(runtime, client, {"six": PROCESS})
            drive(client, requests("warm", at_once), at_once, STEPS)
            head = client.head
            took_s = drive(client, requests("x", executions), at_once, STEPS)
            if client.head - head != ROWS * executions:
                sys.exit(f"{client.head - head} events for {executions} executions")
    return {"steps": STEPS * executions / took_s}


def busy(where: str, executions: int) -> Figures:
    """Steps a second and latency beside a component that computes all the time."""
    components = [*COMPONENTS, BUSY[where]] if where in BUSY else [*COMPONENTS]
    with tempfile.TemporaryDirectory() as folder:
        home, flag = Home.create(Path(folder) / ".cortex"), Path(folder) / "computing"
        with Runtime(home, components=components, config=Config()) as runtime:
            client = runtime.client("bench")
            submit(runtime, client, {"six": PROCESS})
            drive(client, requests("warm", AT_ONCE), AT_ONCE, STEPS)
            flag.touch()
            client.publish(Compute(path=str(flag)))
            time.sleep(0.5)  # a spawned one takes a moment to be there
            alone = percentiles(probe(client, 0.0, threading.Event()))
            over, beside = threading.Event(), list[float]()
            prober = threading.Thread(target=lambda: beside.extend(probe(client, 0.005, over)))
            prober.start()
            took_s = drive(client, requests("x", executions), AT_ONCE, STEPS)
            over.set()
            prober.join()
            share = stop_computing(client, flag) if where in BUSY else 0.0
    under = {f"beside_{key}": value for key, value in percentiles(beside).items()}
    return {"steps": STEPS * executions / took_s, "share": share, **alone, **under}


def stop_computing(client: Client, flag: Path) -> float:
    """The share of one core that the busy component had."""
    feed = client.follow(("x.bench.computed", None))
    flag.unlink()
    (ended,) = feed.next(60.0)
    return float(as_map(ended)["share"])


def bare(mode: str, at_once: int, executions: int) -> Figures:
    """As many events in as many transactions as durable steps cannot do without."""
    with tempfile.TemporaryDirectory() as folder:
        connection = bare_log(Path(folder), mode)
        started = time.perf_counter()
        for first in range(0, executions, at_once):
            for step in range(STEPS):
                versions = range(step * 2, ROWS if step == STEPS - 1 else step * 2 + 2)
                connection.execute("begin immediate")
                connection.executemany(
                    INSERT,
                    [
                        (f"execution/{n}", version, RECORD)
                        for n in range(first, min(first + at_once, executions))
                        for version in versions
                    ],
                )
                connection.execute("commit")
        took_s = time.perf_counter() - started
        (written,) = connection.execute("select count(*) from events").fetchone()
        connection.close()
    if written != ROWS * executions:
        sys.exit(f"{written} rows for {executions} executions")
    return {"steps": STEPS * executions / took_s}


def ask_peer(python: str | None, code: str, mode: str, at_once: int, *more: str) -> Run | None:
    """A measurement of one peer's program."""
    if python is None:
        return None
    executions = str(EXECUTIONS[at_once])

    def measure() -> Figures:
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "peer.db")
            return run(python, "-c", code, mode, str(at_once), executions, path, *more)

    return measure


def subjects(folder: Path) -> dict[str, Run]:
    """What is measured, by name."""
    langgraph = peer(folder, "langgraph", "langgraph", "langgraph-checkpoint-sqlite")
    dbos = peer(folder, "dbos", "dbos")
    runs: dict[str, Run | None] = {}
    for at_once in (AT_ONCE, 1):
        for mode in MODES:
            name = f"{mode}/{at_once}"
            count = EXECUTIONS[at_once]
            runs[f"ours/{name}"] = child("ours", mode, at_once, count)
            runs[f"bare/{name}"] = child("bare", mode, at_once, count)
            runs[f"langgraph/{name}"] = ask_peer(langgraph, peers.LANGGRAPH, mode, at_once, "sync")
            runs[f"dbos/{name}"] = ask_peer(dbos, peers.DBOS, mode, at_once)
        name = f"normal/{at_once}"
        runs[f"langgraph-async/{name}"] = ask_peer(
            langgraph, peers.LANGGRAPH, "normal", at_once, "async"
        )
    for where in ("nothing", *BUSY):
        runs[f"busy/{where}"] = child("busy", where, BUSY_EXECUTIONS)
    return {name: measure for name, measure in runs.items() if measure is not None}


def child(*command: object) -> Run:
    words = [str(word) for word in command]
    return lambda: run(sys.executable, __file__, "--child", *words)


def step_lines(found: dict[str, Figures]) -> Iterator[str]:
    for at_once in (AT_ONCE, 1):
        for mode in MODES:
            mine = found.get(f"ours/{mode}/{at_once}")
            if mine is None:
                continue
            goal = f" (goal >= {GOALS[at_once]:,})" if mode == "normal" else ""
            yield (
                f"{at_once:2} at a time, {mode:6}: {mine['steps']:8,.0f} steps/s{goal}, "
                f"{mine['rss_mb']:.0f} MB"
            )
            for name in ("langgraph", "langgraph-async", "dbos", "bare"):
                other = found.get(f"{name}/{mode}/{at_once}")
                if other:
                    ratio = mine["steps"] / other["steps"]
                    yield (
                        f"    {name:16} {other['steps']:8,.0f} steps/s, ours {ratio:7.2f} x, "
                        f"{other['rss_mb']:.0f} MB"
                    )
                elif name in ("langgraph", "dbos"):
                    yield f"    {name:16}  skipped: it is not installed"


def busy_lines(found: dict[str, Figures]) -> Iterator[str]:
    for where in ("nothing", *BUSY):
        mine = found.get(f"busy/{where}")
        if mine is None:
            continue
        computing = f"one that computes ({where}, {mine['share']:.0%} of a core)"
        computing = computing if where in BUSY else "nothing"
        goals = " (goals: >= 500; p99 < 50 ms)" if where == "thread" else ""
        yield (
            f"beside {computing}: {mine['steps']:,.0f} steps/s at 64{goals}; publish -> "
            f"acknowledged p50 {mine['p50_us'] / 1e3:.2f} ms, p99 {mine['p99_us'] / 1e3:.2f} ms; "
            f"beside the steps p50 {mine['beside_p50_us'] / 1e3:.2f} ms, "
            f"p99 {mine['beside_p99_us'] / 1e3:.2f} ms"
        )


def quick() -> Ratios:
    """Steps a second, at once and one after the other, to bare transactions."""

    def one(at_once: int, executions: int) -> float:
        found: float = ratio(
            lambda: ours("normal", at_once, executions)["steps"],
            lambda: bare("normal", at_once, executions)["steps"],
        )
        return found

    return {"64 at a time": one(AT_ONCE, 4 * AT_ONCE), "1 at a time": one(1, 60)}


def main() -> None:
    quickly(quick)
    if sys.argv[1:2] == ["--child"]:
        what, first, *rest = sys.argv[2:]
        measures = {"ours": ours, "bare": bare}
        if what == "busy":
            report(busy(first, int(rest[0])))
        else:
            report(measures[what](first, int(rest[0]), int(rest[1])))
        return
    options = arguments(__doc__).parse_args()
    runs = {n: r for n, r in subjects(options.peers).items() if options.only in n}
    head = heading(options.rounds)
    found = in_turn(options.rounds, runs)
    keep([head, *step_lines(found), *busy_lines(found)], RESULT)


if __name__ == "__main__":
    main()
