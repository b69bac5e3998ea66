"""`for_each:` and `parallel:`: what may be written, what is refused, and what it is linked to."""

import pytest
from msgspec import UNSET

from cortex.runtime.processes import (
    Compilation,
    LinkedProcess,
    TopicTable,
    compile_sources,
    inspect,
)
from cortex.runtime.registry import ActionSpec, Symbols

REPORT = {"type": "object", "properties": {"report": {"type": "string"}}, "required": ["report"]}
FILES = {
    "type": "object",
    "properties": {"files": {"type": "array", "items": {"type": "string"}}},
    "required": ["files"],
}
NUMBERS = {
    "type": "object",
    "properties": {"numbers": {"type": "array", "items": {"type": "integer"}}},
    "required": ["numbers"],
}
TAKES_PATH = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "required": ["path"],
}
REGISTRY = Symbols(
    [
        ActionSpec(name="list_files", component="Lister", result=FILES, effect="read"),
        ActionSpec(name="count", component="Counter", result=NUMBERS, effect="read"),
        ActionSpec(
            name="review", component="Reviewer", parameters=TAKES_PATH, result=REPORT, effect="read"
        ),
        ActionSpec(name="work", component="Worker", result=REPORT, effect="read"),
        ActionSpec(name="sum_up", component="Worker", effect="read"),
    ]
)
HEAD = "process: p\nversion: 1\ninputs: {name: string, names: list}\nsteps:\n"


def compiled(steps: str, **more: str) -> Compilation:
    return compile_sources({"p.yaml": HEAD + steps, **more}, REGISTRY, TopicTable({}))


def linked(steps: str, **more: str) -> LinkedProcess:
    compilation = compiled(steps, **more)
    assert not compilation.diagnostics, [str(each) for each in compilation.diagnostics]
    return compilation.processes["p"]


def codes(steps: str) -> list[str]:
    return [each.code for each in compiled(steps).diagnostics]


LIST = "  - {id: list, action: list_files}\n"
EACH = "  - {id: each, for_each: '${steps.list.files}', as: path, action: review"
BOTH = """
  - id: checks
    parallel:
      - {id: lint, action: work}
      - {id: types, action: review, with: {path: "${inputs.name}"}}
"""


def test_a_step_goes_over_a_list_and_names_its_item() -> None:
    each = linked(LIST + EACH + ", with: {path: '${path}'}}\n").steps[1]

    assert each.fan is not UNSET
    assert (each.fan.name, each.fan.at_once, each.fan.failures) == ("path", 8, "halt")
    assert each.sees == ()  # an item is given its own part of the list


def test_an_item_is_bound_by_name_and_type_like_any_value() -> None:
    each = linked(LIST + EACH + "}\n").steps[1]

    assert each.bound == ("path",)


def test_an_item_has_the_type_of_the_elements_of_its_list() -> None:
    numbers = "  - {id: c, action: count}\n  - {id: e, for_each: '${steps.c.numbers}', action: "

    assert codes(numbers + "review, with: {path: '${item}'}}\n") == ["P407"]
    assert codes(numbers + "review, with: {path: 'file ${item}'}}\n") == []
    assert codes(numbers + "review, with: {path: '${item.name}'}}\n") == ["P204"]


