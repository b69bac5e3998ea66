"""How long from `cortex run` to its first gate, and how much memory does it take?

A program starts on an empty home, runs the shipped triage of a real CI failure, and ends; on the
second start the process is compiled. *First gate* is the time from the start of the program until
the record of the first `gate.evaluated`, imports included, with the memory that the program had
by then. The peer is a LangGraph program that imports it, builds a graph of one node on SQLite, and
runs it; the bare limit is a Python program that does one `sqlite3` transaction.
"""

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

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
    rss_mb,
)

from cortex.bus import decode

RESULT = Path(__file__).parent / "results" / "bench_first_gate.txt"
EXAMPLES = Path(__file__).parents[1] / "examples"
CORTEX = str(Path(sys.executable).with_name("cortex"))
GOAL_S, GOAL_MB = 0.4, 70
SAMPLE_S = 0.002
TRIAGE = (
    "run",
    "triage_ci_failure",
    *("-i", f"log={EXAMPLES / 'tomlkit-ci-failure.log'}"),
    *("-i", f"checkout={EXAMPLES / 'tomlkit-0.11.8'}"),
)
LANGGRAPH = """
import sys
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from typing import TypedDict

class State(TypedDict):
    passed: bool

with SqliteSaver.from_conn_string(sys.argv[1]) as saver:
    graph = StateGraph(State)
    graph.add_node("gate", lambda state: {"passed": True})
    graph.add_edge(START, "gate")
    graph.add_edge("gate", END)
    made = graph.compile(checkpointer=saver)
    assert made.invoke({"passed": False}, {"configurable": {"thread_id": "1"}})["passed"]
"""
BARE = """
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as connection:
    connection.execute("pragma journal_mode = wal")
    connection.execute("create table if not exists events (position integer primary key, record)")
    connection.execute("insert into events (record) values ('gate.evaluated')")
"""


def program(*command: str, samples: list[tuple[int, float]] | None = None) -> Figures:
    """Run a program: when it began, how long it took, and the most memory that it had.

    Its memory goes into *samples* as it rises: the time (UTC, ns) and the most so far (MB).
    """
    began_ns, began_s = time.time_ns(), time.perf_counter()
    with tempfile.TemporaryFile() as said:
        started = subprocess.Popen(command, stdout=said, stderr=said)
        while (ended := os.wait4(started.pid, os.WNOHANG))[0] == 0:
            if samples is not None:
                samples.append((time.time_ns(), rss_mb(started.pid)))
            time.sleep(SAMPLE_S)
        took_s = time.perf_counter() - began_s
        started.returncode = os.waitstatus_to_exitcode(ended[1])
        if started.returncode:
            said.seek(0)
            sys.exit(said.read().decode())
    return {"began_ns": float(began_ns), "took_s": took_s, "mb": ended[2].ru_maxrss / 1024}


def triage(home: Path) -> Figures:
    """The shipped triage on *home*: seconds and memory until its first gate, and until its end."""
    samples: list[tuple[int, float]] = []
    figures = program(CORTEX, *TRIAGE, "--home", str(home), samples=samples)
    gate_ns = first_gate_ns(home, figures)
    gate_mb = max(mb for at_ns, mb in samples if at_ns <= gate_ns)
    return {**figures, "gate_s": (gate_ns - figures["began_ns"]) / 1e9, "gate_mb": gate_mb}


def first_gate_ns(home: Path, figures: Figures) -> int:
    """When the first gate was evaluated that was recorded since the program began."""
    with contextlib.closing(sqlite3.connect(home / "log.db")) as log:
        for (record,) in log.execute("select record from events order by position"):
            found = decode(record)
            if found.topic == "gate.evaluated" and found.time_ns > figures["began_ns"]:
                return found.time_ns
    sys.exit("no gate was evaluated")


def fresh(folder: Path) -> Figures:
    """The triage on a home that was just made."""
    home = folder / "fresh" / ".cortex"
    shutil.rmtree(home.parent, ignore_errors=True)
    made(home)
    return triage(home)


def made(home: Path) -> None:
    """Make a home."""
    home.parent.mkdir(parents=True)
    program(CORTEX, "init", "--home", str(home))


def lines(rounds: int, found: dict[str, Figures]) -> Iterator[str]:
    """The table."""
    yield heading(rounds)
    bare = found["bare"]["took_s"]
    for name in ("fresh home", "second run"):
        ours = found[name]
        yield (
            f"{name}: first gate {ours['gate_s']:.2f} s (goal <= {GOAL_S}) = "
            f"{ours['gate_s'] / bare:.1f} x bare, {ours['gate_mb']:.0f} MB (goal <= {GOAL_MB}); "
            f"end {ours['took_s']:.2f} s, {ours['mb']:.0f} MB"
        )
    if "langgraph" in found:
        theirs = found["langgraph"]
        shown = found["second run"]["gate_s"] / theirs["took_s"]
        yield (
            f"langgraph, one node: {theirs['took_s']:.2f} s, {theirs['mb']:.0f} MB; "
            f"ours takes {shown:.2f} x as long to its first gate"
        )
    yield f"bare: one sqlite3 transaction {bare:.3f} s, {found['bare']['mb']:.0f} MB"


def measured(folder: Path) -> dict[str, Run]:
    """What is measured in turn, but for the peer."""
    known = folder / "known" / ".cortex"
    made(known)
    triage(known)
    runs: dict[str, Run] = {
        "fresh home": partial(fresh, folder),
        "second run": partial(triage, known),
        "bare": partial(program, sys.executable, "-I", "-c", BARE, str(folder / "bare.db")),
    }
    return runs


def main() -> None:
    """Measure, keep the table."""
    given = arguments(__doc__).parse_args()
    langgraph = peer(given.peers, "langgraph", "langgraph", "langgraph-checkpoint-sqlite")
    with tempfile.TemporaryDirectory(prefix="cortex-gate-") as name:
        folder = Path(name)
        runs = measured(folder)
        if langgraph is not None:
            graph = str(folder / "graph.db")
            runs["langgraph"] = partial(program, langgraph, "-I", "-c", LANGGRAPH, graph)
        keep(lines(given.rounds, in_turn(given.rounds, runs)), RESULT)


def quick() -> Ratios:
    """The first gate of a second run, to a program with one transaction of sqlite3."""
    with tempfile.TemporaryDirectory(prefix="cortex-gate-") as name:
        runs = measured(Path(name))
        return {
            "first gate": ratio(
                lambda: 1 / runs["second run"]()["gate_s"], lambda: 1 / runs["bare"]()["took_s"]
            )
        }


if __name__ == "__main__":
    quickly(quick)
    main()
