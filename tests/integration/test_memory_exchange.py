"""Memory as a file: it comes back as it was, and a file that is wrong changes nothing."""

import random
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.bus.events import EdgeType, MemoryCorrect, MemoryEdge, MemoryForget, MemoryLink
from cortex.runtime.admin import export_memory, import_memory
from cortex.runtime.erasure import erase
from cortex.runtime.kernel import Home, Runtime
from cortex.runtime.memory import (
    EDGES,
    KINDS,
    Exchange,
    ExchangedEdge,
    ExchangedNode,
    HomeMemory,
    MemoryInvalidError,
    lines_in,
    lines_of,
    read_lines,
)

from ..staff_world import World
from .test_erasure import found_in
from .test_memory import COMPONENTS, record, told

NODE = ExchangedNode(
    id="abcd", kind="decision", content="x", scope="user", origin="person", since_ns=1
)


@pytest.fixture
def lived(tmp_path: Path) -> Home:
    home = Home.create(tmp_path / "one" / ".cortex")
    with Runtime(home, components=COMPONENTS) as runtime:
        world = World(runtime)
        cause = record(world, "Rows were lost", kind="observation", confidence=0.5, quote="lost")
        old = record(world, "Use MySQL", entities=("billing",), scope="user")
        told(world, MemoryCorrect(node_id=old, content="Use Postgres", origin="person"))
        record(world, "Tabs", scope="project:x", happened_ns=10**18)
        record(world, "Likes tea", subject="anna@example.org")
        told(world, MemoryLink(node_id=cause, edge="led_to", to=old))
        told(
            world, MemoryForget(node_id=record(world, "wrong", edges=(MemoryEdge("refines", old),)))
        )
    return home


def everything(home: Home) -> list[bytes]:
    return list(export_memory(home)[1])


def test_a_round_trip_gives_the_same_file(lived: Home, tmp_path: Path) -> None:
    other = Home.create(tmp_path / "two" / ".cortex")
    document, _ = export_memory(lived)

    done = import_memory(other, everything(lived))

    assert (document.nodes, document.edges, document.left_out) == (4, 2, 1)
    assert (done.recorded, done.linked, done.known, done.refused) == (4, 2, 0, [])
    assert everything(other) == everything(lived)
    with HomeMemory.open(other) as memory:
        (hits,) = memory.find(("which database",), ("user",))
    assert "Use MySQL" not in {hit.node.content for hit in hits.hits}


def test_a_second_import_adds_nothing(lived: Home, tmp_path: Path) -> None:
    other = Home.create(tmp_path / "two" / ".cortex")
    import_memory(other, everything(lived))
    before = everything(other)

    done = import_memory(other, everything(lived))

    assert (done.recorded, done.linked, done.known) == (0, 0, 4)
    assert everything(other) == before


def test_an_import_that_was_cut_off_goes_on(lived: Home, tmp_path: Path) -> None:
    other = Home.create(tmp_path / "two" / ".cortex")
    whole = read_lines(everything(lived))
    part = Exchange(whole.nodes[:2], ())
    import_memory(other, lines_of(part))

    done = import_memory(other, everything(lived))

    assert (done.recorded, done.linked, done.known) == (2, 2, 2)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([], "the file is empty"),
        ([b"{}"], "line 1 is not the first line"),
        ([b"no json"], "line 1 is not the first line"),
        ([b'{"cortex_memory": 3}'], "has the version 3, this program reads 2 and older ones"),
        ([b'{"cortex_memory": 1, "nodes": 1}'], "it is cut off"),
        ([b'{"cortex_memory": 1}', b"x"], "line 2 cannot be read"),
        ([b'{"cortex_memory": 1}', b"{}"], "line 2 is neither a node nor an edge"),
        ([b'{"cortex_memory": 1}', b'{"more": 1}'], "line 2 cannot be read"),
        (
            [b'{"cortex_memory": 1}', b'"' + b"x" * 10_000_000 + b'"'],
            "line 2 has more than 1,048,576 bytes",
        ),
    ],
)
def test_a_file_that_is_wrong_is_one_clear_line(lines: list[bytes], words: str) -> None:
    with pytest.raises(MemoryInvalidError, match=words):
        read_lines(lines)


