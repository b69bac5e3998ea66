"""A kill during consolidation or collection leaves memory as a clean replay of its log.

Each piece of work is one commit: it is there whole, or it is done again after the next start.
CORTEX_MEMORY_KILLS=100 kills as often, at other moments each time.
"""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cortex.bus import Event, Recorded, decode
from cortex.bus.events import (
    GcCollected,
    MemoryCollected,
    MemoryConsolidated,
    MemoryRecorded,
    SubjectErased,
)
from cortex.runtime.kernel import Home, Runtime
from cortex.runtime.memory import ENGINE, HomeMemory, MemoryState

from .test_memory import COMPONENTS
from .test_memory_writers import everything

Folded: Any = import_module("cortex.actors.engines.memory_chain").Folded

KILLS = int(os.environ.get("CORTEX_MEMORY_KILLS", "3"))
SEED = 17
PATIENCE_S = 120.0
CONFIG = """
[gc]
every_hours = 0
versions = 0
superseded_days = 0

[memory]
consolidate_hours = 0
"""
CHILD = """
import sys
from pathlib import Path
from cortex.bus.events import GcCollect, MemoryConsolidate, MemoryEdge, MemoryRecord
from cortex.runtime.kernel import Home, Runtime

what, life = sys.argv[2], sys.argv[3]
with Runtime(Home(Path(sys.argv[1]))) as runtime:
    client = runtime.client("writer")
    feed = client.follow(("memory.consolidated", None), ("memory.collected", None))
    for n in range(1_000_000):
        said = [
            MemoryRecord(
                kind="observation",
                content=f"The build of part {life} {n} {c} failed in the linter {'again ' * i}",
                node_id=f"{life}n{n:03}c{c}x{i}",
                edges=(MemoryEdge("supersedes", f"{life}n{n:03}c{c}x{i - 1}"),)
                if i and what == "collection"
                else (),
                update=False,
            )
            for c in range(12)
            for i in range(4)
        ]
        request = MemoryConsolidate() if what == "consolidation" else GcCollect(generation=2)
        client.publish(*said)
        asked = client.publish(request)
        print(n, flush=True)
        while not feed.next(60.0):
            pass
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home.create(tmp_path / ".cortex")
    (home.path / "config.toml").write_text(CONFIG)
    return home


def lived(home: Home, what: str, life: int, chance: random.Random) -> None:
    """A runtime works until it is killed, some moments after it was asked for *what*."""
    child = subprocess.Popen(
        [sys.executable, "-I", "-c", CHILD, str(home.path), what, str(life)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    rounds = chance.randint(1, 3)
    for line in child.stdout:
        if int(line) + 1 >= rounds:
            break
    time.sleep(chance.uniform(0.0, 0.15))  # from before it begins to after it ended
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()


def settled(runtime: Runtime) -> list[Recorded]:
    """The log, once all that was asked for before the kill is done."""
    client = runtime.client("waiting")
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        records = list(client.read())
        topics = Counter(record.topic for record in records)
        done = (
            topics["memory.recorded"] + topics["memory.refused"] >= topics["memory.record"],
            topics["memory.consolidated"] >= topics["memory.consolidate"],
            topics["gc.collected"] >= topics["gc.collect"],
            topics["memory.collected"] == topics["gc.collected"],
        )
        if all(done):
            return records
        client.follow(after=client.head).next(0.1)
    raise AssertionError("work is left")


def typed(runtime: Runtime, records: Sequence[Recorded]) -> list[tuple[Recorded, Event]]:
    return [(record, runtime.vocabulary.read(record)) for record in records]


def folded(
    facts: Sequence[tuple[Recorded, Event]], through: int, state: MemoryState | None = None
) -> MemoryState:
    """The state of a clean replay up to position *through*; from *state* on, if one is given."""
    state = state or MemoryState()
    for record, event in facts:
        theirs = isinstance(event, SubjectErased) or record.topic == "gc.collect"
        if record.position <= through and (record.source == ENGINE or theirs):
            state.apply(event, record.subject or "", record.position)
    return state


def kept_state(home: Home, runtime: Runtime) -> tuple[int, MemoryState]:
    """The newest snapshot of the engine: what it gave, and the records that came since."""
    with closing(sqlite3.connect(home.path / "snapshots.db")) as db:
        position, state, tail = db.execute(
            "select position, state, tail from snapshots where component = ?", (ENGINE,)
        ).fetchone()
    records = [decode(data) for data in msgspec.msgpack.decode(tail, type=list[bytes])]
    # No state: it was killed before its first, and all that it knows is in the records.
    memory = msgspec.msgpack.decode(state, type=Folded).memory if state else MemoryState()
    return position, folded(typed(runtime, records), position, memory)


def settled_and_checked(home: Home) -> list[tuple[Recorded, Event]]:
    """Start again, let it end what it began; memory is then what its log says."""
    with Runtime(home, components=COMPONENTS) as runtime:
        settled(runtime)
    with Runtime(home, components=()) as runtime:  # what it did until its end is in the log now
        facts = typed(runtime, list(runtime.client("reading").read()))
        position, state = kept_state(home, runtime)
    assert state == folded(facts, position)
    with HomeMemory.open(home) as memory:
        before = everything(memory.view)
    for path in home.path.glob("memory.db*"):
        path.unlink()
    with HomeMemory.open(home) as memory:
        assert everything(memory.view) == before
    return facts


@pytest.mark.timeout(0)
def test_a_kill_during_consolidation_leaves_all_of_one_or_nothing(home: Home) -> None:
    chance = random.Random(SEED)
    for life in range(KILLS):
        lived(home, "consolidation", life, chance)
        facts = settled_and_checked(home)

    wrote: dict[int | None, dict[int, str]] = {}  # nodes by position, by the request
    for record, event in facts:
        if isinstance(event, MemoryRecorded) and event.consolidation_id:
            wrote.setdefault(record.causation, {})[record.position] = event.node_id
    ends = [(record, event) for record, event in facts if isinstance(event, MemoryConsolidated)]
    read = [node for _, event in ends for node in event.read]
    causes = {record.position: record.causation for record, _ in facts}
    assert any(event.wrote for _, event in ends)
    assert len(set(read)) == len(read)
    for record, event in ends:
        nodes = wrote.pop(record.causation, {})
        assert list(nodes.values()) == list(event.wrote)
        # Nothing stands between what it wrote and its end: it is one commit.
        between = range(min(nodes, default=record.position), record.position)
        assert {causes[at] for at in between} <= {record.causation}
    assert not wrote


@pytest.mark.timeout(0)
def test_a_collection_goes_on_after_a_kill_and_is_made_once(home: Home) -> None:
    chance = random.Random(SEED)
    for life in range(KILLS):
        lived(home, "collection", life, chance)
        facts = settled_and_checked(home)

    asked = [record.position for record, _ in facts if record.topic == "gc.collect"]
    found = [(r, event) for r, event in facts if isinstance(event, GcCollected)]
    gone = [event for _, event in facts if isinstance(event, MemoryCollected)]
    assert [event.number for _, event in found] == list(range(1, len(found) + 1))
    assert [event.collection for event in gone] == [event.number for _, event in found]
    assert [r.causation for r, event in found if not event.more] == asked
    nodes = [node for event in gone for node in event.nodes]
    assert nodes
    assert len(set(nodes)) == len(nodes)
