"""How fast is a log replayed: every decision again, and every projection again?

A home is made by the real runtime: executions of a process of six steps. Then, each in a process of
its own: *decisions* calls the real deciders with every event and compares what they decide with
the log; *one execution* does it for one of them; *projections* folds each of them again and
compares digests. The bare limit reads and decodes every record, and folds nothing. The peer is
LangGraph: its time travel runs the nodes behind a checkpoint again, so that their number is printed
beside ours, which is 0. Memory is the most that the process had.
"""

import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from adding import COMPONENTS, drive, submit
from bench_steps import AT_ONCE, PROCESS, STEPS, requests
from measure import (
    Figures,
    Ratios,
    Run,
    arguments,
    heading,
    in_turn,
    keep,
    peer,
    quickly,
    ratio,
    report,
    run,
)

from cortex.runtime.executions import PROJECTIONS
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Config, Home, Runtime
from cortex.runtime.log import EventLog
from cortex.runtime.projections import Runner
from cortex.runtime.replay import replay_execution, replay_home, replay_projections

RESULT = Path(__file__).parent / "results" / "bench_replay.txt"
EXECUTIONS = 20_000
QUICK = 1_000
GOAL = 250_000  # events a second
GOAL_MB = 300
NAMES = ("decisions", "one execution", "projections", "bare")
LANGGRAPH = """
import json
from typing import TypedDict
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph

class State(TypedDict):
    value: int

ran = []

def add_one(state):
    ran.append(state["value"])
    return dict(value=state["value"] + 1)

builder = StateGraph(State)
names = [START, "s1", "s2", "s3", "s4", "s5", "s6", END]
for name in names[1:-1]:
    builder.add_node(name, add_one)
for before, after in zip(names, names[1:]):
    builder.add_edge(before, after)
graph = builder.compile(checkpointer=InMemorySaver())
config = dict(configurable=dict(thread_id="1"))
graph.invoke(dict(value=0), config)
first = len(ran)
earliest = [each for each in graph.get_state_history(config) if each.next == ("s1",)][-1]
graph.invoke(None, earliest.config)
print(json.dumps(dict(first=first, again=len(ran) - first)))
"""


def fill(home: Home, executions: int) -> None:
    """Run so many executions."""
    with Runtime(home, components=COMPONENTS, config=Config()) as runtime:
        client = runtime.client("bench")
        submit(runtime, client, {"six": PROCESS})
        drive(client, requests("x", executions), AT_ONCE, STEPS)
    log = EventLog.open(home.log_path, readonly=True)
    runner = Runner.open(home.projections_path, PROJECTIONS)
    runner.advance(log)
    runner.close()
    log.close()


def measured(name: str, path: str) -> None:
    """One replay, as *name* of this program."""
    home = Home(Path(path))
    with History.open(home) as history:
        started = time.perf_counter()
        events = 0.0
        if name == "bare":
            events = float(sum(1 for _ in history.read()))
        elif name == "projections":
            found = list(replay_projections(history))
            events = float(sum(each.position for each in found))
            assert not any(each.differs for each in found)
        else:
            replayed = (
                replay_execution(history, history.newest_execution_id(), Config())
                if name == "one execution"
                else replay_home(history, Config())
            )
            assert replayed.divergence is None, replayed.divergence
            events = float(replayed.events)
        took_s = time.perf_counter() - started
    report({"events": events, "took_s": took_s})


def runs_of(home: Home) -> dict[str, Run]:
    """What is measured in turn."""
    return {name: partial(run, sys.executable, __file__, name, str(home.path)) for name in NAMES}


def main() -> None:
    """Make the home, measure, keep the table."""
    parser = arguments(__doc__)
    parser.add_argument("--executions", type=int, default=EXECUTIONS)
    given = parser.parse_args()
    langgraph = peer(given.peers, "langgraph", "langgraph", "langgraph-checkpoint-sqlite")
    with tempfile.TemporaryDirectory(prefix="cortex-replay-") as folder:
        home = Home.create(Path(folder) / ".cortex")
        fill(home, given.executions)
        runs = runs_of(home)
        if langgraph is not None:
            runs["langgraph"] = partial(run, langgraph, "-c", LANGGRAPH)
        keep(lines(given.rounds, given.executions, in_turn(given.rounds, runs)), RESULT)


def lines(rounds: int, executions: int, found: dict[str, Figures]) -> Iterator[str]:
    """The table."""
    yield heading(rounds)
    bare = found["bare"]
    yield f"{executions:,} executions of {STEPS} steps, {bare['events']:,.0f} events"
    limit = bare["events"] / bare["took_s"]
    for name in NAMES:
        ours = found[name]
        speed = ours["events"] / ours["took_s"]
        wanted = f" (goal >= {GOAL:,})" if name == "projections" else ""
        yield (
            f"{name:14} {speed:>9,.0f} events/s{wanted} = {speed / limit:.3f} x bare, "
            f"{ours['took_s']:.2f} s, {ours['rss_mb']:.0f} MB (goal <= {GOAL_MB})"
        )
    if "langgraph" in found:
        again = found["langgraph"]["again"]
        yield f"steps that are run again: ours 0, langgraph {again:.0f} of {STEPS}"


def quick() -> Ratios:
    """Decisions and projections, to reading and decoding the log."""
    with tempfile.TemporaryDirectory(prefix="cortex-replay-") as folder:
        home = Home.create(Path(folder) / ".cortex")
        fill(home, QUICK)
        runs = runs_of(home)

        def speed(name: str) -> float:
            figures: Figures = runs[name]()
            return float(figures["events"] / figures["took_s"])

        return {
            name: ratio(partial(speed, name), partial(speed, "bare"))
            for name in ("decisions", "projections")
        }


if __name__ == "__main__":
    quickly(quick)
    if sys.argv[1:2] and sys.argv[1] in NAMES:
        measured(sys.argv[1], sys.argv[2])
    else:
        main()
