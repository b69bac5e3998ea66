"""`goal:` in the language: what may be done towards it is bound, checked and part of the digest."""

from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from cortex.bus.events import ComponentAnnounced
from cortex.runtime.processes import (
    Compilation,
    Goal,
    Granted,
    LinkedProcess,
    TopicTable,
    compile_sources,
    inspect,
)
from cortex.runtime.registry import ActionSpec, GateSpec, Registry, Symbols, evolve

SOURCE = """
process: p
version: 1
inputs: {package: string}
steps:
  - id: fix
    goal: the tests of ${inputs.package} pass
    {keys}
outputs:
  answer: {type: string, value: "${steps.fix.answer}"}
"""
CHILD = """
process: triage
version: 1
description: Say why a build failed
inputs: {log: string}
steps:
  - {id: work, action: work}
"""
TESTS: dict[str, Any] = {
    "type": "object",
    "description": "Run the tests.",
    "properties": {"which": {"type": "string"}},
    "required": ["which"],
}


def registry(**more: Any) -> Symbols:
    return Symbols(
        [
            ActionSpec(name="work", component="Worker", effect="read"),
            ActionSpec(
                name="run_tests",
                component="Tests",
                **{"parameters": TESTS, "effect": "none"} | more,
            ),
        ],
        [
            GateSpec(name="approved", component="Approved"),
            GateSpec(name="command", component="Command", parameters=TESTS),
        ],
    )


def compiled(keys: str, there: Symbols | None = None, text: str = SOURCE) -> Compilation:
    sources = {"p.yaml": text.replace("{keys}", keys), "triage.yaml": CHILD}
    return compile_sources(sources, there or registry(), TopicTable({}))


def linked(keys: str, there: Symbols | None = None) -> LinkedProcess:
    compilation = compiled(keys, there)
    assert [each.code for each in compilation.diagnostics] == []
    return compilation.processes["p"]


def goal_of(process: LinkedProcess) -> Goal:
    goal = process.step("fix").goal
    assert goal is not UNSET
    return goal


def test_what_may_be_done_is_bound_with_its_parameters_and_gates() -> None:
    may = "may: [{action: run_tests, gates: [approved], breakpoint: true}, {process: triage}]"

    goal = goal_of(linked(may))

    tests, triage = goal.grants
    assert tests.action is not None
    assert (tests.name, tests.action.component, tests.breakpoint) == ("run_tests", "Tests", True)
    assert [gate.name for gate in tests.gates] == ["approved"]
    assert tests.parameters == {**TESTS, "properties": {"which": {"type": "string"}}}
    assert "Run the tests." in tests.description
    assert (triage.name, triage.description) == ("triage", "Say why a build failed")
    assert triage.parameters["required"] == ["log"]


def test_a_person_checks_a_goal_unless_it_says_what_does_or_that_nothing_does() -> None:
    said = [
        [gate.name for gate in goal_of(linked(f"may: [work]{check}")).check]
        for check in ("", "\n    check: [{command: {which: all}}]", "\n    check: []")
    ]

    assert said == [["approved"], ["command"], []]


@pytest.mark.parametrize(
    ("keys", "codes"),
    [
        ("may: [run_test]", ["P401"]),
        ("may: [{process: triag}]", ["P408"]),
        ("may: [work]\n    check: [comand]", ["P402"]),
        ("may: [work]\n    check: [{command: {which: 3}}]", ["P407"]),
        ("may: [{action: work, gates: [aproved]}]", ["P402"]),
        ("may: [{action: work, proces: x}]", ["P101"]),
        ("may: [{breakpoint: true}]", ["P217", "P102"]),
        ("may: [work, work]", ["P420"]),
        ("may: [{action: work, process: triage}]", ["P111"]),
        ("by_hand: true", ["P217"]),
        ("may: [work]\n    action: work", ["P111"]),
        ("may: [work]\n    output: {nothing: string}", ["P416"]),
        ("may: [work]\n    with: {log: '${inputs.lgo}'}", ["P204"]),
        ("may: [{process: p}]", ["P409"]),
    ],
)
def test_what_is_wrong_with_a_goal_is_a_diagnostic_with_a_remedy(
    keys: str, codes: list[str]
) -> None:
    found = compiled(keys).diagnostics

    assert [each.code for each in found] == codes
    assert all(each.remedy for each in found)


@pytest.mark.parametrize(
    "keys",
    [
        "may: [goal_reached]",
        "may: [work, give_up]",
        "may: [{process: give_up}]",
        "may: [work]\n    tools: [give_up]",
        "may: [work]\n    tools: [signs]",
        "may: [work]\n    tools: [signs.*]",
    ],
)
def test_nothing_that_a_model_may_choose_is_called_as_it_says_how_the_goal_stands(
    keys: str,
) -> None:
    registry = Registry()
    for name in ("work", "goal_reached", "give_up"):
        said = ComponentAnnounced(component="X", kind="action", name=name)
        registry = evolve(registry, said)
    registry = evolve(
        registry, ComponentAnnounced(component="Approved", kind="gate", name="approved")
    )
    traits = {"provider": "signs", "pack": "signs"}
    registry = evolve(
        registry, ComponentAnnounced(component="S", kind="tool", name="give_up", traits=traits)
    )
    there = registry.symbols()
    child = CHILD.replace("process: triage", "process: give_up")
    sources = {"p.yaml": SOURCE.replace("{keys}", keys), "give_up.yaml": child}

    found = compile_sources(sources, there, TopicTable({})).diagnostics
    by_hand = {**sources, "p.yaml": SOURCE.replace("{keys}", f"{keys}\n    by_hand: true")}
    chosen_by_a_person = compile_sources(by_hand, there, TopicTable({})).diagnostics

    assert [each.code for each in found] == ["P421"]
    assert all(each.remedy for each in found)
    assert "P421" not in [each.code for each in chosen_by_a_person]


