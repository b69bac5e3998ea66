"""The table: which process a trigger stands for; the diff and the origins of what is in it."""

from typing import Any

import pytest

from cortex.runtime.processes import (
    LinkedProcess,
    Match,
    ProcessTable,
    Tie,
    TopicTable,
    compile_sources,
    diff,
    inspect,
)
from cortex.runtime.registry import ActionSpec, GateSpec, Symbols

REGISTRY = Symbols(
    [ActionSpec(name=name, component="Worker") for name in ("work", "other")],
    [GateSpec(name=name, component="Judge") for name in ("ready", "clean")],
)
TOPICS = TopicTable({"a.b": "a/b.md", "c.d": "c/d.md"})


def linked(text: str) -> dict[str, LinkedProcess]:
    compilation = compile_sources({"p": text}, REGISTRY, TOPICS)
    assert compilation.errors == ()
    return dict(compilation.processes)


def triggered(**matches: str) -> ProcessTable:
    documents = [
        f"process: {name}\nversion: 1\ntrigger: {{type: event, match: {match}}}\n"
        "steps: [{id: a, action: work}]\n"
        for name, match in matches.items()
    ]
    return ProcessTable().add(linked("---\n".join(documents)).values())


CI = triggered(
    any_failure="{source: ci}",
    main_failure="{source: ci, branch: [main, release]}",
    night_failure="{source: ci, at: night}",
    nested="{event.kind: push, event.size: 3}",
)


def name_of(found: Match | Tie | None) -> str:
    assert isinstance(found, Match)
    return found.chosen.name


def test_the_most_specific_match_wins_and_the_others_are_named() -> None:
    found = CI.match({"source": "ci", "branch": "main"})

    assert isinstance(found, Match)
    assert (found.chosen.name, found.specificity) == ("main_failure", 2)
    assert [each.name for each in found.runners_up] == ["any_failure"]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"source": "ci", "branch": "topic"}, "any_failure"),
        ({"source": "ci", "branch": "release"}, "main_failure"),
        ({"event": {"kind": "push", "size": 3}}, "nested"),
        ({"event.kind": "push", "event.size": 3}, "nested"),
    ],
)
def test_every_field_has_to_have_one_of_its_values(fields: dict[str, Any], expected: str) -> None:
    assert name_of(CI.match(fields)) == expected


def test_without_a_match_there_is_none() -> None:
    assert CI.match({"source": "mail"}) is None
    assert CI.match({}) is None
    assert CI.match({"event": {"kind": "push", "size": "3"}}) is None


def test_a_tie_is_refused_and_names_them_unless_one_is_preferred() -> None:
    fields = {"source": "ci", "branch": "main", "at": "night"}

    tie = CI.match(fields)

    assert isinstance(tie, Tie)
    assert [each.name for each in tie.candidates] == ["main_failure", "night_failure"]
    chosen = CI.match(fields, ["unknown", "night_failure", "main_failure"])
    assert isinstance(chosen, Match)
    assert (chosen.chosen.name, chosen.by) == ("night_failure", "preference")
    assert [each.name for each in chosen.runners_up] == ["main_failure", "any_failure"]


def test_a_preference_does_not_beat_a_more_specific_match() -> None:
    assert name_of(CI.match({"source": "ci", "branch": "main"}, ["any_failure"])) == "main_failure"


def test_abstract_processes_are_never_chosen() -> None:
    text = "process: p\nversion: 1\nabstract: true\ntrigger: {type: event, match: {a: 1}}\n"

    assert ProcessTable().add(linked(text).values()).match({"a": 1}) is None


def test_an_interface_stands_for_the_one_that_implements_it_or_the_preferred_one() -> None:
    text = "interface: i\nversion: 1\n---\n" + "---\n".join(
        f"process: {name}\nversion: 1\nimplements: i\nsteps: [{{id: a, action: work}}]\n"
        for name in ("p", "q")
    )
    both = linked(text)
    one = ProcessTable().add([both["q"]])
    two = one.add([both["p"]])

    assert name_of(one.implementing("i")) == "q"
    assert isinstance(two.implementing("i"), Tie)
    assert name_of(two.implementing("i", ["q"])) == "q"
    assert two.implementing("j") is None


