"""A declared tool is a promise: what the compiler says of `tools:`."""

from functools import reduce
from typing import Any

import pytest
from msgspec import UNSET

from cortex.bus import Event
from cortex.bus.events import ComponentAnnounced, ComponentWithdrawn, ToolListed
from cortex.runtime.processes import Compilation, TopicTable, compile_sources
from cortex.runtime.registry import NOT_YET, ActionSpec, Registry, Symbols, evolve
from cortex.runtime.tools import skill_of

SOURCE = """
process: p
version: 1
description: Ask
steps:
  - id: ask
    action: ask
    description: Ask
    tools: [{tools}]
"""
SKILLS = {"style": ""}


def registry(*listed: ToolListed, servers: tuple[str, ...] = ()) -> Symbols:
    asker = ComponentAnnounced(component="Asker", kind="action", name="ask")
    return after(asker, tool(), *listed).symbols(SKILLS, servers)


def after(*events: Event) -> Registry:
    return reduce(evolve, events, Registry())


def tool(name: str = "read_file", pack: str = "files") -> ComponentAnnounced:
    traits: dict[str, Any] = {"provider": "files", "pack": pack}
    return ComponentAnnounced(component="Files", kind="tool", name=name, traits=traits)


def compiled(tools: str, there: Symbols, **more: Any) -> Compilation:
    source = SOURCE.replace("{tools}", tools)
    return compile_sources({"p.yaml": source}, there, TopicTable({}), **more)


def codes(compilation: Compilation) -> list[str]:
    return [each.code for each in compilation.diagnostics]


LISTED = ToolListed(server="github", tools=({"name": "get_issue"},))


@pytest.mark.parametrize(
    "entry", ["read_file", "files", "files.*", "style", "github", "github.*", "github.get_issue"]
)
def test_what_somebody_offers_is_linked(entry: str) -> None:
    assert codes(compiled(entry, registry(LISTED))) == []


@pytest.mark.parametrize(
    "entry", ["no_such_tool", "file.*", "style.*", "github.get_isue", "gitlab", "gitlab.get_issue"]
)
def test_what_nobody_offers_is_an_error(entry: str) -> None:
    (found,) = compiled(entry, registry(LISTED)).diagnostics

    assert (found.code, found.severity) == ("P417", "error")
    assert found.message == f"no component or server offers the tool or pack `{entry}`"
    assert "optional: true" in found.remedy or "did you mean" in found.remedy


def test_a_near_miss_is_corrected() -> None:
    (found,) = compiled("read_fil", registry()).diagnostics

    assert found.fix is not None
    assert [edit.text for edit in found.fix] == ["read_file"]


def test_what_is_optional_need_not_be_there() -> None:
    compilation = compiled("{name: no_such_tool, optional: true}, read_file", registry())

    (step,) = compilation.processes["p"].steps
    assert codes(compilation) == []
    assert step.tools == ("no_such_tool", "read_file")
    assert step.promised == ("read_file",)


@pytest.mark.parametrize(
    "there",
    [
        registry(servers=("github",)),
        registry(ToolListed(server="github", reason=NOT_YET)),
        registry(ToolListed(server="github", reason="its command is not installed")),
    ],
)
def test_a_server_that_has_not_said_what_it_offers_may_offer_anything(there: Symbols) -> None:
    compilation = compiled("github.get_issue, github", there)

    assert codes(compilation) == []
    assert compilation.processes["p"].steps[0].promised == ("github.get_issue", "github")


def test_a_skill_is_not_waited_for() -> None:
    assert compiled("style", registry()).processes["p"].steps[0].promised is UNSET


def test_a_process_is_linked_again_when_its_tool_goes() -> None:
    there = after(ComponentAnnounced(component="Asker", kind="action", name="ask"), tool())
    first = compiled("read_file", there.symbols())

    gone = evolve(there, ComponentWithdrawn(component="Files", kind="tool", name="read_file"))
    second = compiled("read_file", gone.symbols(), previous=first)

    assert (codes(first), codes(second)) == ([], ["P417"])


def test_who_knows_of_no_tools_says_nothing_of_them() -> None:
    there = Symbols([ActionSpec(name="ask", component="Asker")])

    compilation = compiled("no_such_tool", there)

    assert codes(compilation) == []
    assert compilation.processes["p"].steps[0].promised is UNSET


@pytest.mark.parametrize("entry", ["{optional: true}", "{name: 3}", "{name: x, maybe: true}", "[]"])
def test_an_entry_that_is_no_tool_is_told(entry: str) -> None:
    assert compiled(entry, registry()).diagnostics


@pytest.mark.parametrize("entry", ["github.get_issue", "github", "github.*"])
def test_a_tool_that_is_described_otherwise_gives_the_process_another_digest(entry: str) -> None:
    described = {"name": "get_issue", "description": "Now also closed ones"}
    changed = ToolListed(server="github", tools=(described,))

    first = compiled(entry, registry(LISTED))
    second = compiled(entry, registry(changed), previous=first)

    assert codes(second) == []
    assert second.processes["p"].digest != first.processes["p"].digest
    assert compiled(entry, registry(changed)).processes == second.processes


def test_a_skill_whose_page_changes_gives_the_process_another_digest() -> None:
    def with_page(text: str) -> Symbols:
        asker = ComponentAnnounced(component="Asker", kind="action", name="ask")
        skills = (skill_of("style", text), skill_of("other", text))
        return after(asker).symbols({skill.name: skill.digest for skill in skills})

    first = compiled("style", with_page("# Style\n\nShort.\n"))
    second = compiled("style", with_page("# Style\n\nShorter.\n"), previous=first)

    assert codes(second) == []
    assert second.processes["p"].digest != first.processes["p"].digest
    assert [name for name, _ in second.processes["p"].steps[0].described or ()] == ["style"]


def test_a_tool_that_is_not_named_does_not_count() -> None:
    more = ToolListed(server="github", tools=(*LISTED.tools, {"name": "close_issue"}))

    one, other = (compiled("github.get_issue", registry(each)) for each in (LISTED, more))

    assert one.processes == other.processes


def test_a_server_that_falls_silent_changes_no_digest() -> None:
    silent = ToolListed(server="github", reason=NOT_YET)

    there, gone = (compiled("github", registry(*each)) for each in ([LISTED], [LISTED, silent]))

    assert there.processes == gone.processes
