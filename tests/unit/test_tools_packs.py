"""What a step may use of the tools there are, what its model is shown, and what it may call."""

from itertools import pairwise
from pathlib import Path
from typing import Annotated

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex.bus.events import ComponentAnnounced, ComponentWithdrawn, ToolListed
from cortex.runtime.knowledge import KnowledgeError
from cortex.runtime.registry import Registry, ToolSpec, evolve, wire_name
from cortex.runtime.tools import (
    ENABLE_PACK,
    Skill,
    allowed,
    check_call,
    find_skills,
    read_skill,
    shown,
    skill_of,
)

NAMES = st.text(st.sampled_from("ab._-é9"), max_size=80)


def spec(name: str, pack: str) -> ToolSpec:
    return ToolSpec(name, f"does {name}", {"type": "object"}, pack, pack)


READ, PATCH = spec("read_file", "files"), spec("apply_patch", "files")
RUN = spec("run_command", "commands")
ISSUES, PULLS = spec("github.issues", "github"), spec("github.pulls", "github")
THERE = (PATCH, ISSUES, PULLS, READ, RUN)
STYLE = Skill("style", "how we write", "/home/ada/skills/style/SKILL.md")


class Lines(msgspec.Struct):
    """Some lines."""

    first: int = 1


class Reading(msgspec.Struct):
    """What a tool takes."""

    path: Annotated[str, msgspec.Meta(description="which file")]
    lines: Lines | None = None


def announced(name: str = "read_file", component: str = "FileTools") -> ComponentAnnounced:
    return ComponentAnnounced(
        component=component,
        kind="tool",
        name=name,
        parameters=msgspec.json.schema(Reading),
        traits={"provider": "files", "pack": "files", "effect": "read", "description": "Read."},
    )


# --- what there is


def test_an_announced_tool_has_a_schema_with_an_object_at_its_top() -> None:
    (found,) = evolve(Registry(), announced()).tools

    assert found.parameters["type"] == "object"
    assert found.parameters["properties"]["path"]["description"] == "which file"
    assert set(found.parameters["$defs"]) == {"Lines"}
    assert (found.provider, found.pack, found.effect) == ("files", "files", "read")
    assert found.description == "Read."


def test_a_schema_that_refers_to_itself_keeps_the_definition() -> None:
    schema = {
        "$ref": "#/$defs/Node",
        "$defs": {
            "Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}},
        },
    }
    said = ComponentAnnounced(component="c", kind="tool", name="walk", parameters=schema)

    (found,) = evolve(Registry(), said).tools

    assert found.parameters["type"] == "object"
    assert "Node" in found.parameters["$defs"]


def test_a_listed_tool_is_called_by_its_server_and_the_newest_list_counts() -> None:
    older = ToolListed(server="git", tools=({"name": "log"}, {"name": "blame"}))
    newer = ToolListed(server="git", tools=({"name": "log", "description": "Say who."},))

    before = evolve(Registry(), older)
    after = evolve(before, newer)

    assert evolve(before, older) is before
    assert [(t.name, t.pack, t.effect) for t in after.tools] == [("git.log", "git", "once")]
    assert after.tools[0].parameters == {"type": "object", "properties": {}}


def test_a_withdrawn_tool_is_gone_unless_another_component_has_it_by_now() -> None:
    there = evolve(evolve(Registry(), announced(component="Old")), announced(component="New"))

    late = evolve(there, ComponentWithdrawn(component="Old", kind="tool", name="read_file"))
    gone = evolve(there, ComponentWithdrawn(component="New", kind="tool", name="read_file"))

    assert late is there
    assert [tool.name for tool in there.tools] == ["read_file"]
    assert gone.tools == ()


# --- what a step may use


def test_an_entry_names_a_tool_a_pack_or_all_of_a_pack() -> None:
    found = allowed(["read_file", "github", "commands.*"], THERE)

    assert [tool.name for tool in found.tools] == [
        "read_file",
        "github.issues",
        "github.pulls",
        "run_command",
    ]
    assert found.named == {"read_file", "run_command"}
    assert found.unknown == ()


def test_what_nothing_answers_to_is_told() -> None:
    assert allowed(["nothing", "none.*", "files"], THERE).unknown == ("nothing", "none.*")


def test_a_pack_costs_one_line_until_it_is_enabled() -> None:
    may = allowed(["read_file", "github"], THERE)

    before, after = shown(may, []), shown(may, ["github"])

    assert before.tools == (ENABLE_PACK, READ)
    assert before.packs == ("github: 2 tools: github__issues, github__pulls",)
    assert after.tools == (ENABLE_PACK, READ, ISSUES, PULLS)
    assert after.packs == ()


def test_a_step_whose_tools_are_all_named_is_not_offered_any_pack() -> None:
    assert shown(allowed(["files.*"], THERE), []).tools == (PATCH, READ)


def test_a_skill_is_one_line_and_then_whole() -> None:
    may = allowed(["style"], THERE, [STYLE])

    before, after = shown(may, []), shown(may, ["style"])

    assert before.packs == ("style: how we write",)
    assert before.skills == ()
    assert after.skills == (STYLE,)
    assert after.packs == ()


