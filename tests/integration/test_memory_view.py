"""What a step saw of memory, and what it would see."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from cortex.bus.events import MemoryCorrect, MemoryEdge, MemoryRecorded
from cortex.runtime.admin import blame, chain_document, chain_page, constraints, view_memory
from cortex.runtime.kernel import Home, Runtime

from ..staff_world import World
from .test_memory import ASK, COMPONENTS, record, told


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.create(tmp_path / ".cortex")


def test_blame_tells_what_informed_what_was_stale_missing_and_came_later(home: Home) -> None:
    with Runtime(home, components=COMPONENTS) as runtime:
        world = World(runtime)
        world.compiled(
            ASK.replace(
                'memory: "${inputs.question}"', 'memory: {text: "${inputs.question}", nodes: 1}'
            )
        )
        shown = record(world, "The garage closes at nine")
        other = record(world, "The garage opens at six, and the gate with it")
        run = world.run("ask_memory", {"question": "when does the garage close at nine?"})
        (right, _) = told(world, MemoryCorrect(node_id=shown, content="The garage closes at ten"))
        assert isinstance(right, MemoryRecorded)

    (prompt,) = blame(home, run.execution_id).prompts

    assert [(each.id, each.then, each.now) for each in prompt.informed] == [
        (shown, "current", "replaced")
    ]
    assert prompt.stale[0].successors == (right.node_id,)
    assert [(each.id, each.now) for each in prompt.missing] == [(other, "current")]
    assert [(each.id, each.then) for each in prompt.later] == [(right.node_id, "not recorded")]


def test_an_execution_that_asked_nothing_has_no_prompt_to_blame(home: Home) -> None:
    with Runtime(home, components=COMPONENTS) as runtime:
        world = World(runtime)
        world.compiled(ASK.replace('    memory: "${inputs.question}"\n', ""))
        run = world.run("ask_memory", {"question": "when?"})

    assert blame(home, run.execution_id).prompts == []


def test_the_view_shows_the_lines_of_a_prompt_and_what_lies_behind(home: Home) -> None:
    with Runtime(home, components=COMPONENTS) as runtime:
        world = World(runtime)
        cause = record(world, "Rows were lost", kind="observation")
        old = record(world, "Billing uses MySQL", edges=(MemoryEdge("caused_by", cause),))
        (new, _) = told(world, MemoryCorrect(node_id=old, content="Billing uses Postgres"))
        assert isinstance(new, MemoryRecorded)
        record(world, "Lunch is at noon", scope="project:elsewhere")

    seen = view_memory(home, "what does billing use?", ["user"])

    assert seen.seen[0].line.startswith(f"[{new.node_id}, ")
    assert (seen.seen[0].chain, seen.stored, seen.budget) == (cause, 3, 2_000)
    assert seen.seen[0].behind + len(seen.seen) == 3
    assert seen.tokens == sum(each.tokens for each in seen.seen) > 0


def test_the_page_of_a_chain_is_whole_alone_and_always_the_same(home: Home) -> None:
    with Runtime(home, components=COMPONENTS) as runtime:
        world = World(runtime)
        old = record(world, "a <script>alert(1)</script> & more " + "words " * 40)
        record(world, "b", edges=(MemoryEdge("supersedes", old),))

    page = chain_page(home, old)

    assert page == chain_page(home, old)
    assert "<script>" not in page
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    svg = ET.fromstring(page[page.index("<svg") : page.index("</svg>") + 6])  # ours
    groups = svg.findall("{http://www.w3.org/2000/svg}g")
    assert [group.get("class") for group in groups] == ["gone", ""]
    assert page.count('<tr class="gone">') == 1
    assert "supersedes" in page


def test_an_edge_past_other_nodes_runs_below_them(home: Home) -> None:
    with Runtime(home, components=COMPONENTS) as runtime:
        world = World(runtime)
        first = record(world, "a")
        second = record(world, "b", edges=(MemoryEdge("caused_by", first),))
        record(
            world, "c", edges=(MemoryEdge("caused_by", second), MemoryEdge("contradicts", first))
        )

    page = chain_page(home, first)

    svg = ET.fromstring(page[page.index("<svg") : page.index("</svg>") + 6])  # ours
    paths = svg.findall("{http://www.w3.org/2000/svg}path")
    bounds = [(rect.get("y"), rect.get("height")) for rect in svg.iter() if "rect" in rect.tag]
    (foot,) = {int(y or 0) + int(height or 0) for y, height in bounds}
    ends = {path.get("class"): int(str(path.get("d")).split()[-1]) for path in paths}
    assert ends["edge contradicts"] == foot > ends["edge caused_by"]


def test_the_three_questions_are_answered_with_the_path(home: Home) -> None:
    with Runtime(home, components=COMPONENTS) as runtime:
        world = World(runtime)
        saw = record(world, "The name server lost its zone", kind="observation")
        why = record(world, "We restructure the DNS", edges=(MemoryEdge("caused_by", saw),))
        came = record(
            world, "Names resolve again", kind="outcome", edges=(MemoryEdge("caused_by", why),)
        )
        rule = record(world, "No change of names on Fridays", scope="project:x", kind="preference")

    back = chain_document(home, "why did we restructure the DNS?")
    forward = chain_document(home, "the name server lost its zone")
    applies = constraints(home, "change the names in the DNS", [])

    assert [(row.depth, row.memory.id) for row in back.why] == [(0, why), (1, saw)]
    assert back.found_by == "why did we restructure the DNS?"
    assert [row.memory.id for row in forward.after] == [saw, why, came]
    assert [row.id for row in applies.memories] == [rule, why]
