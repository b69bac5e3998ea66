"""Memory as of any moment of one long log is what a rebuild up to that moment holds.

A property in `test_memory_view.py` says so of short logs. CORTEX_MEMORY_POSITIONS=1000 looks at
that many moments of a log that grows with them; CORTEX_MEMORY_REPORT names a file for the figures.
"""

import os
import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cortex.bus import Event, Recorded
from cortex.bus.events import (
    EdgeType,
    ExecutionCompleted,
    GcCollect,
    MemoryCollected,
    MemoryConsolidate,
    MemoryCorrect,
    MemoryEdge,
    MemoryForget,
    MemoryLink,
    MemoryPin,
    MemoryRecord,
    MemoryRestore,
    MemoryUndo,
)
from cortex.runtime.memory import EDGES

from .memory_world import MemoryWorld
from .test_memory_view import EXECUTIONS, everything, started

POSITIONS = int(os.environ.get("CORTEX_MEMORY_POSITIONS", "25"))
REPORT = os.environ.get("CORTEX_MEMORY_REPORT", "")
REQUESTS_EACH = 3  # requests in the log, for each moment that is looked at
SEED = 17
SCOPES = ("user", "project:a", "process:ship")
SAID = ("The build of the {} failed in the linter", "The {} is deployed on {}days", "{} runs on {}")
WHAT = ("shop", "wiki", "mail", "Fri", "Tues", "Postgres", "MySQL", "staging")


class LongWorld(MemoryWorld):
    """With an index of the streams, since a long log is read often."""

    def __init__(self) -> None:
        self._streams: defaultdict[str, list[Recorded]] = defaultdict(list)
        self._indexed = 0
        super().__init__()

    def stream(self, name: str) -> Iterator[Recorded]:
        """The events of one stream."""
        for record in self.records[self._indexed :]:
            self._streams[record.stream].append(record)
        self._indexed = len(self.records)
        return iter(self._streams[name])


def step(world: LongWorld, chance: random.Random, number: int) -> None:
    """One thing that happens to memory; what is refused is in the log, too."""
    what = chance.choices(
        ("record", "link", "correct", "pin", "forget", "restore", "more"),
        (50, 12, 10, 5, 8, 6, 9),
    )[0]
    known = world.decider.state.nodes
    if what == "more" or (what != "record" and not known):
        happen(world, chance, number)
        return
    node_id = chance.choice(list(known)) if known else ""
    content = chance.choice(SAID).format(chance.choice(WHAT), chance.choice(WHAT))
    if chance.random() < 0.7:
        content = f"{content} since build {number}"
    if what == "record":
        edges = (edge(chance, node_id),) if known and chance.random() < 0.3 else ()
        scope, subject = chance.choice(SCOPES), chance.choice(("", "", "eve"))
        request: Event = MemoryRecord(
            kind="observation", content=content, scope=scope, subject=subject, edges=edges
        )
        world.ask(request, subject)
        return
    scope, subject = known[node_id].scope, known[node_id].subject
    requests: dict[str, Event] = {
        "correct": MemoryCorrect(node_id=node_id, content=content, scope=scope, subject=subject),
        "link": MemoryLink(
            node_id=node_id,
            edge=chance.choice(EDGES),
            to=chance.choice(list(known)),
            scope=scope,
        ),
        "pin": MemoryPin(node_id=node_id, pinned=chance.random() < 0.6, scope=scope),
        "forget": MemoryForget(node_id=node_id, scope=scope),
        "restore": MemoryRestore(node_id=node_id, scope=scope),
    }
    world.ask(requests[what], subject if what == "correct" else "")


def edge(chance: random.Random, to: str) -> MemoryEdge:
    found: EdgeType = chance.choice(EDGES)
    return MemoryEdge(found, to)


def happen(world: LongWorld, chance: random.Random, number: int) -> None:
    """An execution ends, or memory is consolidated, collected, or a consolidation undone."""
    state = world.decider.state
    what = chance.randrange(4)
    if what == 0 or not state.nodes:
        world.add(started(f"e{number}"), EXECUTIONS)
        world.add(ExecutionCompleted(execution_id=f"e{number}"), EXECUTIONS)
    elif what == 1:
        world.ask(MemoryConsolidate(most=200))
    elif what == 2 and state.wrote:
        world.ask(MemoryUndo(consolidation_id=chance.choice(list(state.wrote))))
    else:
        asked = GcCollect()
        state.apply(asked, position=world.add(asked, "owner"))
        wanted = chance.sample(list(state.nodes), min(5, len(state.nodes)))
        nodes = state.left_alone(wanted, len(world.records))
        fact = MemoryCollected(nodes=nodes, collection=number)
        state.apply(fact, position=world.add(fact))


def test_the_state_at_moments_of_a_long_log_is_a_rebuild_up_to_each() -> None:
    chance, world = random.Random(SEED), LongWorld()
    for number in range(REQUESTS_EACH * POSITIONS):
        step(world, chance, number)
    head = len(world.records)

    at_once = world.view()
    for at in sorted(chance.sample(range(1, head + 1), min(POSITIONS, head))):
        rebuilt = world.view(upto=at)
        at_once.position = at
        assert everything(at_once) == everything(rebuilt), f"position {at} of {head}"

    assert len(world.decider.state.nodes) > POSITIONS // 4  # most of what was asked was done
    keep(world, head)


def keep(world: LongWorld, head: int) -> None:
    """Add the figures to the report, if one is wanted."""
    state: Any = world.decider.state
    if REPORT:
        edges = sum(map(len, state.edges.values()))
        with Path(REPORT).open("a") as report:
            report.write(
                f"seed {SEED}: {min(POSITIONS, head):,} positions of a log of {head:,} events "
                f"({len(state.nodes):,} nodes, {edges:,} edges, {len(state.successors):,} "
                f"replaced, {len(state.gone):,} gone): each as a rebuild up to it\n"
            )