def test_the_table_keeps_what_was_replaced_or_retired_under_its_digest() -> None:
    old = linked("process: p\nversion: 1\nsteps: [{id: a, action: work}]\n")["p"]
    same = linked("process: p\nversion: 1\nsteps: [{id: a, action: other}]\n")["p"]
    new = linked("process: p\nversion: 2\nsteps: [{id: a, action: other}]\n")["p"]

    table = ProcessTable().add([old]).add([same]).add([new])

    assert table.get("p") == new
    assert table.get("p", 1) == same
    assert table.versions("p") == (same, new)
    assert table.by_digest(old.digest) == old
    assert table.known() == {("p", 1): same.source_digest, ("p", 2): new.source_digest}
    assert table.without("p").get("p") is None
    assert table.without("p").by_digest(new.digest) == new


BEFORE = """\
process: p
version: 1
gates: [ready]
knowledge: [a.b]
inputs: {n: integer}
steps:
  - {id: a, action: work}
  - {id: b, action: work, timeout: 5}
  - {id: c, action: work, gates: [ready]}
"""
AFTER = """\
process: p
version: 2
gates: [ready, clean]
knowledge: [c.d]
inputs: {n: string, m: path}
steps:
  - {id: x, action: work}
  - {id: c, action: work, gates: [clean]}
  - {id: a, action: other}
"""


def test_a_diff_says_in_words_what_changed() -> None:
    text = str(diff(linked(BEFORE)["p"], linked(AFTER)["p"]))

    assert text.splitlines()[0] == "p 1 -> p 2"
    for line in (
        "input `m` added",
        'input `n`: type was "integer", is "string"',
        "gate `clean` added",
        "knowledge `a.b` removed",
        "knowledge `c.d` added",
        "step `x` added",
        "step `b` removed",
        'step `c` gate removed: "ready"',
        'step `c` gate added: "clean"',
        "step `a` moved from place 1 to 2",
    ):
        assert f"  {line}" in text.splitlines()
    assert len(text.splitlines()) == 13
    assert '  step `a`: action was "work", is "other"' in text.splitlines()


def test_a_diff_is_empty_only_between_equals() -> None:
    process = linked(BEFORE)["p"]

    assert diff(process, process).changes == ()
    assert str(diff(process, process)).endswith("nothing changed")


def test_an_insertion_moves_nothing() -> None:
    before = linked(
        "process: p\nversion: 1\nsteps: [{id: a, action: work}, {id: b, action: work}]\n"
    )
    after = linked(
        "process: p\nversion: 1\n"
        "steps: [{id: a, action: work}, {id: x, action: work}, {id: b, action: work}]\n"
    )

    changes = diff(before["p"], after["p"]).changes

    assert [(each.kind, each.name) for each in changes] == [("added", "x")]


def test_inspection_names_the_origin_of_everything() -> None:
    text = BEFORE + (
        "---\nprocess: q\nversion: 3\nextends: p\nknowledge: [c.d]\n"
        "steps:\n  - {id: c, action: other, gates: [clean]}\n  - {id: d, action: work, after: a}\n"
    )

    inspection = inspect(linked(text)["q"])

    assert inspection.chain == ("q", "p")
    assert [(step.id, step.origin, step.overrides) for step in inspection.steps] == [
        ("a", "p", ()),
        ("d", "q", ()),
        ("b", "p", ()),
        ("c", "q", ("p",)),
    ]
    assert [(gate.name, gate.origin) for gate in inspection.steps[-1].gates] == [
        ("ready", "p"),
        ("clean", "q"),
    ]
    assert [(topic.name, topic.origin) for topic in inspection.knowledge] == [
        ("a.b", "p"),
        ("c.d", "q"),
    ]
    assert "c -> action other (Worker)  from q, overrides p" in str(inspection)
