"""Parameters that a step leaves out are bound by name and type, or it is said why not."""

from typing import Annotated

import msgspec
import pytest
from msgspec import UNSET, Struct

from cortex.runtime.processes import (
    ALSO_FROM,
    Compilation,
    Diagnostic,
    LinkedProcess,
    TopicTable,
    compile_sources,
    inspect,
)
from cortex.runtime.registry import ActionSpec, GateSpec, Symbols


class Place(Struct):
    path: str


class Log(Struct):
    log: str


class Said(Struct):
    excerpt: str
    count: int
    places: list[Place]
    run: str
    names: list[str]
    maybe: str | None = None


class Text(Struct):
    text: Annotated[str, msgspec.Meta(extra_json_schema={ALSO_FROM: ["excerpt"]})]


class Judge(Struct):
    excerpt: str = ""
    places: list[Place] = []
    names: list[int] = []
    maybe: str = ""


class Count(Struct):
    count: str


class Weight(Struct):
    log: int


class Command(Struct):
    run: str | list[str]


class Told(Struct):
    excerpt: str
    count: int = 0


def action(name: str, takes: type, gives: type | None = None, **more: object) -> ActionSpec:
    result = msgspec.json.schema(gives) if gives else {}
    spec = {"name": name, "component": "C", "parameters": msgspec.json.schema(takes)}
    return msgspec.convert({**spec, "result": result, **more}, ActionSpec)


REGISTRY = Symbols(
    [
        action("read", Log, Said, effect="read"),
        action("locate", Text, effect="read"),
        action("judge", Judge, Said, effect="none", asks_model=True),
        action("count", Count, effect="none"),
        action("shell", Command),
        action("tell", Told),
        action("keep", Log),
        action("weigh", Weight, effect="read"),
        action("open", Place, effect="read"),
    ],
    [GateSpec(name="ready", component="Judge")],
)
EVENT = "trigger: {type: event, match: {source: ci}}\n"
READ = "  - {id: read, action: read}\n"


def compiled(steps: str, head: str = "", more: str = "") -> Compilation:
    text = f"process: p\nversion: 1\n{head}steps:\n{steps}{more}"
    return compile_sources({"p.yaml": text}, REGISTRY, TopicTable({}))


def linked(steps: str, head: str = "", more: str = "") -> LinkedProcess:
    compilation = compiled(steps, head, more)
    assert compilation.diagnostics == ()
    return compilation.processes["p"]


def found(steps: str, head: str = "") -> list[Diagnostic]:
    return list(compiled(steps, head).diagnostics)


def bound(process: LinkedProcess, step_id: str) -> list[str]:
    (step,) = [step for step in inspect(process).steps if step.id == step_id]
    return list(step.bound)


def test_a_parameter_comes_from_the_input_of_its_name_and_type() -> None:
    process = linked(READ, "inputs: {log: path}\n")

    assert bound(process, "read") == ["log: ${inputs.log}"]
    assert process.from_trigger is UNSET
    assert "bound log: ${inputs.log}" in str(inspect(process))


def test_a_parameter_comes_from_the_earlier_result_that_has_its_name_or_another_that_it_takes() -> (
    None
):
    process = linked(f"{READ}  - {{id: a, action: locate}}\n", "inputs: {log: path}\n")

    assert bound(process, "a") == ["text: ${steps.read.excerpt}"]


def test_what_nothing_gives_is_an_input_of_a_process_that_an_event_triggers() -> None:
    process = linked(READ, EVENT)

    (field,) = process.inputs
    assert (field.name, field.type, field.required) == ("log", "string", True)
    assert process.from_trigger == ("log",)
    assert bound(process, "read") == ["log: ${inputs.log}"]


def test_a_file_trigger_says_which_file() -> None:
    process = linked("  - {id: a, action: open}\n", "trigger: {type: file, paths: '*.log'}\n")

    assert process.from_trigger == ("path",)


def test_two_steps_that_need_the_same_of_a_trigger_have_one_input() -> None:
    process = linked(f"{READ}  - {{id: again, action: read}}\n".replace("again", "x"), EVENT)

    assert [field.name for field in process.inputs] == ["log"]


