"""What was replaced is not replaced a second time: one belief stays current, or both are shown."""

import pytest

from cortex.bus import Event
from cortex.bus.events import (
    MemoryCorrect,
    MemoryCorrected,
    MemoryEdge,
    MemoryForget,
    MemoryLink,
    MemoryRecord,
    MemoryRecorded,
    MemoryRestore,
    Origin,
)

from .memory_world import MemoryWorld
from .test_memory_decide import refusal


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld()


def corrected(world: MemoryWorld, node_id: str, content: str) -> str:
    """Correct a node; the id of the correction."""
    facts = world.ask(MemoryCorrect(node_id=node_id, content=content, origin="person"))
    assert isinstance(facts[-1], MemoryCorrected), facts
    return facts[-1].correction


def current(world: MemoryWorld, node_id: str) -> list[str]:
    """What a chain says now."""
    return [node.content for node in world.view().chain(node_id).current]


def contradictions(world: MemoryWorld, node_id: str, at: int | None = None) -> set[frozenset[str]]:
    return {frozenset(pair) for pair in world.view(at).chain(node_id).contradictions}


def test_the_second_of_two_corrections_of_one_memory_is_refused_and_named_the_first(
    world: MemoryWorld,
) -> None:
    old = world.record("We use MySQL")
    new = corrected(world, old, "We use Postgres")

    reason = refusal(
        world.ask(MemoryCorrect(node_id=old, content="We use Oracle", origin="person"), by="ben")
    )

    assert f"memory {old} was replaced already: name {new} instead" in reason
    assert current(world, old) == ["We use Postgres"]


def test_the_same_correction_by_two_is_one(world: MemoryWorld) -> None:
    old = world.record("We use MySQL")
    new = corrected(world, old, "We use Postgres")

    assert corrected(world, old, "we use Postgres.") == new
    assert current(world, old) == ["We use Postgres"]


def test_the_one_that_is_current_is_named_however_long_the_chain(world: MemoryWorld) -> None:
    first = world.record("The limit is 10")
    last = first
    for limit in range(11, 20):
        last = corrected(world, last, f"The limit is {limit}")

    reason = refusal(
        world.ask(MemoryCorrect(node_id=first, content="The limit is 5", origin="person"))
    )

    assert f"name {last} instead" in reason


@pytest.mark.parametrize("origin", ["person", "rule", "component", "model"])
def test_a_record_that_supersedes_what_was_replaced_is_refused(
    world: MemoryWorld, origin: Origin
) -> None:
    old = world.record("We use MySQL", origin="component")
    new = world.record("We use Postgres", origin="component", edges=(supersedes(old),))
    before = world.decider.state.nodes.copy()

    reason = refusal(world.ask(said("We use Oracle", origin, supersedes(old))))

    assert f"memory {old} was replaced already: name {new} instead" in reason
    assert world.decider.state.nodes == before


def test_a_record_may_name_the_whole_chain(world: MemoryWorld) -> None:
    old = world.record("We use MySQL")
    new = corrected(world, old, "We use Postgres")

    facts = world.ask(said("We use Oracle", "person", supersedes(old), supersedes(new)))

    assert isinstance(facts[0], MemoryRecorded)
    assert current(world, old) == ["We use Oracle"]


def test_a_memory_that_exists_takes_the_place_of_no_memory_that_was_replaced(
    world: MemoryWorld,
) -> None:
    old = world.record("We use MySQL")
    new = corrected(world, old, "We use Postgres")
    world.record("We use Oracle")

    reason = refusal(world.ask(said("We use Oracle", "person", supersedes(old))))

    assert f"name {new} instead" in reason


def test_what_was_replaced_may_be_corrected_when_nothing_is_in_its_place(
    world: MemoryWorld,
) -> None:
    old = world.record("We use MySQL")
    new = corrected(world, old, "We use Postgres")
    world.ask(MemoryForget(node_id=new))

    corrected(world, old, "We use Oracle")

    assert current(world, old) == ["We use Oracle"]


def test_two_that_are_in_the_place_of_one_are_shown_as_contradicting(world: MemoryWorld) -> None:
    old = world.record("We use MySQL")
    new = corrected(world, old, "We use Postgres")
    other = world.record("We use Oracle")

    world.ask(MemoryLink(node_id=other, edge="supersedes", to=old, origin="person"))

    assert set(current(world, old)) == {"We use Postgres", "We use Oracle"}
    assert contradictions(world, old) == {frozenset((new, other))}
    chain = world.view().chain(old)
    assert [chain.belief(node) for node in chain.current] == [0.5, 0.5]


def test_they_contradict_until_one_takes_the_place_of_the_other(world: MemoryWorld) -> None:
    old = world.record("We use MySQL")
    new = corrected(world, old, "We use Postgres")
    other = world.record("We use Oracle")
    world.ask(MemoryLink(node_id=other, edge="supersedes", to=old, origin="person"))

    newer = corrected(world, other, "We use Oracle 19")
    assert contradictions(world, old) == {frozenset((new, newer))}
    newest = corrected(world, new, "We use Postgres 16")
    assert contradictions(world, old) == {frozenset((newest, newer))}
    world.ask(MemoryLink(node_id=newest, edge="supersedes", to=newer, origin="person"))

    assert contradictions(world, old) == set()
    assert current(world, old) == ["We use Postgres 16"]


def test_a_memory_that_comes_back_contradicts_what_was_recorded_in_its_place(
    world: MemoryWorld,
) -> None:
    old = world.record("We use MySQL")
    new = corrected(world, old, "We use Postgres")
    world.ask(MemoryForget(node_id=new))
    other = corrected(world, old, "We use Oracle")
    before = len(world.records)

    world.ask(MemoryRestore(node_id=new))

    assert contradictions(world, old) == {frozenset((new, other))}
    assert contradictions(world, old, at=before) == set()


def test_two_parts_of_what_one_said_contradict_each_other_no_more_than_what_refines(
    world: MemoryWorld,
) -> None:
    old = world.record("We sit in Rome, and are twelve")
    one = corrected(world, old, "We sit in Oslo")
    other = world.record("We are twenty in Oslo", edges=(MemoryEdge("refines", one),))

    world.ask(MemoryLink(node_id=other, edge="supersedes", to=old, origin="person"))

    assert contradictions(world, old) == set()
    assert set(current(world, old)) == {"We sit in Oslo", "We are twenty in Oslo"}


def test_contradictions_do_not_depend_on_how_much_of_the_log_is_folded_at_once(
    world: MemoryWorld,
) -> None:
    old = world.record("We use MySQL")
    corrected(world, old, "We use Postgres")
    other = world.record("We use Oracle")
    world.ask(MemoryLink(node_id=other, edge="supersedes", to=old, origin="person"))
    corrected(world, other, "We use Oracle 19")
    edges = "select * from memory_edges order by position, node, edge, target"

    whole = world.database().execute(edges).fetchall()
    parts = world.database(spans=range(1, len(world.records))).execute(edges).fetchall()

    assert whole == parts
    assert [row[1] for row in whole].count("contradicts") == 2


def supersedes(to: str) -> MemoryEdge:
    return MemoryEdge("supersedes", to)


def said(content: str, origin: Origin, *edges: MemoryEdge) -> Event:
    return MemoryRecord(kind="observation", content=content, origin=origin, edges=edges)
