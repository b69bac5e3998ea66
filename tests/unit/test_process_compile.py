"""Versions, digests, strictness, and that nothing is compiled twice."""

import random
from typing import Any

import pytest

from cortex.runtime.processes import (
    Ambiguous,
    Compilation,
    LinkError,
    ProcessLoadError,
    Resolved,
    TopicTable,
    apply_edits,
    compile_sources,
)
from cortex.runtime.registry import ActionSpec, GateSpec, Symbols

ACTIONS = [ActionSpec(name=name, component="Worker") for name in ("work", "other")]
REGISTRY = Symbols(ACTIONS, [GateSpec(name="ready", component="Judge")])
TOPICS = TopicTable({"a.b": "a/b.md", "c.d": "c/d.md"})

PARENT = "process: parent\nversion: 1\nknowledge: [a.b]\nsteps: [{id: a, action: work}]\n"
CHILD = "process: child\nversion: 1\nextends: parent\nsteps: [{id: b, action: other}]\n"
RUNNER = "process: runner\nversion: 1\nsteps: [{id: a, process: child}]\n"
ALONE = (
    "process: alone\nversion: 1\nknowledge: [c.d]\ngates: [ready]\nsteps: [{id: a, action: work}]\n"
)
CONTRACT = "interface: i\nversion: 1\n"
SOURCES = {"parent": PARENT, "child": CHILD, "runner": RUNNER, "alone": ALONE}


def compiled(
    sources: dict[str, str],
    registry: Symbols = REGISTRY,
    topics: TopicTable = TOPICS,
    previous: Compilation | None = None,
) -> Compilation:
    return compile_sources(sources, registry, topics, previous=previous)


def codes(compilation: Compilation) -> list[str]:
    return [each.code for each in compilation.diagnostics]


def test_nothing_that_has_not_changed_is_compiled_again() -> None:
    first = compiled(SOURCES)

    again = compiled(SOURCES, previous=first)

    assert sorted(first.compiled) == ["alone", "child", "parent", "runner"]
    assert again.compiled == ()
    assert again.processes == first.processes


@pytest.mark.parametrize(
    ("file", "stale"),
    [
        ("parent", ["child", "parent", "runner"]),
        ("child", ["child", "runner"]),
        ("runner", ["runner"]),
        ("alone", ["alone"]),
    ],
)
def test_a_changed_file_takes_its_dependants_along_and_nobody_else(
    file: str, stale: list[str]
) -> None:
    first = compiled(SOURCES)
    changed = {**SOURCES, file: SOURCES[file].replace("version: 1", "version: 2")}

    again = compiled(changed, previous=first)

    assert sorted(again.compiled) == stale
    assert again.processes == compiled(changed).processes


def test_a_changed_announcement_or_topic_takes_its_users_along() -> None:
    first = compiled(SOURCES)
    other = Symbols(
        [ACTIONS[0], ActionSpec(name="other", component="Else")], REGISTRY.gates.values()
    )
    moved = TopicTable({"a.b": "a/b.md", "c.d": "c/new.md"})

    assert sorted(compiled(SOURCES, other, previous=first).compiled) == ["child", "runner"]
    assert compiled(SOURCES, topics=moved, previous=first).compiled == ("alone",)


def test_an_action_that_goes_unlinks_its_users_and_they_link_again_when_it_is_back() -> None:
    first = compiled(SOURCES)
    without = compiled(SOURCES, Symbols(ACTIONS[:1], REGISTRY.gates.values()), previous=first)

    back = compiled(SOURCES, previous=without)

    assert set(without.processes) == {"parent", "alone"}
    assert back.processes == first.processes
    assert set(first.processes) == {"alone", "child", "parent", "runner"}


