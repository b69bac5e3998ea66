"""Memories of one source stand side by side in the index, whatever comes and goes."""

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.bus.events import MemoryForget, MemoryRestore
from cortex.runtime.memory import MemoryFinder, MemoryView

from .memory_world import MemoryWorld

# A source of several blocks that is indexed: what leaves it moves what is behind.
BEFORE = (*[("record", "a")] * 8, ("update", 0))
SIDE_BY_SIDE = import_module("cortex.runtime.memory.side_by_side")

WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath")


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld()


@pytest.fixture
def find(world: MemoryWorld, tmp_path: Path) -> Iterator[Callable[[str], list[str]]]:
    """Ids of what is found, best first."""
    finder = MemoryFinder.open(tmp_path, None)

    def found(question: str) -> list[str]:
        view = world.view()
        finder.update(view)
        return [hit.node.id for hit in finder.find(question, view, ("user",)).hits]

    yield found
    finder.close()


def test_what_was_said_beside_a_memory_counts_with_it(
    world: MemoryWorld, find: Callable[[str], list[str]]
) -> None:
    world.record("The lease of the Lisbon office ends in June.", source="minutes of May")
    beside = world.record("We will not renew it.", source="minutes of May")
    alone = world.record("We will not renew it, said the team of Oslo.", source="")
    for n in range(20):
        world.record(f"Something else entirely, number {n}.", source=f"note {n}")

    found = find("Do we renew the lease of the Lisbon office?")

    assert beside in found[:2]
    assert alone not in found or found.index(beside) < found.index(alone)


def test_a_source_of_another_scope_is_another_source(
    world: MemoryWorld, find: Callable[[str], list[str]]
) -> None:
    world.record("The lease of the Lisbon office ends in June.", source="m", scope="project:a")
    mine = world.record("Renewing takes two signatures.", source="m")

    assert find("Lisbon office lease") == []
    assert find("signatures") == [mine]


def stored(finder: Any) -> dict[str, str]:
    stamps: dict[str, str] = finder._records.stamps()
    return stamps


# What happens: a node of a source is recorded; the one at a place leaves memory or comes back; or
# the index is brought up to date.
steps = st.lists(
    st.one_of(
        st.tuples(st.just("record"), st.sampled_from(("", "a", "b"))),
        st.tuples(st.just("forget"), st.integers(0, 100)),
        st.tuples(st.just("restore"), st.integers(0, 100)),
        st.tuples(st.just("update"), st.just(0)),
    ),
    max_size=60,
)


@settings(deadline=None, max_examples=60)
@given(steps=steps)
def test_an_index_that_followed_is_the_one_that_is_made_anew(steps: list[tuple[str, Any]]) -> None:
    world, ids = MemoryWorld(), list[str]()
    with (
        pytest.MonkeyPatch.context() as patch,
        TemporaryDirectory() as one,
        TemporaryDirectory() as other,
    ):
        patch.setattr(SIDE_BY_SIDE, "BLOCK", 3)  # so that blocks are many
        followed = MemoryFinder.open(Path(one), None)
        for step, about in (*BEFORE, *steps):
            if step == "record":
                text = f"{WORDS[len(ids) % len(WORDS)]} of statement{len(ids)}"
                ids.append(world.record(text, source=about))
            elif step == "update":
                followed.update(world.view())
            elif ids:
                asked = MemoryForget if step == "forget" else MemoryRestore
                world.ask(asked(node_id=ids[about % len(ids)]))
        view = world.view()
        followed.update(view)
        anew = MemoryFinder.open(Path(other), None)
        anew.update(view)

        assert stored(followed) == stored(anew)
        states = view.states(ids)
        for number, each in enumerate(ids):
            (best, *_) = [
                hit.node.id for hit in followed.find(f"statement{number}", view, ("user",)).hits
            ] or [""]
            assert best == ("" if states[each].gone else each)
        followed.close()
        anew.close()


def test_what_left_for_a_while_does_not_move_what_is_behind_it_then(
    world: MemoryWorld, tmp_path: Path
) -> None:
    ids = [world.record(f"{word} is here", source="minutes") for word in WORDS]
    world.ask(MemoryForget(node_id=ids[1]))
    then = len(world.records)
    world.ask(MemoryRestore(node_id=ids[1]))
    view = world.view(at=then)
    finder = MemoryFinder.open(tmp_path, None)
    finder.update(view)

    found = [finder.find(word, view, ("user",)).hits for word in WORDS]

    finder.close()
    assert [hits[0].node.id if hits else "" for hits in found] == [ids[0], "", *ids[2:]]


def test_a_node_keeps_its_place_whatever_leaves_and_however_the_log_is_cut(
    world: MemoryWorld,
) -> None:
    ids = [world.record(f"{word} is here", source="minutes") for word in WORDS]
    other = world.record("amber is there", source="talk")
    world.ask(MemoryForget(node_id=ids[3]))
    more = world.record("more", source="minutes")
    world.ask(MemoryRestore(node_id=ids[3]))

    for spans in ([], [5], range(1, len(world.records))):
        view = MemoryView(world.database(list(spans)), len(world.records), lambda _: None)
        places = view.places([*ids, more, other])
        assert [places[each] for each in (*ids, more, other)] == [*range(9), 0]
