"""A file of memory gives the memory that it was made from, and that one gives the same file."""

import random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.bus.events import (
    MemoryEdge,
    MemoryForget,
    MemoryLink,
    MemoryPin,
    MemoryRecord,
    MemoryRefused,
)
from cortex.runtime.memory import (
    ExchangedNode,
    ExchangedSource,
    Exported,
    MemoryInvalidError,
    exported,
    import_requests,
    lines_of,
    read_lines,
)

from .memory_world import DAY_NS, T0_NS, MemoryWorld, prompt_with
from .test_memory_moments import LongWorld, step

LATER_NS = T0_NS + 10_000 * DAY_NS


def file_of(world: MemoryWorld) -> list[bytes]:
    return list(lines_of(exported(world.view(), with_subjects=True).exchange))


def taken_in(lines: list[bytes], into: MemoryWorld | None = None) -> MemoryWorld:
    """Memory that took in the file; a new one, unless one is given."""
    world = into or MemoryWorld()
    world.since_ns = LATER_NS  # no memory of the file is of a time to come
    asked = import_requests(read_lines(lines), world.view(), {}, LATER_NS)
    for request in (*asked.records, *asked.sources, *asked.links, *asked.pins):
        subject = request.subject if isinstance(request, MemoryRecord) else ""
        facts = world.ask(request, subject, by="importer")
        assert not any(isinstance(fact, MemoryRefused) for fact in facts), facts
    return world


def nodes_of(lines: list[bytes]) -> dict[str, ExchangedNode]:
    return {node.id: node for node in read_lines(lines).nodes}


@given(seed=st.integers(0, 1 << 32), length=st.integers(20, 120))
@settings(max_examples=40, deadline=None)
def test_the_export_of_an_import_is_the_same_file(seed: int, length: int) -> None:
    chance, world = random.Random(seed), LongWorld()
    for number in range(length):
        step(world, chance, number)
    lines = file_of(world)

    other = taken_in(lines)

    assert file_of(other) == lines
    assert file_of(taken_in(lines, into=other)) == lines  # a second time adds nothing
    believed = {n.id for n, _ in other.view().listed(limit=1_000)}
    there = nodes_of(lines)
    assert believed == {n.id for n, _ in world.view().listed(limit=1_000) if n.id in there}


def test_pins_uses_and_further_sources_are_in_the_file() -> None:
    world = MemoryWorld()
    node_id = world.record("Rows were lost", source="one")
    world.record("rows were lost.", source="two", quote="lost again")
    world.ask(MemoryPin(node_id=node_id))
    for _ in range(2):
        world.add(prompt_with(node_id), "CompilationEngine")

    node = nodes_of(file_of(world))[node_id]
    state = taken_in(file_of(world)).view().states([node_id])[node_id]

    assert (node.pinned, node.uses, node.by) == (True, 2, "ada")
    assert node.sources == (ExchangedSource(source="two", quote="lost again", by="ada"),)
    assert (state.pinned, state.uses, state.sources) == (True, 2, 2)
    assert state.used_ns == node.used_ns == T0_NS + len(world.records) * DAY_NS


def test_uses_here_are_added_to_those_of_the_file() -> None:
    world = MemoryWorld()
    node_id = world.record("Rows were lost")
    world.add(prompt_with(node_id), "CompilationEngine")
    other = taken_in(file_of(world))

    other.add(prompt_with(node_id), "CompilationEngine")

    assert nodes_of(file_of(other))[node_id].uses == 2


def test_what_was_replaced_by_something_that_left_is_not_current_again() -> None:
    world = MemoryWorld()
    first = world.record("We use MySQL")
    second = world.record("We use Postgres", edges=(MemoryEdge("supersedes", first),))
    third = world.record("We use a file", edges=(MemoryEdge("supersedes", second),))
    kept = world.record("Rows were lost", edges=(MemoryEdge("led_to", first),))
    world.ask(MemoryForget(node_id=third))

    found: Exported = exported(world.view())

    assert [node.id for node in found.exchange.nodes] == [kept]
    assert found.replaced == 2
    assert file_of(taken_in(file_of(world))) == file_of(world)


def test_a_file_of_the_version_before_is_taken_in() -> None:
    header = b'{"cortex_memory": 1, "nodes": 1, "edges": 0}'
    about = (
        b'"kind": "decision", "content": "x", "scope": "user", "origin": "person", "since_ns": 1'
    )
    lines = [header, b'{"node": {"id": "abcd", "by": "eve", ' + about + b"}}"]

    (node,) = read_lines(file_of(taken_in(lines))).nodes

    assert (node.id, node.by, node.pinned, node.uses) == ("abcd", "eve", False, 0)


def test_equal_memory_gives_equal_bytes() -> None:
    world = MemoryWorld()
    world.record("Rows were lost", confidence=0.5, entities=("billing",))

    header, node = file_of(world)

    assert header == b'{"cortex_memory":2,"edges":0,"nodes":1}\n'
    keys = list(msgspec.json.decode(node)["node"])
    assert keys == sorted(keys)
    assert b" " not in node.replace(b"Rows were lost", b"")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"uses": 3}, "belongs to an import"),
        ({"said_by": "eve"}, "belongs to an import"),
        ({"node_id": "abcd", "uses": -1}, "uses are not between 0 and 1,000,000"),
        ({"node_id": "abcd", "uses": 1 << 60}, "uses are not between 0 and 1,000,000"),
        ({"node_id": "abcd", "used_ns": -1}, "before 1970"),
        ({"node_id": "abcd", "used_ns": LATER_NS}, "last use is more than a day ahead"),
        ({"node_id": "abcd", "said_by": "x" * 201}, "who said it has more than 200 characters"),
    ],
)
def test_uses_that_cannot_be_are_refused(fields: dict[str, object], words: str) -> None:
    world = MemoryWorld()
    asked = MemoryRecord(kind="observation", content="x", **fields)  # type: ignore[arg-type]  # by name

    (refused,) = world.ask(asked)

    assert isinstance(refused, MemoryRefused)
    assert words in refused.reason


def test_a_file_with_a_pin_changes_nothing_of_a_node_that_left() -> None:
    world = MemoryWorld()
    node_id = world.record("Rows were lost")
    world.ask(MemoryPin(node_id=node_id))
    lines = file_of(world)
    world.ask(MemoryForget(node_id=node_id))

    asked = import_requests(read_lines(lines), world.view(), {}, LATER_NS)

    assert asked == ((), (), (), ())


def test_an_edge_that_memory_would_refuse_is_found_before_anything_is_asked() -> None:
    world = MemoryWorld()
    node_id = world.record("Rows were lost")
    world.ask(MemoryLink(node_id=world.record("more"), edge="refines", to=node_id))
    lines = file_of(world)
    wrong = lines[-1].replace(b"refines", b"supersedes")
    world.ask(MemoryForget(node_id=node_id))

    with pytest.raises(MemoryInvalidError, match=r"is forgotten: .*nothing was taken in"):
        import_requests(read_lines([*lines[:-1], wrong]), world.view(), {}, LATER_NS)