def test_any_sequence_of_edits_ends_where_a_fresh_compilation_does() -> None:
    chance = random.Random(7)
    pool = {
        "parent": [PARENT, PARENT.replace("work", "wrok"), PARENT.replace("parent", "child2")],
        "child": [CHILD, CHILD.replace("parent", "child"), CHILD + "implements: i\n"],
        "runner": [RUNNER, RUNNER.replace("child", "i"), RUNNER.replace("child", "runner")],
        "alone": [ALONE, ALONE + "implements: i\n", ALONE.replace("c.d", "c.e")],
        "i": [
            "interface: i\nversion: 1\n",
            "interface: i\nversion: 1\nrequired_gates: [ready]\n",
            "",
        ],
    }
    sources = {name: texts[0] for name, texts in pool.items()}
    compilation = compiled(sources)

    for _ in range(150):
        name = chance.choice(list(pool))
        if chance.random() < 0.2:
            sources.pop(name, None)
        else:
            sources[name] = chance.choice(pool[name])
        compilation = compiled(sources, previous=compilation)
        fresh = compiled(sources)
        assert compilation.processes == fresh.processes
        assert compilation.interfaces == fresh.interfaces
        assert compilation.diagnostics == fresh.diagnostics


def test_comments_layout_quotes_and_the_order_of_keys_change_no_digest() -> None:
    plain = "process: p\nversion: 1\nsteps:\n  - {id: a, action: work, with: {x: 1, y: b}}\n"
    other = (
        "# a comment\nsteps:\n- with:\n    y: 'b'\n    x: 1\n  action: work\n  id: \"a\"\n\n"
        "version: 1\nprocess: p\n"
    )

    one, two = compiled({"p": plain}).processes["p"], compiled({"q": other}).processes["p"]

    assert one == two


def test_where_knowledge_lies_is_not_in_the_digest_but_what_it_says_is() -> None:
    class Somewhere(TopicTable):
        def __init__(self, path: str, digest: str) -> None:
            super().__init__({})
            self.found = Resolved(path=path, digest=digest)

        def problem(self, topic: str) -> str:
            return ""

        def resolve(self, topic: str) -> Resolved | Ambiguous | None:
            return self.found

    def digest(path: str, content: str) -> str:
        return compiled({"p": PARENT}, topics=Somewhere(path, content)).processes["parent"].digest

    assert digest("/home/a.md", "1") == digest("/elsewhere/a.md", "1")
    assert digest("/home/a.md", "1") != digest("/home/a.md", "2")


def test_a_change_of_the_parent_is_another_digest_of_the_same_version() -> None:
    before = compiled(SOURCES).processes["child"]
    after = compiled({**SOURCES, "parent": PARENT.replace("work", "other")}).processes["child"]

    assert (before.version, before.source_digest) == (after.version, after.source_digest)
    assert before.digest != after.digest


class Contents(TopicTable):
    def __init__(self, **contents: str) -> None:
        super().__init__({})
        self.contents = contents

    def resolve(self, topic: str) -> Resolved:
        return Resolved(path=topic, digest=self.contents.get(topic.replace(".", "_"), topic))


SHAPED = {
    "base": "process: base\nversion: 1\nabstract: true\ndescription: D\nknowledge: [a.b]\n"
    "steps: [{id: a, action: other, abstract: true}]\n",
    "meant": "process: meant\nversion: 1\nextends: base\nimplements: i\ngates: [ready]\n"
    "steps: [{id: a, action: work, tools: [read_file]}, {id: c, process: below}]\n",
    "below": "process: below\nversion: 1\nsteps: [{id: a, action: other}]\n",
    "i": CONTRACT,
}
WIDER = {"type": "object", "properties": {"more": {"type": "string"}}}


@pytest.mark.parametrize(
    ("sources", "action", "gate", "topics"),
    [
        ({}, {"parameters": WIDER}, {}, {}),
        ({}, {"result": WIDER}, {}, {}),
        ({}, {"effect": "read"}, {}, {}),
        ({}, {"component": "Another"}, {}, {}),
        ({}, {}, {"parameters": WIDER}, {}),
        ({}, {}, {}, {"a_b": "edited"}),
        ({"meant": ("read_file", "search_code")}, {}, {}, {}),
        ({"base": ("description: D", "description: E")}, {}, {}, {}),
        ({"base": ("action: other", "action: work")}, {}, {}, {}),
        ({"below": ("action: other", "action: work")}, {}, {}, {}),
        ({"i": ("version: 1", "version: 1\ndescription: D")}, {}, {}, {}),
    ],
    ids=[
        *("parameters", "result", "effect", "component", "gate", "topic", "tools"),
        *("parent", "replaced step of the parent", "child", "interface"),
    ],
)
def test_the_linked_digest_covers_everything_that_shapes_a_run(
    sources: dict[str, tuple[str, str]],
    action: dict[str, Any],
    gate: dict[str, Any],
    topics: dict[str, str],
) -> None:
    def registry(action: dict[str, Any], gate: dict[str, Any]) -> Symbols:
        work = ActionSpec(**{"name": "work", "component": "Worker", **action})
        return Symbols([work, ACTIONS[1]], [GateSpec(name="ready", component="Judge", **gate)])

    edited = {file: SHAPED[file].replace(*words) for file, words in sources.items()}
    first = compiled(SHAPED, registry({}, {}), Contents())
    second = compiled(
        {**SHAPED, **edited}, registry(action, gate), Contents(**topics), previous=first
    )

    assert first.errors == second.errors == ()
    assert first.processes["meant"].digest != second.processes["meant"].digest
    again = compiled({**SHAPED, **edited}, registry(action, gate), Contents(**topics))
    assert again.processes["meant"] == second.processes["meant"]


