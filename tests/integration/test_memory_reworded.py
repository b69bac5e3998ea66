"""After a consolidation a model may put summaries into fewer words: recorded, checked, bounded."""

from pathlib import Path

import pytest

from cortex.actors.handlers import RewordSummary
from cortex.actors.library import library_sources
from cortex.bus.events import (
    ExecutionRequest,
    GcCollect,
    MemoryCollected,
    MemoryConsolidate,
    MemoryConsolidated,
    MemoryEdge,
    MemoryRecorded,
    MemoryRefused,
    MemoryUndo,
    ModelInvoke,
)
from cortex.runtime import erasure
from cortex.runtime.kernel import Home, Runtime
from cortex.runtime.memory import HomeMemory, Node

from ..servers import Answer, ScriptedOpenAI
from ..staff_world import Said, World
from ..unit.test_memory_rewording import shorter
from ..unit.test_memory_summaries import said
from .test_erasure import found_in
from .test_memory import COMPONENTS as MEMORY
from .test_memory import record
from .test_provider_executions import STAFF, endpoint

COMPONENTS = (*dict.fromkeys((*MEMORY, *STAFF, RewordSummary)),)
ANNA = "anna@example.org"
(PROCESS,) = (text for text in library_sources().values() if "process: reword_summary" in text)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.create(tmp_path / ".cortex")


def configured(home: Home, server: ScriptedOpenAI, most: int) -> Home:
    endpoint(home, server)
    with home.config_path.open("a") as file:
        file.write(f"[memory]\nreword_most = {most}\n")
    return home


def chain(world: World, start: int = 0, **fields: str) -> list[str]:
    """Memories that edges join, long enough for a summary."""
    ids: list[str] = []
    for n in range(start, start + 12):
        edges = (MemoryEdge("caused_by", ids[-1]),) if ids else ()
        ids.append(record(world, said(n), edges=edges, update=False, **fields))
    return ids


def consolidate(world: World) -> int:
    """Consolidate, and wait until all that is to be asked of models is asked; the position."""
    asked = world.client.publish(MemoryConsolidate())
    world.wait(
        lambda each: each.record.causation == asked and isinstance(each.event, MemoryConsolidated),
        asked,
    )
    collect = world.client.publish(GcCollect())  # which the same worker handles after it
    world.wait(lambda each: isinstance(each.event, MemoryCollected), collect)
    return asked


def requests(world: World) -> list[ExecutionRequest]:
    return [each.event for each in world.said() if isinstance(each.event, ExecutionRequest)]


def worded(each: Said) -> bool:
    """Whether it is a wording, or that there is none."""
    if isinstance(each.event, MemoryRefused):
        raise AssertionError(each.event.reason)
    return isinstance(each.event, MemoryRecorded) and each.event.form == "wording"


def summaries(home: Home, form: str = "summary") -> list[Node]:
    with HomeMemory.open(home) as memory:
        view = memory.view
        nodes = view.nodes(view.touched(0)).values()
        states = view.states([node.id for node in nodes])
        return [n for n in nodes if n.form == form and states[n.id].current]


def drafts(home: Home, *starts: int) -> list[Answer]:
    """What a model that keeps to its task says to the summaries of chains that start so."""
    other = Home.create(home.path.parent / "other" / ".cortex")
    with Runtime(other, components=MEMORY) as runtime:
        world = World(runtime)
        for start in starts:
            chain(world, start)
        consolidate(world)
    return [Answer(text=(shorter(s.content.partition(": ")[2]),)) for s in summaries(other)]


