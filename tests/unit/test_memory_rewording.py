"""A summary in fewer words keeps all facts, is the word of a model, and goes with the summary."""

from typing import Any

import pytest

from cortex.bus import Event
from cortex.bus.events import (
    MemoryConsolidated,
    MemoryForget,
    MemoryForgotten,
    MemoryRecorded,
    MemoryRefused,
    MemoryReword,
    MemoryUndo,
)
from cortex.runtime.memory import MemoryFinder, recalled, rewordings

from .memory_world import MemoryWorld
from .test_memory_summaries import chain, consolidate, said


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld()


def summary(world: MemoryWorld, count: int = 12, subject: str = "") -> tuple[list[str], str, str]:
    """The ids of a chain, and its summary: id and text."""
    ids = chain(world, count, subject=subject)
    (wrote,) = consolidate(world)
    return ids, wrote.node_id, wrote.content.partition(": ")[2]


def shorter(text: str) -> str:
    return text.replace("In the ", "").replace(" the load balancer of the ", ": load balancer of ")


def reword(world: MemoryWorld, node_id: str, draft: str, **more: Any) -> tuple[Event, ...]:
    return world.ask(MemoryReword(node_id=node_id, draft=draft), **more)


def test_a_draft_that_keeps_all_facts_is_written_beside_the_summary(world: MemoryWorld) -> None:
    ids, node_id, text = summary(world)

    recorded, consolidated = reword(world, node_id, shorter(text))

    assert isinstance(recorded, MemoryRecorded)
    assert isinstance(consolidated, MemoryConsolidated)
    assert recorded.content.startswith("Summary of 12 memories: ")
    assert " 1th week: load balancer of Rome cluster dropped 42 connections." in recorded.content
    assert len(recorded.content) < len(text)
    assert (recorded.origin, recorded.form, recorded.kind) == ("model", "wording", "observation")
    assert [edge.to for edge in recorded.edges] == [*ids, node_id]
    assert {edge.edge for edge in recorded.edges} == {"refines"}
    assert world.decider.state.is_current(node_id)


def test_what_a_draft_changed_or_left_out_is_as_it_was(world: MemoryWorld) -> None:
    _, node_id, text = summary(world)
    wrong = shorter(text).replace("dropped 42 connections", "dropped 24 connections")
    assert wrong != shorter(text)

    recorded, _ = reword(world, node_id, wrong)

    assert isinstance(recorded, MemoryRecorded)
    assert "24 connections" not in recorded.content
    assert "In the 1th week the load balancer of the Rome cluster dropped 42" in recorded.content


@pytest.mark.parametrize(
    ("draft", "words"),
    [
        ("All was well.", "keep its names, numbers"),
        ("", "keep its names, numbers"),
        ("x" * 16_001, "it may have 16,000"),
    ],
)
def test_a_draft_of_which_nothing_stands_is_refused(
    world: MemoryWorld, draft: str, words: str
) -> None:
    _, node_id, _ = summary(world)

    (refused,) = reword(world, node_id, draft)

    assert isinstance(refused, MemoryRefused)
    assert words in refused.reason


def test_a_draft_that_saves_nothing_is_refused(world: MemoryWorld) -> None:
    _, node_id, text = summary(world)

    (refused,) = reword(world, node_id, text)

    assert isinstance(refused, MemoryRefused)
    assert "not shorter" in refused.reason


def test_only_a_summary_that_holds_is_reworded_in_its_scope_and_for_its_subject(
    world: MemoryWorld,
) -> None:
    ids, node_id, text = summary(world)

    for asked, subject in (
        (MemoryReword(node_id=ids[0], draft="x"), ""),
        (MemoryReword(node_id="none", draft="x"), ""),
        (MemoryReword(node_id=node_id, draft=shorter(text), scope="project:x"), ""),
        (MemoryReword(node_id=node_id, draft=shorter(text)), "anna"),
    ):
        (refused,) = world.ask(asked, subject)
        assert isinstance(refused, MemoryRefused), refused


def test_of_one_person_it_belongs_to_that_person(world: MemoryWorld) -> None:
    _, node_id, text = summary(world, subject="anna")

    recorded, _ = reword(world, node_id, shorter(text), subject="anna")

    assert isinstance(recorded, MemoryRecorded)
    assert recorded.subject == "anna"