@pytest.mark.parametrize(
    ("keys", "found"),
    [
        ("for_each: '${inputs.name}', action: work", ["P407"]),
        ("for_each: 3, action: work", ["P103"]),
        ("for_each: names, action: work", ["P103"]),
        ("for_each: {a: 1}, action: work", ["P103"]),
        ("for_each: '${inputs.gone}', action: work", ["P204"]),
        ("for_each: [a, b], action: work", []),
        ("for_each: [], action: work", []),
        ("for_each: [1, 2], action: review, with: {path: '${item}'}", ["P407"]),
        ("for_each: '${inputs.names}', at_once: 0, action: work", ["P106"]),
        ("for_each: '${inputs.names}', at_once: 10000, action: work", ["P106"]),
        ("for_each: '${inputs.names}', failures: ignore, action: work", ["P104"]),
        ("for_each: '${inputs.names}', as: steps, action: work", ["P219"]),
        (
            "for_each: '${inputs.names}', as: inputs, action: review, with: {path: '${inputs}'}",
            ["P219"],
        ),
        ("for_each: '${inputs.names}'", ["P213"]),
        ("at_once: 3, action: work", ["P218"]),
        ("as: file, action: work", ["P218"]),
        ("action: review, with: {path: '${item}'}", ["P202"]),
        ("action: review, with: {path: 'no ${execution.item}'}", ["P204"]),
        ("for_each: [a], action: review, with: {path: 'no ${execution.item}'}", []),
        ("for_each: '${inputs.names}', when: item == null, action: work", ["P202"]),
        ("for_each: '${inputs.names}', parallel: [{id: b, action: work}]", ["P111"]),
        ("action: work, parallel: [{id: b, action: work}]", ["P111"]),
        ("parallel: []", ["P112"]),
        ("parallel: 5", ["P103"]),
        ("parallel: {a: 1}", ["P103"]),
        ("parallel: [5]", ["P103"]),
        ("action: 5", ["P103"]),
        ("action: 'no name'", ["P105"]),
        ("process: [a]", ["P103"]),
        ("parallel: [{id: b, action: work}], retry: {attempts: 2}", ["P218"]),
        ("parallel: [{id: b, action: work, on_failure: continue}]", ["P218"]),
        ("parallel: [{id: b, parallel: [{id: c, action: work}]}]", ["P218"]),
        ("parallel: [{id: one, action: work}]", ["P201"]),
        ("parallel: [{id: b, for_each: '${inputs.names}', action: work}]", []),
        ("for_each: '${inputs.names}', action: work, breakpoint: true, timeout: 3s", []),
    ],
)
def test_what_cannot_be_meant_is_a_diagnostic(keys: str, found: list[str]) -> None:
    assert codes(f"  - {{id: one, {keys}}}\n") == found


def test_how_many_items_failed_is_there_for_later_steps() -> None:
    step = "  - {id: one, for_each: '${inputs.names}', failures: collect, action: work}\n"

    assert codes(step + "  - {id: two, when: steps.one.failed > 0, action: work}\n") == []


def test_branches_stand_behind_their_step_and_do_not_see_each_other() -> None:
    process = linked(BOTH)

    assert [step.id for step in process.steps] == ["checks", "lint", "types"]
    assert process.steps[0].fan is not UNSET
    assert process.steps[0].fan.branches == ("lint", "types")
    assert process.steps[2].within == "checks"
    assert process.steps[2].sees == (("inputs", "name"),)
    seen = BOTH.replace("${inputs.name}", "${steps.lint.report}")
    assert codes(seen) == ["P205"]


def test_later_steps_refer_to_branches_and_to_the_results_of_items() -> None:
    after = (
        "  - {id: last, action: sum_up, with: {a: '${steps.lint.report}', b: '${steps.each.%s}'}}\n"
    )

    assert codes(LIST + BOTH + EACH + "}\n" + after % "results") == []
    assert codes(LIST + BOTH + EACH + "}\n" + after % "result") == ["P204"]


def test_what_may_have_failed_may_be_missing() -> None:
    after = "  - {id: last, action: review, with: {path: '${steps.lint.report}'}}\n"

    assert codes(BOTH + after) == []
    assert codes(BOTH.replace("parallel:", "failures: collect\n    parallel:") + after) == ["P210"]


@pytest.mark.parametrize(
    "line",
    [
        "  - {id: x, action: work, on_failure: {back_to: lint}}\n",
        "  - {id: x, action: work, on_failure: {back_to: checks}}\n",
    ],
)
def test_nothing_goes_back_to_a_branch(line: str) -> None:
    assert codes(BOTH + line) == (["P220"] if "lint" in line else [])


def test_a_child_process_overrides_a_branch_where_it_stands() -> None:
    child = (
        "process: c\nversion: 1\nextends: p\nsteps:\n  - {id: lint, action: sum_up}\n"
        "  - {id: then, action: work, after: checks}\n"
    )
    compilation = compiled(BOTH, **{"c.yaml": child})

    assert not compilation.diagnostics
    steps = compilation.processes["c"].steps
    assert [step.id for step in steps] == ["checks", "lint", "types", "then"]
    assert steps[1].action is not None
    assert (steps[1].action.name, steps[1].within) == ("sum_up", "checks")