@given(
    st.lists(st.sampled_from(["read_file", "files", "files.*", "github", "commands", "style"])),
    st.lists(st.sampled_from(["files", "github", "commands", "style", "other"])),
)
def test_enabling_one_more_pack_only_adds_to_the_end(
    entries: list[str], enabled: list[str]
) -> None:
    may = allowed(entries, THERE, [STYLE])

    turns = [shown(may, enabled[:n]) for n in range(len(enabled) + 1)]

    for before, after in pairwise(turns):
        assert after.tools[: len(before.tools)] == before.tools
        assert after.skills[: len(before.skills)] == before.skills
        assert set(after.packs) <= set(before.packs)
    for turn in turns:
        names = [tool.name for tool in turn.tools]
        assert len(set(names)) == len(names)
        assert set(names) - {"enable_pack"} <= {tool.name for tool in may.tools}
        assert all("\n" not in line and len(line) <= 200 for line in turn.packs)


@given(
    st.lists(st.sampled_from(["read_file", "files", "github.*", "commands", "style"])),
    st.lists(st.sampled_from(["files", "github", "commands", "style"])),
    st.one_of(st.sampled_from([t.name for t in THERE]), st.text(max_size=120)),
    st.one_of(st.just({}), st.dictionaries(st.text(max_size=5), st.integers()), st.text()),
)
def test_a_call_may_be_made_just_where_its_tool_is_shown(
    entries: list[str], enabled: list[str], name: str, arguments: object
) -> None:
    may = allowed(entries, THERE, [STYLE])

    verdict = check_call(name, arguments, may, enabled)

    there = [tool for tool in shown(may, enabled).tools if name in (tool.name, tool.wire)]
    if isinstance(verdict, ToolSpec):
        assert verdict in there
        assert isinstance(arguments, dict)
    else:
        assert verdict
        assert "\n" not in verdict
        assert not there or not isinstance(arguments, dict) or name == "enable_pack"


# --- what a call is told


def test_a_tool_is_called_by_its_own_name_or_the_one_it_was_shown_by() -> None:
    may = allowed(["github.*"], THERE)

    assert check_call("github.issues", {}, may) == ISSUES
    assert check_call("github__issues", {}, may) == ISSUES


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("github.issues", {}, 'which is not enabled: call enable_pack with {"pack": "github"} fir'),
        ("read_fil", {}, "did you mean read_file?"),
        ("xyzzy", {}, "there is no tool 'xyzzy' in this step: there are enable_pack, read_file"),
        ("run_command", {}, "there is no tool 'run_command' in this step"),
        ("read_file", "path", "read_file takes an object with its arguments, got str"),
        ("enable_pack", {"pack": "commands"}, "there is no pack 'commands' in this step: there a"),
        ("enable_pack", {}, "there is no pack 'None'"),
        ("enable_pack", {"pack": "style"}, "style is enabled already"),
    ],
)
def test_a_call_that_may_not_be_made_says_why(name: str, arguments: object, said: str) -> None:
    may = allowed(["read_file", "github", "style"], THERE, [STYLE])

    verdict = check_call(name, arguments, may, ["style"])

    assert isinstance(verdict, str)
    assert said in verdict


def test_a_tool_that_its_server_does_not_offer_any_more_may_not_be_called() -> None:
    may = allowed(["github.*"], [ISSUES])

    assert isinstance(check_call("github.pulls", {}, may), str)


# --- names


@pytest.mark.parametrize(
    ("name", "wire"),
    [("read_file", "read_file"), ("git.log", "git__log"), ("git.a.b", None), ("x" * 65, None)],
)
def test_a_name_on_the_wire(name: str, wire: str | None) -> None:
    assert wire_name(name) == wire if wire else len(wire_name(name)) <= 64


@given(NAMES, NAMES)
def test_names_on_the_wire_are_legal_and_differ_as_names_do(one: str, other: str) -> None:
    wires = [wire_name(one), wire_name(other)]

    for wire in wires:
        assert 0 < len(wire) <= 64
        assert all(c.isascii() and (c.isalnum() or c in "_-") for c in wire)
    assert (wires[0] == wires[1]) == (one == other)


# --- skills


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("---\nname: x\ndescription: How we write.\n---\n# Style\n", "How we write."),
        ('---\ndescription: "quoted"\n---\n', "quoted"),
        ("---\ndescription: >\n  over two\n  lines\n---\ntext", "over two lines"),
        ("\n# The style\n\nText.\n", "The style"),
        ("", "style"),
    ],
)
def test_a_skill_says_in_one_line_what_it_is(text: str, line: str) -> None:
    assert skill_of("style", text).description == line


@given(st.text())
def test_any_page_gives_a_skill_with_one_line(text: str) -> None:
    line = skill_of("s", text).description

    assert 0 < len(line) <= 200
    assert line.isprintable()


def test_skills_are_found_in_the_home_and_read_without_their_head(tmp_path: Path) -> None:
    for name in ("style", "broken", ".hidden"):
        (tmp_path / "skills" / name).mkdir(parents=True)
    page = tmp_path / "skills" / "style" / "SKILL.md"
    page.write_text("---\ndescription: How we write.\n---\n# Style\nShort.\n")
    (tmp_path / "skills" / "broken" / "SKILL.md").write_bytes(b"\0\0")
    (tmp_path / "skills" / ".hidden" / "SKILL.md").write_text("x")

    (found,) = find_skills(tmp_path)

    assert found == Skill("style", "How we write.", str(page), found.digest)
    assert found.digest
    assert read_skill(found) == "# Style\nShort.\n"


def test_a_page_that_a_link_leads_out_to_is_no_skill(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "SKILL.md").write_text("private")
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills" / "link").symlink_to(tmp_path / "elsewhere")

    assert find_skills(tmp_path) == ()


def test_a_home_without_skills_has_none_and_a_lost_page_is_told(tmp_path: Path) -> None:
    assert find_skills(tmp_path) == ()
    with pytest.raises(KnowledgeError):
        read_skill(Skill("gone", "x", str(tmp_path / "SKILL.md")))