def test_it_goes_with_what_it_cites_with_the_summary_and_by_undo(world: MemoryWorld) -> None:
    ids, node_id, text = summary(world)
    first, _ = reword(world, node_id, shorter(text))
    assert isinstance(first, MemoryRecorded)

    facts = world.ask(MemoryForget(node_id=ids[0], scope="user"))
    gone = {fact.node_id for fact in facts if isinstance(fact, MemoryForgotten)}
    assert gone == {ids[0], node_id, first.node_id}

    (again,) = consolidate(world)
    second, _ = reword(world, again.node_id, shorter(again.content.partition(": ")[2]))
    assert isinstance(second, MemoryRecorded)
    facts = world.ask(MemoryUndo(consolidation_id=again.consolidation_id))
    assert [f.node_id for f in facts if isinstance(f, MemoryForgotten)] == [second.node_id]


def test_a_newer_summary_takes_its_place_and_undo_takes_back_the_wording_alone(
    world: MemoryWorld,
) -> None:
    ids, node_id, text = summary(world)
    first, _ = reword(world, node_id, shorter(text))
    assert isinstance(first, MemoryRecorded)
    chain(world, 3, 12, ids[-1])

    (newer,) = consolidate(world)
    state = world.decider.state
    assert (state.is_current(node_id), state.is_live(first.node_id)) == (False, False)
    second, _ = reword(world, newer.node_id, shorter(newer.content.partition(": ")[2]))
    assert isinstance(second, MemoryRecorded)
    world.ask(MemoryUndo(consolidation_id=second.consolidation_id))

    assert state.is_current(newer.node_id)
    assert not state.is_live(second.node_id)


def test_no_cluster_summary_or_episode_is_made_of_a_wording(world: MemoryWorld) -> None:
    _, node_id, text = summary(world)
    reword(world, node_id, shorter(text))

    assert consolidate(world) == []


def test_a_step_is_given_the_wording_in_the_place_of_the_summary(
    world: MemoryWorld, tmp_path: Any
) -> None:
    _, node_id, text = summary(world)
    wording, _ = reword(world, node_id, shorter(text))
    assert isinstance(wording, MemoryRecorded)
    finder, view = MemoryFinder.open(tmp_path, None), world.view()
    finder.update(view)

    found = recalled([finder.find(said(1), view, ["user"], limit=20)], limit=20)
    finder.close()

    ids = [node.id for node in found.nodes]
    assert wording.node_id in ids
    assert node_id not in ids
    (line,) = [node.text for node in found.nodes if node.id == wording.node_id]
    assert "said by a model" in line


def asked(world: MemoryWorld, most: int, **logged: str) -> list[str]:
    """Ids of the executions that are requested, where the log has these executions and ends."""
    topics = {
        execution.replace("_", "-"): frozenset(f"execution.{each}" for each in ("request", end))
        for execution, end in logged.items()
    }
    found = rewordings(world.view(), most, lambda each: topics.get(each, frozenset()))
    return [request.execution_id for request in found]


def test_as_many_summaries_are_to_be_reworded_as_may_be_the_oldest_first(
    world: MemoryWorld,
) -> None:
    first = summary(world)[1]
    chain(world, 12, 12)
    second = consolidate(world)[0].node_id

    assert asked(world, 5) == [f"reword-{first}-1", f"reword-{second}-1"]
    assert asked(world, 1) == [f"reword-{first}-1"]
    assert asked(world, 0) == []


def test_a_request_has_the_text_and_is_about_whom_the_summary_is_about(world: MemoryWorld) -> None:
    _, node_id, text = summary(world, subject="anna")

    (request,) = rewordings(world.view(), 1, lambda _: frozenset())

    assert request.process == "reword_summary"
    assert request.inputs == {"memory": node_id, "text": text, "scope": "user"}
    assert request.subject == "anna"


@pytest.mark.parametrize(
    ("ends", "number"),
    [
        ((), 1),
        (("started",), 0),  # it goes on
        (("completed",), 0),  # whatever the checker said
        (("failed",), 2),
        (("failed", "cancelled"), 3),
        (("failed", "completed"), 0),
        (("failed", "failed", "failed"), 0),
    ],
)
def test_what_was_answered_is_not_asked_again_and_what_failed_is_twice(
    world: MemoryWorld, ends: tuple[str, ...], number: int
) -> None:
    node_id = summary(world)[1]
    logged = {f"reword_{node_id}_{n}": end for n, end in enumerate(ends, 1)}

    assert asked(world, 5, **logged) == ([f"reword-{node_id}-{number}"] if number else [])


def test_what_has_a_wording_or_was_replaced_is_not_to_be_reworded(world: MemoryWorld) -> None:
    ids, node_id, text = summary(world)
    reword(world, node_id, shorter(text))
    assert asked(world, 5) == []

    world.ask(MemoryForget(node_id=ids[0]))  # and with it the summary
    assert asked(world, 5) == []
