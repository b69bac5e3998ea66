"""What a question names is found: entities and their neighbours, times; and how memories fade."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex.bus.events import (
    MemoryCorrect,
    MemoryEdge,
    MemoryForget,
    MemoryRestore,
)
from cortex.runtime.memory import MemoryFinder, MemoryHit, freshness

from .memory_world import MemoryWorld, prompt_with

Find = Callable[..., dict[str, MemoryHit]]
FAR_NS = 2_000_000_000 * 10**9


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld()


@pytest.fixture
def find(world: MemoryWorld, tmp_path: Path) -> Iterator[Find]:
    """Hits for a question by id, best first."""
    finder = MemoryFinder.open(tmp_path, None)

    def found(question: str, scopes: tuple[str, ...] = ("user",), **more: Any) -> Any:
        view = world.view()
        finder.update(view)
        result = finder.find(question, view, scopes, **more)
        return {hit.node.id: hit for hit in result.hits}

    yield found
    finder.close()


def noon_ns(day: str) -> int:
    return int(datetime.fromisoformat(f"{day}T12:00:00+00:00").timestamp()) * 10**9


def test_a_memory_about_an_entity_that_the_question_names_comes_before_one_that_is_not(
    world: MemoryWorld, find: Find
) -> None:
    plain = world.record("The deploy to Apollo Prime needs a key", update=False)
    about = world.record("The deploy needs a second key", entities=("Apollo Prime",), update=False)
    named = world.record("Keys are in the safe", entities=("apollo prime",), update=False)

    hits = find("what does a deploy to Apollo Prime need?")

    assert hits[about].why["entity"] == hits[named].why["entity"] == 0.2
    assert "entity" not in hits[plain].why


def test_the_neighbours_of_what_an_entity_finds_are_found_along_its_edges(
    world: MemoryWorld, find: Find
) -> None:
    world.record("Zeus has new tyres")
    about = world.record("It was repainted", entities=("Zeus",), update=False)
    cause = world.record("Rust was seen", edges=(MemoryEdge("led_to", about),), update=False)

    hits = find("what about Zeus?")

    assert hits[cause].through == about
    assert hits[cause].why["edges"] > 0


def test_an_entity_inside_a_longer_one_that_is_named_finds_nothing(
    world: MemoryWorld, find: Find
) -> None:
    city = world.record("It rains here", entities=("York",))
    state = world.record("The subway is late", entities=("New York",))

    hits = find("how late is the subway in New York?")

    assert "entity" in hits[state].why
    assert city not in hits or "entity" not in hits[city].why


def test_an_entity_that_many_memories_have_says_nothing(world: MemoryWorld, find: Find) -> None:
    for n in range(51):
        world.record(f"Fact {n}", entities=("Acme",))

    hits = find("what of fact 7 of Acme?")

    assert hits
    assert not any("entity" in hit.why for hit in hits.values())


def test_an_entity_of_another_scope_or_of_what_left_memory_is_not_found(
    world: MemoryWorld, find: Find
) -> None:
    world.record("Zeus is a horse")
    world.record("It was sold", entities=("Zeus",), scope="project:x")
    gone = world.record("It was shod", entities=("Zeus",))
    world.ask(MemoryForget(node_id=gone, scope="user"))
    assert list(find("who is Zeus?")) == ["m0001"]

    world.ask(MemoryRestore(node_id=gone, scope="user"))

    assert "entity" in find("who is Zeus?")[gone].why


def test_what_replaced_a_memory_about_an_entity_is_found_for_it(
    world: MemoryWorld, find: Find
) -> None:
    world.record("Zeus is a horse")
    old = world.record("It is in the stable", entities=("Zeus",))
    world.ask(MemoryCorrect(node_id=old, content="It is on the meadow", scope="user"))

    hits = find("where is Zeus?")

    (found,) = [hit for hit in hits.values() if hit.node.content == "It is on the meadow"]
    assert (found.through, old in hits) == (old, False)


def test_memories_of_the_time_that_is_named_come_first(world: MemoryWorld, find: Find) -> None:
    texts = [f"The release was delayed by the audit team {n}" for n in range(3)]
    april, may, june = (
        world.record(text, happened_ns=noon_ns(day), update=False)
        for text, day in zip(texts, ("2023-04-02", "2023-05-03", "2023-06-04"), strict=True)
    )

    hits = find("why was the release delayed in May 2023?", now_ns=FAR_NS, asked_ns=FAR_NS)

    assert next(iter(hits)) == may
    assert hits[may].why["dated"] > 0
    assert not {"dated"} & (hits[april].why.keys() | hits[june].why.keys())


def test_last_week_is_the_week_before_it_is_asked(world: MemoryWorld, find: Find) -> None:
    old = world.record("The pump leaks", happened_ns=noon_ns("2023-05-09"), update=False)
    new = world.record("The pump leaks again", happened_ns=noon_ns("2023-05-16"), update=False)

    asked = datetime(2023, 5, 17, tzinfo=UTC).timestamp()
    hits = find("did the pump leak last week?", asked_ns=int(asked) * 10**9)

    assert "dated" in hits[old].why
    assert "dated" not in hits[new].why


def test_a_question_for_a_time_alone_finds_what_was_then(world: MemoryWorld, find: Find) -> None:
    then = world.record("Rain", happened_ns=noon_ns("2023-05-03"))
    world.record("Snow", happened_ns=noon_ns("2023-01-03"))

    assert list(find("what was on 2023-05-03?")) == [then]
    assert find("what was before 2023-05-04?").keys() == set()  # of all times it would be all


def test_a_question_that_names_neither_is_answered_as_before(
    world: MemoryWorld, find: Find
) -> None:
    world.record("Billing runs on Postgres", entities=("Postgres",))
    world.record("Lunch is at noon", entities=("Ada",))

    hits = find("which database does billing run on?")

    assert all(hit.why.keys().isdisjoint({"entity", "dated"}) for hit in hits.values())


def test_of_two_that_fit_equally_what_is_used_often_fades_later(
    world: MemoryWorld, find: Find
) -> None:
    seldom = world.record("The north gate code is kept by the guard", update=False)
    often = world.record("The south gate code is kept by the guard", update=False)
    for _ in range(6):
        world.add(prompt_with(often), "CompilationEngine")
    world.add(prompt_with(often, seldom), "CompilationEngine")

    hits = find("who keeps the gate code?", now_ns=FAR_NS)

    assert list(hits) == [often, seldom]
    assert hits[often].why["freshness"] > hits[seldom].why["freshness"] >= 0.9
    assert hits[often].state.uses == 7


@given(st.floats(-10, 1e6), st.floats(0, 1e6), st.integers(0, 10**6), st.integers(0, 10**6))
def test_freshness_falls_with_age_and_rises_with_use_within_a_tenth(
    days: float, more: float, uses: int, more_uses: int
) -> None:
    fresh = freshness(days, uses)

    assert 0.9 <= fresh <= 1.0
    assert freshness(days + more, uses) <= fresh <= freshness(days, uses + more_uses)
    assert freshness(180, 0) == freshness(540, 3) == pytest.approx(0.95)
