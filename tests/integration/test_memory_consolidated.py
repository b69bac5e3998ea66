"""Consolidation in a running Cortex: what executions did again and again, summaries, erasure."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cortex.bus.events import (
    ExecutionRequest,
    MemoryConsolidate,
    MemoryConsolidated,
    MemoryEdge,
    MemoryRecorded,
    MemoryRecurred,
    MemoryRestore,
    MemoryUndo,
    MemoryUndone,
)
from cortex.runtime import erasure
from cortex.runtime.admin import consolidate_memory, consolidation_rows
from cortex.runtime.kernel import Home, Runtime
from cortex.runtime.memory import HomeMemory

from ..staff_world import World
from .test_erasure import found_in
from .test_memory import ASK, COMPONENTS, found, record, told

ANNA = "anna@example.org"
# In letters: statements that differ in a number are no cluster.
SEEDS = [
    "seed-" + "".join(chr(97 + int(digit)) for digit in f"{number * 7919:06}")
    for number in range(30)
]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.create(tmp_path / ".cortex")


@pytest.fixture(params=["home", "memory"])
def world(request: pytest.FixtureRequest, home: Home) -> Iterator[World]:
    """With a home, where memory is in processes of its own, and in memory alone."""
    given = home if request.param == "home" else None
    with Runtime(given, components=COMPONENTS) as runtime:
        yield World(runtime)


def consolidated(world: World) -> list[MemoryRecorded]:
    """What a consolidation writes, of what was said and of what recurs."""
    asked = world.client.publish(MemoryConsolidate())
    causes = {asked}

    def is_over(cause: int) -> None:
        world.wait(
            lambda said: (
                said.record.causation == cause and isinstance(said.event, MemoryConsolidated)
            ),
            asked,
        )

    is_over(asked)
    looked = world.wait(lambda said: isinstance(said.event, MemoryRecurred), asked)
    assert isinstance(looked.event, MemoryRecurred)
    if looked.event.found:
        causes.add(looked.record.position)
        is_over(looked.record.position)
    return [
        said.event
        for said in world.said(asked)
        if said.record.causation in causes and isinstance(said.event, MemoryRecorded)
    ]


def test_what_executions_did_again_and_again_is_found_and_taken_back(world: World) -> None:
    world.compiled(ASK)
    for _ in range(3):
        assert world.run("ask_memory", {"question": "what is up?"}).outcome == "completed"

    (wrote,) = consolidated(world)

    assert wrote.content.startswith("process ask_memory completed: 3 times, from ")
    hits = found(world.client, "how often did ask_memory complete?", "process:ask_memory")
    assert wrote.node_id in [hit["node"]["id"] for hit in hits]
    assert consolidated(world) == []
    (undone,) = told(world, MemoryUndo(consolidation_id=wrote.consolidation_id))
    assert isinstance(undone, MemoryUndone)
    assert undone.nodes == (wrote.node_id,)
    assert consolidated(world) == []


def test_a_command_consolidates_a_home_without_a_hub(home: Home) -> None:
    with Runtime(home, components=COMPONENTS) as runtime:
        world = World(runtime)
        world.compiled(ASK)
        for n in range(3):
            assert world.run("ask_memory", {"question": "what is up?"}).outcome == "completed"
            record(
                world,
                f"Lunch of the team is at noon {'sharp ' * n}",
                kind="observation",
                update=False,
            )

    done = consolidate_memory(home)

    said, episodes = done.wrote
    with HomeMemory.open(home) as memory:
        contents = [node.content for node in memory.view.nodes([said, episodes]).values()]
    assert contents[0].startswith("Said 3 times: Lunch")
    assert contents[1].startswith("process ask_memory completed: 3 times")
    rows = consolidation_rows(home)
    assert [row.wrote for row in rows] == [[episodes], [said]]
    assert done.because == [f"1 of them, about executions, are of consolidation {rows[0].id}"]
    assert consolidate_memory(home).wrote == []


def test_no_string_of_an_erased_person_is_left_in_summaries_clusters_and_episodes(
    home: Home,
) -> None:
    with Runtime(home, components=COMPONENTS) as runtime:
        world = World(runtime)
        world.compiled(ASK)
        for n, seed in enumerate(SEEDS[:4]):
            asked = ExecutionRequest(
                execution_id=f"anna{n}",
                process="ask_memory",
                inputs={"question": seed},
                goal=f"help {seed}",
                subject=ANNA,
            )
            after = runtime.client("crm").publish(asked)
            assert world.stopped(f"anna{n}", after).outcome == "completed"
        for seed in SEEDS[4:10]:
            text = f"At the party behind the old house in June Anna told Ben about {seed}"
            record(world, text, kind="observation", subject=ANNA, update=False)
        before = ""
        for seed in SEEDS[10:]:
            edges = (MemoryEdge("caused_by", before),) if before else ()
            text = f"On that day Anna moved the box {seed} to another shelf of the cellar below us"
            before = record(world, text, subject=ANNA, edges=edges, update=False)
        wrote = consolidated(world)
        assert {each.form for each in wrote} == {"cluster", "summary", "episodes"}
        assert found(world.client, "what did Anna say?")

    erasure.erase(home, ANNA, "she asked for it")

    assert found_in(home.path, SEEDS) == {}
    with Runtime(home, components=COMPONENTS) as runtime:
        world = World(runtime)
        for each in wrote:
            told(world, MemoryRestore(node_id=each.node_id, scope=each.scope))
        assert consolidated(world) == []
        assert found(world.client, "what did Anna say?") == []
    assert found_in(home.path, SEEDS) == {}
