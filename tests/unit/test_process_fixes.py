"""Fixes are applied one at a time, and none is kept that breaks what it stands in."""

import pytest
from msgspec.structs import replace

from cortex.runtime.processes import (
    Diagnostic,
    SourceSpan,
    TextEdit,
    TopicTable,
    apply_fixes,
    compile_sources,
    with_kept_fixes,
)
from cortex.runtime.registry import ActionSpec, GateSpec, Symbols

REGISTRY = Symbols(
    [ActionSpec(name="work", component="Worker")],
    [GateSpec(name=name, component="Judge") for name in ("ready", "clean")],
)
STEPS = "steps: [{id: a, action: work}]\n"


def check(texts: dict[str, str]) -> list[Diagnostic]:
    return list(compile_sources(texts, REGISTRY, TopicTable({"a.b": "a.md"})).diagnostics)


def fixed(text: str, **others: str) -> tuple[str, list[str]]:
    texts, found = apply_fixes({"p": text, **others}, check)
    assert all(each.fix is None for each in found)
    return texts["p"], [each.code for each in found]


def test_a_misspelt_key_that_is_required_is_renamed_and_not_added_beside() -> None:
    assert fixed(f"process: p\nversoin: 1\n{STEPS}") == (f"process: p\nversion: 1\n{STEPS}", [])


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (f"process: p\nversion: 1\nversoin: 2\n{STEPS}", "version"),
        (f"process: p\nversion: 1\ngates: [ready]\ngaets: [clean]\n{STEPS}", "gates"),
        ("process: p\nversion: 1\nsteps:\n  - {id: a, action: work, acton: work}\n", "action"),
    ],
)
def test_a_key_that_is_there_already_is_not_made_a_second_time_and_no_other_is_guessed(
    text: str, key: str
) -> None:
    assert fixed(text) == (text, ["P101"])
    (finding,) = check({"p": text})
    assert finding.remedy == f"`{key}` is there already: remove one of them"


def test_of_two_fixes_that_make_the_same_key_one_is_applied_and_the_file_can_be_read() -> None:
    text, left = fixed(f"process: p\nversion: 1\ngatse: [ready]\ngaets: [clean]\n{STEPS}")

    assert left == ["P101"]
    assert [each.code for each in check({"p": text})] == ["P101"]
    assert text.count("gates:") == 1


def test_fixes_of_two_interfaces_on_one_key_are_both_made() -> None:
    contract = "interface: {}\nversion: 1\nrequired_gates: [{}]\n"

    text, left = fixed(
        f"process: p\nversion: 1\nimplements: [one, two]\n{STEPS}",
        one=contract.format("one", "ready"),
        two=contract.format("two", "clean"),
    )

    assert left == []
    assert text.count("gates:") == 1


def test_a_fix_that_brings_hidden_findings_to_light_is_kept() -> None:
    text, left = fixed(f"process: p\nversion: 1\ngaets: [nothing_like_it]\n{STEPS}")

    assert "\ngates: [nothing_like_it]\n" in text
    assert left == ["P402"]


def test_what_comes_to_light_behind_a_fix_on_its_own_line_does_not_stop_it() -> None:
    step = "{{id: a, {}: work, needs: {{{}: hihg, {}: low}}}}"
    source = "process: p\nversion: 1\nsteps:\n  - {}\n"

    text, left = fixed(source.format(step.format("actoin", "reasonig", "cod")))

    assert left == []
    assert text == source.format(step.format("action", "reasoning", "code")).replace("hihg", "high")


def test_what_an_unknown_action_hid_does_not_stop_the_fix_of_its_name() -> None:
    source = (
        "process: p\nversion: 1\nsteps:\n  - {{id: a, action: {}, with: {{n: '${{inputs.no}}'}}}}\n"
    )

    text, left = fixed(source.format("wrok"))

    assert text == source.format("work")
    assert left == ["P204"]


def test_any_number_of_misspelt_names_is_fixed() -> None:
    steps = "".join(f"  - {{id: s{n}, action: wrok}}\n" for n in range(60))

    text, left = fixed(f"process: p\nversion: 1\nsteps:\n{steps}")

    assert left == []
    assert text.count("action: work") == 60


def test_a_fix_that_breaks_what_it_stands_in_is_taken_back_and_offered_no_more() -> None:
    source = f"process: p\nversion: 1\ngates: [ready]\ngaets: [clean]\n{STEPS}"

    def misled(texts: dict[str, str]) -> list[Diagnostic]:
        rename = (TextEdit(SourceSpan(4, 1, 4, 6), "gates"),)
        return [replace(each, fix=rename if each.code == "P101" else None) for each in check(texts)]

    texts, found = apply_fixes({"p": source}, misled)

    assert texts == {"p": source}
    assert [(each.code, each.fix) for each in found] == [("P101", None)]


OFFERED = (
    f"process: p\nversion: 1\ngaets: 3\n{STEPS}",
    f"process: p\nversion: 1\nversoin: 2\n{STEPS}",
    f"process: p\nversoin: 1\n{STEPS}",
    f"process: p\nversion: 1\ngatse: [ready]\ngaets: [clean]\n{STEPS}",
    f"process: p\nversion: 1\ngates: [redy]\n{STEPS}",
    f"process: p\nversion: 1\nknowledge: [a.c]\n{STEPS}",
    f"process: p\nversion: one\n{STEPS}",
    "process: p\nversion: 1\nsteps:\n  - {id: a, action: work, acton: work}\n",
    "process: p\nversion: 1\nsteps:\n  - {id: a, action: wrok, reasonig: hihg}\n",
    "process: p\nversion: 1\nsteps:\n  - {id: a, action: work, needs: {reasonig: hihg}}\n",
    "process: p\nversion: 1\nsteps:\n  - {id: a, action: work, retry: {atempts: 2}}\n",
    "process: p\nversion: 1\nsteps:\n  - {id: a, action: work, retry: {atempts: [2]}}\n",
    "process: p\nversion: 1\nsteps:\n  - {id: a, action: work, when: inputz.x == 1}\n",
)


@pytest.mark.parametrize("text", OFFERED)
def test_a_fix_is_offered_beside_a_finding_only_where_applying_all_of_them_mends_it(
    text: str,
) -> None:
    offered = [each for each in with_kept_fixes({"p": text}, check) if each.fix]

    _, left = apply_fixes({"p": text}, check)

    unmended = {(each.code, each.message) for each in left}
    assert not {(each.code, each.message) for each in offered} & unmended
    found = check({"p": text})
    mended = [each for each in found if each.fix and (each.code, each.message) not in unmended]
    assert offered == mended  # and nothing that is mended goes unsaid


def test_some_fixes_are_promised_and_some_are_not() -> None:
    assert any(each.fix for each in check({"p": OFFERED[0]}))
    promised = [any(e.fix for e in with_kept_fixes({"p": text}, check)) for text in OFFERED]

    assert promised[0] is False  # what is given is no list of gates
    assert promised[2] is True
    assert sum(promised) > 3


def test_the_name_that_events_have_for_a_key_is_made_into_the_key() -> None:
    text = "process: p\nversion: 1\nsteps: [{id: a, action: work, parameters: {x: 1}}]\n"

    assert fixed(text) == (text.replace("parameters", "with"), [])