def test_keys_of_a_goal_belong_to_a_step_with_one() -> None:
    text = "process: p\nversion: 1\nsteps:\n  - {id: a, action: work, may: [work], check: []}\n"

    found = compiled("", text=text).diagnostics

    assert sorted((each.code, each.message) for each in found) == [
        ("P216", "`check:` in a step without `goal:`"),
        ("P216", "`may:` in a step without `goal:`"),
    ]


def test_a_reference_in_a_goal_is_checked() -> None:
    found = compiled("may: [work]", text=SOURCE.replace("inputs.package", "inputs.pakage"))

    assert [each.code for each in found.diagnostics] == ["P204"]


def test_the_digest_covers_what_may_be_done_and_how_it_is_checked() -> None:
    keys = "may: [run_tests]"
    digests = {
        linked(keys).digest,
        linked(f"{keys}\n    check: []").digest,
        linked(f"{keys}\n    by_hand: true").digest,
        linked("may: [run_tests, work]").digest,
        linked(keys, registry(effect="once")).digest,
        linked(keys, registry(parameters={**TESTS, "description": "Other."})).digest,
    }

    assert len(digests) == 6
    assert linked(keys).digest == linked(keys).digest


def test_what_disappears_makes_the_process_stale_and_only_that() -> None:
    before = compiled("may: [run_tests]")
    sources = {"p.yaml": SOURCE.replace("{keys}", "may: [run_tests]"), "triage.yaml": CHILD}
    without = Symbols([ActionSpec(name="work", component="Worker", effect="read")], [])

    after = compile_sources(sources, without, TopicTable({}), previous=before)

    assert sorted(each.code for each in after.diagnostics) == ["P401", "P402"]
    assert after.compiled == ("p",)


def test_inspect_says_what_may_be_done_and_what_checks_it() -> None:
    process = linked(
        "may: [{action: work, gates: [approved], breakpoint: true}, {process: triage}]\n"
        "    breakpoint: true"
    )

    told = str(inspect(process))

    assert "fix -> goal, by a model" in told
    assert "may work, after approved, with a breakpoint" in told
    assert "breakpoint: it shows the prompt before it is sent" in told
    assert "may process triage" in told
    assert "check approved -> Approved" in told


def test_a_linked_goal_is_read_back_as_it_was() -> None:
    process = linked("may: [run_tests, {process: triage}]\n    check: [{command: {which: all}}]")

    again = msgspec.json.decode(msgspec.json.encode(process), type=LinkedProcess)

    assert again == process


PROGRAMS = {
    "type": "object",
    "properties": {"command": {"type": "string"}, "env": {"type": "array"}, "all": {}},
    "required": ["command"],
}


def granted_by(may: str, **more: Any) -> Granted:
    """What the one grant of a goal is linked to."""
    known = registry(**{"parameters": PROGRAMS} | more)
    return goal_of(linked(f"may: [{may}]\n    check: []", known)).grants[0]


def test_a_model_names_no_program_unless_that_is_granted() -> None:
    programs = ("command",)

    usual = granted_by("run_tests", programs=programs)
    wide = granted_by("{action: run_tests, any_program: true}", programs=programs)

    assert set(usual.for_model()["properties"]) == {"all"}
    assert usual.for_model()["required"] == []
    assert set(usual.parameters["properties"]) == {"command", "env", "all"}  # for people
    assert set(wide.for_model()["properties"]) == {"command", "all"}


def test_what_is_laid_down_for_an_action_is_chosen_by_nobody() -> None:
    grant = granted_by("{action: run_tests, with: {command: 'make ${inputs.package}'}}")

    assert set(grant.parameters["properties"]) == {"env", "all"}
    assert [name for name, _ in grant.given.entries] == ["command"]


@pytest.mark.parametrize(
    ("may", "code"),
    [
        ("{action: run_tests, with: {comand: x}}", "P405"),
        ("{action: run_tests, with: {command: [1]}}", "P407"),
        ("{action: run_tests, with: {command: '${inputs.pakage}'}}", "P204"),
        ("{action: run_tests, any_program: perhaps}", "P103"),
    ],
)
def test_what_is_laid_down_is_checked_as_the_parameters_of_a_step_are(may: str, code: str) -> None:
    found = compiled(f"may: [{may}]\n    check: []", registry(parameters=PROGRAMS)).diagnostics

    assert [each.code for each in found] == [code]