def test_what_is_run_is_linked_after_its_parents_whoever_runs_it() -> None:
    runner = "process: a_runner\nversion: 1\nsteps: [{id: a, process: child}]\n"

    compilation = compiled({"a": runner, "b": CHILD, "c": PARENT})

    child, parent = compilation.processes["child"], compilation.processes["parent"]
    assert child.parent == parent.digest


def test_the_same_version_from_another_source_is_refused_and_offers_the_next() -> None:
    first = compiled(SOURCES)
    known = {(each.name, each.version): each.source_digest for each in first.processes.values()}
    known["alone", 4] = "0" * 64
    changed = {**SOURCES, "alone": ALONE.replace("work", "other")}

    compilation = compile_sources(changed, REGISTRY, TOPICS, known=known, previous=first)

    (finding,) = compilation.diagnostics
    assert finding.code == "P501"
    assert finding.remedy == "write `version: 5`"
    assert finding.fix
    changed["alone"] = apply_edits(changed["alone"], finding.fix)
    fixed = compile_sources(changed, REGISTRY, TOPICS, known=known)
    assert fixed.diagnostics == ()
    assert fixed.processes["alone"].version == 5


def test_the_same_source_under_a_known_version_is_no_change() -> None:
    first = compiled(SOURCES)
    known = {(each.name, each.version): each.source_digest for each in first.processes.values()}

    assert compile_sources(SOURCES, REGISTRY, TOPICS, known=known).diagnostics == ()


def test_a_version_that_is_defined_twice_is_told_at_the_second_and_the_first_stands() -> None:
    compilation = compiled({"a": PARENT, "b": PARENT.replace("work", "other")})

    (finding,) = compilation.diagnostics
    assert (finding.file, finding.code) == ("b", "P502")
    assert finding.remedy == "write `version: 2`"
    action = compilation.processes["parent"].steps[0].action
    assert action
    assert action.name == "work"


def test_of_two_versions_the_higher_one_is_meant_and_the_lower_one_is_kept() -> None:
    compilation = compiled(
        {"a": PARENT.replace("version: 1", "version: 2"), "b": PARENT, "c": CHILD}
    )

    assert compilation.diagnostics == ()
    assert compilation.processes["parent"].version == 2
    assert [each.version for each in compilation.older] == [1]


def test_strict_makes_errors_of_warnings() -> None:
    text = PARENT.replace("[a.b]", "[a.b, a.b]")

    lenient = compiled({"p": text})
    strict = compile_sources({"p": text}, REGISTRY, TOPICS, strict=True)

    assert [(each.code, each.severity) for each in lenient.diagnostics] == [("P208", "warning")]
    assert "parent" in lenient.processes
    assert [(each.code, each.severity) for each in strict.diagnostics] == [("P208", "error")]
    assert strict.processes == {}


def test_callers_that_want_an_exception_get_the_kind_that_fits() -> None:
    compiled(SOURCES).raise_for_errors()

    with pytest.raises(LinkError, match="no component serves the action `wrok`"):
        compiled({"p": PARENT.replace("work", "wrok")}).raise_for_errors()
    with pytest.raises(ProcessLoadError) as caught:
        compiled({"p": PARENT.replace("version", "verison")}).raise_for_errors()
    assert [each.code for each in caught.value.diagnostics] == ["P102", "P101"]