@pytest.mark.parametrize(
    "step",
    [
        "{id: checks, action: work}",
        "{id: x, action: work, after: lint}",
        "{id: x, parallel: [{id: lint, action: work}]}",
    ],
)
def test_a_child_process_does_not_tear_a_parallel_step_apart(step: str) -> None:
    child = f"process: c\nversion: 1\nextends: p\nsteps:\n  - {step}\n"

    found = compiled(BOTH, **{"c.yaml": child}).diagnostics

    assert [each.code for each in found] == ["P220"]


def test_a_child_process_adds_a_branch() -> None:
    child = (
        "process: c\nversion: 1\nextends: p\nsteps:\n"
        "  - {id: checks, parallel: [{id: more, action: work}]}\n  - {id: last, action: work}\n"
    )
    compilation = compiled(BOTH, **{"c.yaml": child})

    assert not compilation.diagnostics
    steps = compilation.processes["c"].steps
    assert [step.id for step in steps] == ["checks", "lint", "types", "more", "last"]
    assert steps[0].fan is not UNSET
    assert steps[0].fan.branches == ("lint", "types", "more")


def test_a_process_without_them_is_linked_as_it_always_was() -> None:
    plain = linked("  - {id: one, action: work}\n")

    assert plain.digest == "4ed20aa028c4bbb0478807aa4ad97c1a9b0d6c21ab95e7befde92c4d4f71de12"


@pytest.mark.parametrize(
    ("step", "remedy"),
    [
        ("{for_each: '${inputs.names}', as: file, action: review, with: {path: '${item}'}}",
         "the item is `${file}` here, as `as:` says"),
        ("{for_each: '${inputs.names}', as: file, action: review, with: {path: '${item.name}'}}",
         "the item is `${file}` here, as `as:` says"),
        ("{for_each: '${inputs.names}', action: review, with: {path: '${itm}'}}",
         "did you mean `item`?"),
        ("{for_each: '${inputs.names}', as: file, action: review, with: {path: '${name}'}}",
         "did you mean `inputs.name`?"),
        ("{action: review, with: {path: '${item}'}}",
         "`${item}` is for a step with `for_each:`"),
        ("{action: review, with: {path: '${list}'}}",
         "did you mean `steps.list.files`?"),
        ("{action: review, with: {path: '${other}'}}",
         "write `${inputs.x}` or `${steps.id.x}`"),
    ],
)  # fmt: skip
def test_a_name_that_is_no_reference_is_answered_by_the_one_that_is_meant(
    step: str, remedy: str
) -> None:
    (found,) = compiled(f"{LIST}  - {step.replace('{', '{id: one, ', 1)}\n").diagnostics

    assert (found.code in ("P202", "P204"), found.remedy) == (True, remedy)


def test_a_step_that_does_nothing_is_told_all_that_it_could_do() -> None:
    (found,) = compiled("  - {id: one, description: nothing}\n").diagnostics

    assert found.message == "step `one` has no `action:`, `process:`, `goal:` or `parallel:`"
    assert found.remedy == "add `action:`, `process:`, `goal:` or `parallel:`"


def test_inspect_says_where_a_process_stops_and_what_is_shown_there() -> None:
    told = str(inspect(linked("  - {id: one, action: work, breakpoint: true}\n")))

    assert "            breakpoint: it pauses before this step" in told
    each = str(inspect(linked(LIST + EACH + ", with: {path: '${path}'}, breakpoint: true}\n")))
    assert "            breakpoint: each item pauses before this step" in each


@pytest.mark.parametrize(
    ("steps", "field", "found"),
    [
        (LIST + EACH + ", failures: collect}\n", "error", []),
        (LIST + EACH + ", failures: collect}\n", "value", ["P204"]),
        (BOTH.replace("checks", "each"), "step", []),
        (LIST + EACH + ", failures: collect}\n", "step", ["P204"]),
    ],
)
def test_a_later_step_refers_to_what_a_failure_really_has(
    steps: str, field: str, found: list[str]
) -> None:
    after = (
        "  - {id: look, for_each: '${steps.each.failures}', as: failed, action: review, "
        f"with: {{path: '${{failed.{field}}}'}}}}\n"
    )

    assert [code for code in codes(steps + after) if code == "P204"] == found
