"""Equal memories are one; whatever happens to the first of them, nothing is lost or comes back."""

import random
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.bus import Event
from cortex.bus.events import (
    Kind,
    MemoryCollected,
    MemoryCorrect,
    MemoryEdge,
    MemoryForget,
    MemoryLink,
    MemoryRecord,
    MemoryRecorded,
    MemoryRestore,
    MemorySuperseded,
    Origin,
    SubjectErased,
)

from .memory_world import MemoryWorld
from .test_memory_decide import refusal


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld()


def again(world: MemoryWorld, content: str = "Tabs, not spaces", subject: str = "") -> str:
    """Say it once more; the memory that gets a further source, or "" if there is a new one."""
    fact, *_ = world.ask(MemoryRecord(kind="observation", content=content), subject)
    assert isinstance(fact, MemoryRecorded)
    return fact.node_id if fact.again else ""


def two(world: MemoryWorld) -> tuple[str, str]:
    """Two memories that say the same, as an import of the second makes them."""
    first = world.record("Tabs, not spaces")
    return first, world.record("Tabs, not spaces", node_id="imported")


def left(world: MemoryWorld, node_id: str, how: str) -> None:
    """Let a node leave memory, or no longer be current."""
    if how == "forgotten":
        world.ask(MemoryForget(node_id=node_id))
    elif how == "superseded":
        world.record("Spaces", edges=(MemoryEdge("supersedes", node_id),))
    else:
        fact = MemoryCollected(nodes=(node_id,), collection=1)
        world.decider.state.apply(fact, position=world.add(fact))


@pytest.mark.parametrize("how", ["forgotten", "superseded", "collected"])
@pytest.mark.parametrize("which", [0, 1])
def test_when_one_of_two_leaves_the_other_gets_the_further_source(
    world: MemoryWorld, how: str, which: int
) -> None:
    both = two(world)

    left(world, both[which], how)

    assert again(world) == both[1 - which]


@pytest.mark.parametrize("how", ["forgotten", "collected"])
def test_what_came_back_is_the_same_statement_again(world: MemoryWorld, how: str) -> None:
    first = world.record("Tabs, not spaces")
    left(world, first, how)
    assert again(world) == ""  # a new one: what left does not come back by itself
    world.ask(MemoryRestore(node_id=first))
    second = next(each for each in world.decider.state.nodes if each != first)

    assert again(world) in (first, second)
    left(world, second, how)
    assert again(world) == first


def test_what_was_replaced_is_said_anew_and_the_old_one_stays_replaced(world: MemoryWorld) -> None:
    first = world.record("Tabs, not spaces")
    left(world, first, "superseded")

    assert again(world) == ""
    assert not world.decider.state.is_current(first)
    assert again(world) not in ("", first)


def test_what_was_erased_is_new_when_it_is_imported_again(world: MemoryWorld) -> None:
    """Also if it had been replaced: that was erased, too."""
    first = world.record("Tabs, not spaces", "s_1", node_id="annas")
    world.ask(MemoryCorrect(node_id=first, content="Spaces", origin="person"), "s_1")
    fact = SubjectErased(subject="s_1", by="ada", why="", asked_ns=0, events=0, blobs=0)
    world.decider.state.apply(fact, position=world.add(fact))

    assert world.record("Tabs, not spaces", "s_2", node_id="annas") == first

    assert world.decider.state.is_current(first)
    assert again(world, subject="s_2") == first


def test_a_person_who_says_what_a_model_said_is_not_taken_for_the_model(
    world: MemoryWorld,
) -> None:
    by_model = world.record("We use Postgres", origin="model")

    facts = world.ask(MemoryRecord(kind="decision", content="We use Postgres", origin="person"))

    assert [type(fact) for fact in facts] == [MemoryRecorded, MemorySuperseded]
    (node,) = world.view().chain(by_model).current
    assert (node.kind, node.origin) == ("decision", "person")
    other = world.record("We use MySQL", origin="model")
    reason = refusal(
        world.ask(MemoryLink(node_id=other, edge="supersedes", to=node.id, origin="model"))
    )
    assert "was recorded by a person" in reason


def test_a_decision_in_the_words_of_an_observation_is_a_decision(world: MemoryWorld) -> None:
    seen = world.record("We deploy on Fridays", origin="component")

    decided = world.record("We deploy on Fridays", kind="decision")

    assert decided != seen
    assert [node.kind for node in world.view().chain(seen).current] == ["decision"]
    assert again(world, "We deploy on Fridays") == decided


def test_a_correction_in_the_words_of_an_observation_does_not_fade_like_one(
    world: MemoryWorld,
) -> None:
    wrong = world.record("We deploy on Fridays", kind="decision")
    seen = world.record("We deploy on Mondays", origin="model")

    world.ask(MemoryCorrect(node_id=wrong, content="We deploy on Mondays", origin="person"))

    (node,) = world.view().chain(wrong).current
    assert (node.kind, node.origin) == ("correction", "person")
    assert not world.decider.state.is_current(seen)


def some_request(drawn: random.Random, ids: list[str]) -> Event:
    """A request about a few statements, and about the nodes that there are."""
    content, one, other = drawn.choice("abc"), drawn.choice(ids), drawn.choice(ids)
    origins: tuple[Origin, ...] = ("person", "component", "model")
    origin = drawn.choice(origins)
    kinds: tuple[Kind, ...] = ("observation",) if origin == "model" else ("observation", "decision")
    kind = drawn.choice(kinds)
    edges = (MemoryEdge("supersedes", one),) if drawn.random() < 0.3 else ()
    wanted = f"wanted{drawn.randrange(9)}" if drawn.random() < 0.2 else ""
    record = MemoryRecord(
        kind=kind, content=content, origin=origin, edges=edges, node_id=wanted, update=False
    )
    return drawn.choice(
        (
            record,
            record,
            MemoryCorrect(node_id=one, content=content, origin="person"),
            MemoryForget(node_id=one),
            MemoryRestore(node_id=one),
            MemoryLink(node_id=one, edge="supersedes", to=other, origin="person"),
        )
    )


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.integers(0, 10**9))
def test_whatever_happens_each_current_memory_is_known_by_its_words(seed: int) -> None:
    """And two that are current in one place contradict each other, in every order of requests."""
    drawn, world = random.Random(seed), MemoryWorld()
    world.record("a")
    for _ in range(drawn.randrange(40)):
        world.ask(some_request(drawn, list(world.decider.state.nodes)))
    state, view = world.decider.state, world.view()

    for node_id, known in state.nodes.items():
        if state.is_current(node_id):
            same = state.same(known.digest)
            assert same
            assert state.is_current(same)
            assert state.nodes[same].digest == known.digest
        pairs = {frozenset(pair) for pair in view.chain(node_id).contradictions}
        assert {frozenset(pair) for pair in combinations(state.heads(node_id), 2)} <= pairs