@pytest.mark.parametrize(
    ("nodes", "edges", "words"),
    [
        ([NODE, NODE], [], "line 3 has the id 'abcd', which an earlier line has"),
        ([msgspec.structs.replace(NODE, content="x" * 16_001)], [], "line 2 cannot be taken in"),
        ([msgspec.structs.replace(NODE, scope="all")], [], "is no scope"),
        ([msgspec.structs.replace(NODE, id="")], [], "line 2 has no id"),
        ([NODE], [("abcd", "abcd")], "memory abcd would supersede itself"),
        ([NODE], [("abcd", "efgh"), ("efgh", "abcd")], "would supersede itself"),
    ],
)
def test_nodes_and_edges_that_are_wrong_are_one_clear_line(
    nodes: list[ExchangedNode], edges: list[tuple[str, str]], words: str
) -> None:
    made = tuple(ExchangedEdge(node_id=a, edge="supersedes", to=b) for a, b in edges)

    with pytest.raises(MemoryInvalidError, match=words):
        read_lines(lines_of(Exchange(tuple(nodes), made)))


@pytest.mark.parametrize(
    "line",
    [
        b'{"node": {"id": "abcd", "more": ' + b"[" * 400_000 + b"]" * 400_000 + b"}}",
        b'{"a":' * 200_000,
    ],
)
def test_lines_that_are_nested_without_end_are_one_clear_line(line: bytes) -> None:
    with pytest.raises(MemoryInvalidError, match="line 2 cannot be read: "):
        read_lines([b'{"cortex_memory": 1}', line])
    with pytest.raises(MemoryInvalidError, match="line 1 is not the first line"):
        read_lines([b'{"cortex_memory": 1, "more": ' + line])


def test_a_file_of_one_line_without_end_is_not_read_to_its_end() -> None:
    # /dev/zero, or a file of another kind, must not fill the memory of this process.
    with Path("/dev/zero").open("rb") as file, pytest.raises(MemoryInvalidError, match="line 1"):
        read_lines(lines_in(file))


@pytest.mark.parametrize("since_ns", [1 << 63, 1 << 70, -1, 9_000_000_000 * 10**9])
def test_a_time_that_cannot_be_is_refused_before_anything_is_taken_in(
    since_ns: int, tmp_path: Path
) -> None:
    home = Home.create(tmp_path / ".cortex")
    good = msgspec.structs.replace(NODE, id="good1", content="good")
    wrong = msgspec.structs.replace(NODE, since_ns=since_ns)

    with pytest.raises(MemoryInvalidError, match=r"the time since which .* taken in"):
        import_memory(home, lines_of(Exchange((good, wrong), ())))

    assert export_memory(home)[0].nodes == 0


def test_an_import_may_add_edges_to_what_is_here(lived: Home) -> None:
    known = read_lines(everything(lived)).nodes[0]
    new = msgspec.structs.replace(NODE, id="efgh", content="Billing moved")
    edge = ExchangedEdge(node_id=known.id, edge="led_to", to="efgh")

    done = import_memory(lived, lines_of(Exchange((new,), (edge,))))

    assert (done.recorded, done.linked, done.refused) == (1, 1, [])


@pytest.mark.parametrize(
    ("other", "edges", "words"),
    [
        (
            {},
            [("abcd", "refines", "abcd")],
            "an edge to itself: .*: nothing was taken in",
        ),
        (
            {"scope": "project:x"},
            [("abcd", "supersedes", "efgh")],
            "efgh is of the scope project:x",
        ),
        ({"subject": "anna"}, [("abcd", "refines", "efgh")], "efgh is about another subject"),
        ({}, [("abcd", "refines", "efgh"), ("abcd", "refines", "efgh")], "refines efgh already"),
    ],
)
def test_edges_that_memory_would_refuse_leave_nothing_half_written(
    other: dict[str, str], edges: list[tuple[str, EdgeType, str]], words: str, tmp_path: Path
) -> None:
    home = Home.create(tmp_path / ".cortex")
    second = msgspec.structs.replace(NODE, id="efgh", content="y", **other)
    made = tuple(ExchangedEdge(node_id=a, edge=edge, to=b) for a, edge, b in edges)

    with pytest.raises(MemoryInvalidError, match=words):
        import_memory(home, lines_of(Exchange((NODE, second), made)))

    assert export_memory(home, with_subjects=True)[0].nodes == 0