def test_a_summary_is_reworded_by_a_recorded_call_and_undone(home: Home) -> None:
    with (
        ScriptedOpenAI(*drafts(home, 0)) as server,
        Runtime(configured(home, server, 5), components=COMPONENTS) as runtime,
    ):
        world = World(runtime)
        world.compiled(PROCESS)
        chain(world)
        asked = consolidate(world)
        wrote = world.wait(worded, asked).event
        calls = [each.event for each in world.said() if isinstance(each.event, ModelInvoke)]
        consolidate(world)
        asked_for = requests(world)
        (summary,) = summaries(home)
        (wording,) = summaries(home, "wording")
        assert isinstance(wrote, MemoryRecorded)
        undo = world.client.publish(MemoryUndo(consolidation_id=wrote.consolidation_id))
        world.settled(undo)

    assert (wording.origin, wording.source) == ("model", f"memory {summary.id}")
    assert len(wording.content) < len(summary.content)
    assert "1th week: load balancer of " in wording.content
    assert len(calls) == len(asked_for) == 1
    assert asked_for[0].execution_id == calls[0].execution_id == f"reword-{summary.id}-1"
    assert summaries(home, "wording") == []
    with HomeMemory.open(home) as memory:  # that it was done is no memory
        nodes = memory.view.nodes(memory.view.touched(0)).values()
        assert not [node for node in nodes if node.kind == "outcome"]


def test_what_the_checker_refuses_stays_extractive_and_is_not_asked_again(home: Home) -> None:
    with (
        ScriptedOpenAI(Answer(text=("Some connections were lost.",))) as server,
        Runtime(configured(home, server, 5), components=COMPONENTS) as runtime,
    ):
        world = World(runtime)
        world.compiled(PROCESS)
        chain(world)
        asked = consolidate(world)
        refused = world.wait(lambda each: isinstance(each.event, MemoryRefused), asked).event
        consolidate(world)
        asked_for = requests(world)

    assert isinstance(refused, MemoryRefused)
    assert refused.asked == "memory.reword"
    assert len(asked_for) == 1
    assert len(summaries(home)) == 1
    assert summaries(home, "wording") == []


def test_each_consolidation_asks_for_as_many_as_it_may(home: Home) -> None:
    with (
        ScriptedOpenAI(*drafts(home, 0, 12, 24)) as server,
        Runtime(configured(home, server, 2), components=COMPONENTS) as runtime,
    ):
        world = World(runtime)
        world.compiled(PROCESS)
        for start in (0, 12, 24):
            chain(world, start)
        counts = []
        for _ in range(2):
            consolidate(world)
            for request in requests(world):
                world.stopped(request.execution_id, 0)
            counts.append(len(requests(world)))

    assert counts == [2, 3]


def test_no_model_is_asked_unless_it_is_configured(home: Home) -> None:
    with (
        ScriptedOpenAI() as server,
        Runtime(endpoint(home, server), components=COMPONENTS) as runtime,
    ):
        world = World(runtime)
        world.compiled(PROCESS)
        chain(world)
        consolidate(world)
        asked = [e for e in world.said() if isinstance(e.event, ExecutionRequest | ModelInvoke)]

    assert asked == []
    assert len(summaries(home)) == 1


def test_a_runtime_that_ends_before_the_answer_leaves_it_to_the_next(home: Home) -> None:
    with ScriptedOpenAI(*drafts(home, 0)) as server:
        configured(home, server, 5)
        without = tuple(each for each in COMPONENTS if each.__name__ != "OpenAIProvider")
        with Runtime(home, components=COMPONENTS) as runtime:
            World(runtime).compiled(PROCESS)
        with Runtime(home, components=without) as runtime:
            world = World(runtime)
            chain(world)
            asked = consolidate(world)
            world.wait(lambda each: isinstance(each.event, ModelInvoke), asked)
        assert summaries(home, "wording") == []

        with Runtime(home, components=COMPONENTS) as runtime:
            world = World(runtime)
            world.wait(worded, asked)

    assert len(summaries(home, "wording")) == 1


def test_the_wording_of_what_is_about_a_person_goes_with_them(home: Home) -> None:
    with (
        ScriptedOpenAI(*drafts(home, 0)) as server,
        Runtime(configured(home, server, 5), components=COMPONENTS) as runtime,
    ):
        world = World(runtime)
        world.compiled(PROCESS)
        chain(world, subject=ANNA)
        asked = consolidate(world)
        assert world.wait(worded, asked).record.subject

    erasure.erase(home, ANNA, "she asked for it")

    assert summaries(home) == summaries(home, "wording") == []
    assert found_in(home.path, ["load balancer", "copied by hand"]) == {}