@pytest.mark.parametrize(
    ("steps", "head"),
    [
        (READ, ""),  # nobody triggers it
        (READ, "inputs: {log: integer}\n"),  # of another type
        (READ, f"{EVENT}inputs: {{log: integer}}\n"),  # and a trigger cannot say two of that name
        (f"{READ}  - {{id: a, action: weigh}}\n", EVENT),  # nor for two steps
        (READ, "trigger: {type: file, paths: '*.log'}\n"),  # which says no `log`
        (READ, f"{EVENT}implements: i\n"),  # whoever runs it gives what the interface has
        ("  - {id: a, action: keep}\n", EVENT),  # acts: a post must not choose for it
        ("  - {id: a, action: shell}\n", EVENT),  # a command, all the more
    ],
)
def test_what_cannot_be_bound_is_missing_as_it_was(steps: str, head: str) -> None:
    text = f"process: p\nversion: 1\n{head}steps:\n{steps}---\ninterface: i\nversion: 1\n"

    diagnostics = compile_sources({"p": text}, REGISTRY, TopicTable({})).diagnostics

    assert [each.code for each in diagnostics] == ["P406"]


@pytest.mark.parametrize(
    ("steps", "head", "remedy"),
    [
        (READ, "", "add `log` under `with:`, or declare it under `inputs:`"),
        (
            READ,
            f"{EVENT}inputs: {{log: integer}}\n",
            "add `log` under `with:`: the input `log` may be missing, or is of another type",
        ),
        ("  - {id: a, action: shell}\n", "inputs: {run: string}\n", "add `run` under `with:`"),
    ],
)
def test_what_is_missing_is_never_said_to_be_mended_by_an_input_that_would_not_be_taken(
    steps: str, head: str, remedy: str
) -> None:
    (finding,) = found(steps, head)

    assert (finding.code, finding.remedy) == ("P406", remedy)


def test_a_result_is_never_taken_for_the_words_of_a_command() -> None:
    assert [each.code for each in found(f"{READ}  - {{id: a, action: shell}}\n", EVENT)] == ["P406"]


def test_two_that_fit_are_an_error_that_names_both_and_what_to_write() -> None:
    steps = f"{READ}  - {{id: two, action: read}}\n  - {{id: a, action: locate}}\n"

    (finding,) = found(steps, EVENT)

    assert finding.code == "P418"
    assert "`${steps.read.excerpt}` or `${steps.two.excerpt}`" in finding.message
    assert "with:" in finding.remedy


def test_what_is_optional_and_ambiguous_stays_left_out_with_a_warning() -> None:
    steps = f"{READ}  - {{id: two, action: read}}\n  - {{id: a, action: judge}}\n"

    compilation = compiled(steps, EVENT)

    assert {each.code for each in compilation.diagnostics} == {"P419"}
    assert compilation.errors == ()
    assert bound(compilation.processes["p"], "a") == []


def test_a_step_that_only_thinks_is_given_all_that_fits_and_its_model_sees_it() -> None:
    process = linked(f"{READ}  - {{id: a, action: judge}}\n", EVENT)

    # `names` is a list of other things, and `maybe` may be missing.
    assert bound(process, "a") == ["excerpt: ${steps.read.excerpt}", "places: ${steps.read.places}"]
    assert [(each.step, each.field) for each in process.step("a").carry] == [("read", None)]
    said = linked(f"{READ}  - {{id: a, action: judge, carry: [read.count]}}\n", EVENT)
    assert [(each.step, each.field) for each in said.step("a").carry] == [("read", "count")]


def test_beside_a_with_only_what_is_needed_is_bound() -> None:
    process = linked(f"{READ}  - {{id: a, action: judge, with: {{maybe: x}}}}\n", EVENT)

    assert bound(process, "a") == []


def test_what_acts_is_given_what_it_needs_of_earlier_results_and_no_more() -> None:
    process = linked(f"{READ}  - {{id: a, action: tell}}\n", EVENT)

    assert bound(process, "a") == ["excerpt: ${steps.read.excerpt}"]


def test_a_step_that_may_give_nothing_is_not_relied_on() -> None:
    steps = "  - {id: read, action: read, with: {log: a}, on_failure: continue}\n"

    assert [e.code for e in found(f"{steps}  - {{id: a, action: locate}}\n")] == ["P406"]


def test_a_type_that_does_not_fit_is_no_candidate() -> None:
    diagnostics = found(f"{READ}  - {{id: a, action: count}}\n", "inputs: {log: path}\n")

    assert [each.code for each in diagnostics] == ["P406"]


def test_a_child_keeps_the_inputs_that_its_parents_trigger_gives() -> None:
    child = "---\nprocess: child\nversion: 1\nextends: p\n"

    process = compiled(READ, EVENT, child).processes["child"]

    assert [field.name for field in process.inputs] == ["log"]
    assert process.from_trigger == ("log",)


def test_a_step_that_leaves_nothing_out_is_linked_as_before() -> None:
    process = linked("  - {id: read, action: read, with: {log: a}}\n", EVENT)

    assert b"bound" not in msgspec.json.encode(process)
    assert b"from_trigger" not in msgspec.json.encode(process)