def test_edges_that_would_close_a_circle_with_those_here_leave_nothing_half_written(
    lived: Home,
) -> None:
    file = read_lines(everything(lived))
    (replacing,) = [edge for edge in file.edges if edge.edge == "supersedes"]
    back = ExchangedEdge(node_id=replacing.to, edge="supersedes", to="efgh")
    on = ExchangedEdge(node_id="efgh", edge="supersedes", to=replacing.node_id)
    new = msgspec.structs.replace(NODE, id="efgh", content="Use a file")

    with pytest.raises(MemoryInvalidError, match=r"cannot supersede it.*taken in"):
        import_memory(lived, lines_of(Exchange((new,), (back, on))))

    assert read_lines(everything(lived)) == file


def test_a_circle_is_found_also_through_memories_that_the_file_does_not_name(lived: Home) -> None:
    with Runtime(lived, components=COMPONENTS) as runtime:
        world = World(runtime)
        ids = [record(world, "Version 0", update=False)]
        for number in range(1, 6):
            edges = (MemoryEdge("supersedes", ids[-1]),)
            ids.append(record(world, f"Version {number}", edges=edges, update=False))
    before = everything(lived)
    back = ExchangedEdge(node_id=ids[0], edge="supersedes", to="efgh")
    on = ExchangedEdge(node_id="efgh", edge="supersedes", to=ids[-1])
    new = msgspec.structs.replace(NODE, id="efgh", content="Use a file")

    with pytest.raises(MemoryInvalidError, match=r"cannot supersede it.*taken in"):
        import_memory(lived, lines_of(Exchange((new,), (back, on))))

    assert everything(lived) == before


def test_personal_data_of_a_file_belongs_to_the_same_person_in_the_home_that_takes_it(
    lived: Home, tmp_path: Path
) -> None:
    other = Home.create(tmp_path / "two" / ".cortex")
    lines = list(export_memory(lived, with_subjects=True)[1])

    done = import_memory(other, lines)

    assert (done.recorded, done.refused) == (5, [])
    assert list(export_memory(other)[1]) != lines
    assert export_memory(other)[0].left_out == 1
    erase(other, "anna@example.org", "she asked for it")
    assert found_in(other.path, ["Likes tea"]) == {}


def test_an_edge_to_nothing_leaves_nothing_half_written(tmp_path: Path) -> None:
    home = Home.create(tmp_path / ".cortex")
    edge = ExchangedEdge(node_id="abcd", edge="refines", to="nowhere1")

    with pytest.raises(MemoryInvalidError, match="leads to nowhere1, which is neither"):
        import_memory(home, lines_of(Exchange((NODE,), (edge,))))

    assert export_memory(home)[0].nodes == 0


TEXTS = st.text(min_size=1, max_size=40).filter(lambda text: bool(text.strip()))


@settings(max_examples=100, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_every_exchange_is_read_as_it_was_written(
    contents: list[str], chance: random.Random
) -> None:
    nodes = tuple(
        ExchangedNode(
            id=f"node{n}",
            kind=chance.choice(KINDS),
            content=content,
            scope=chance.choice(("user", "project:a.b", "execution:e")),
            origin="person",
            confidence=chance.random(),
            since_ns=chance.randrange(1 << 62),
            quote=content,
        )
        for n, content in enumerate(contents)
    )
    edges = tuple(
        ExchangedEdge(node_id=f"node{n}", edge=chance.choice(EDGES), to=f"node{n - 1}")
        for n in range(1, len(nodes))
    )

    assert read_lines(lines_of(Exchange(nodes, edges))) == Exchange(nodes, edges)
