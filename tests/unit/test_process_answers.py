"""What a model has to answer: told by fields, by schema or by a Struct, and checked."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET

from cortex.bus.events import ComponentAnnounced
from cortex.runtime.processes import (
    BackTo,
    Compilation,
    GoTo,
    LinkedProcess,
    LinkedStep,
    TopicTable,
    compile_sources,
    diff,
    object_schema,
    schema_problem,
    typed_answer,
)
from cortex.runtime.registry import ActionSpec, Registry, Symbols, evolve


class Edit(msgspec.Struct):
    path: str
    line: int = 1


class Answer(msgspec.Struct):
    edits: list[Edit]


ANSWER: dict[str, Any] = msgspec.json.schema(Answer)
REGISTRY = Symbols(
    [
        ActionSpec(name="ask_model", component="Asker", asks_model=True, answers_output=True),
        ActionSpec(name="write_code", component="Writer", asks_model=True, answer=ANSWER),
        ActionSpec(name="say", component="Speaker"),
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["edits", "path", "type", "$ref", "properties", "required", "a"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=10,
)


def compiled(steps: str, registry: Symbols = REGISTRY) -> Compilation:
    text = f"process: p\nversion: 1\nsteps:\n{steps}"
    return compile_sources({"p.yaml": text}, registry, TopicTable({}))


def linked(steps: str) -> LinkedProcess:
    compilation = compiled(steps)
    assert compilation.diagnostics == ()
    return compilation.processes["p"]


def step(steps: str) -> LinkedStep:
    return linked(steps).steps[0]


def codes(steps: str) -> list[str]:
    return [each.code for each in compiled(steps).diagnostics]


def test_fields_of_a_step_are_what_a_model_answers() -> None:
    asked = step(
        "  - id: a\n    action: ask_model\n    output:\n"
        "      cause: {type: string, description: why}\n"
        "      sure: {type: boolean, required: false}\n"
    )

    assert asked.action is not None
    assert asked.action.answer == {
        "type": "object",
        "properties": {
            "cause": {"type": "string", "description": "why"},
            "sure": {"type": "boolean"},
        },
        "required": ["cause"],
    }


def test_an_action_that_announced_its_answer_keeps_it() -> None:
    asked = step("  - {id: a, action: write_code, output: {note: string}}\n")

    assert asked.action is not None
    assert asked.action.answer is not UNSET
    assert asked.action.answer["type"] == "object"
    assert "Edit" in asked.action.answer["$defs"]


def test_output_of_other_actions_is_no_answer() -> None:
    asked = step("  - {id: a, action: say, output: {note: string}}\n")

    assert asked.action is not None
    assert asked.action.answer is UNSET
    assert b"answer" not in msgspec.json.encode(asked)
    assert b"output_schema" not in msgspec.json.encode(asked)


def test_a_schema_is_an_output_and_later_steps_refer_into_it() -> None:
    process = linked(
        "  - id: a\n    action: ask_model\n    output:\n      schema:\n        type: object\n"
        "        properties: {cause: {type: string}}\n        required: [cause]\n"
        '  - {id: b, action: say, with: {text: "${steps.a.cause}"}}\n'
    )

    first = process.steps[0]
    assert first.action is not None
    assert first.output_schema == first.action.answer
    assert first.output == ()


def test_a_reference_to_what_the_schema_does_not_have_is_reported() -> None:
    schema = "{schema: {type: object, properties: {cause: {type: string}}}}"

    found = codes(
        f"  - {{id: a, action: ask_model, output: {schema}}}\n"
        '  - {id: b, action: say, with: {text: "${steps.a.clause}"}}\n'
    )

    assert found == ["P204"]


def test_a_field_may_be_called_schema() -> None:
    asked = step("  - {id: a, action: say, output: {schema: {type: string}}}\n")

    assert [field.name for field in asked.output] == ["schema"]


@pytest.mark.parametrize(
    "schema",
    [
        "{type: array}",
        "{type: nothing}",
        "{type: object, properties: 3}",
        "{$ref: 'https://example.org/schema.json'}",
        "{type: object, properties: {a: {$ref: 'file:///etc/passwd'}}}",
        "{}",
    ],
)
def test_what_is_no_schema_of_an_object_is_reported(schema: str) -> None:
    assert codes(f"  - {{id: a, action: ask_model, output: {{schema: {schema}}}}}\n") == ["P413"]


def test_a_struct_of_an_installed_package_is_an_output() -> None:
    asked = step('  - {id: a, action: ask_model, output: "cortex.runtime.processes:Diagnostic"}\n')

    assert asked.output_schema is not UNSET
    assert "code" in asked.output_schema["properties"]


@pytest.mark.parametrize(
    "name",
    ["no_such_package:X", "cortex.runtime.processes:Nope", "cortex.runtime.processes:Symbols",
     "antigravity:X"],
)  # fmt: skip
def test_a_struct_that_is_not_there_is_reported(name: str) -> None:
    assert codes(f'  - {{id: a, action: ask_model, output: "{name}"}}\n') == ["P414"]


def test_what_is_neither_a_name_nor_fields_is_reported() -> None:
    assert codes("  - {id: a, action: ask_model, output: just words}\n") == ["P105"]


def test_going_back_names_an_earlier_step() -> None:
    process = linked(
        "  - {id: a, action: say}\n  - {id: b, action: say, on_failure: {back_to: a, times: 3}}\n"
        "  - {id: c, action: say, on_failure: {back_to: a}}\n"
    )

    assert process.steps[1].on_failure == BackTo("a", 3)
    assert process.steps[2].on_failure == BackTo("a", 1)


@pytest.mark.parametrize(("target", "code"), [("b", "P214"), ("c", "P214"), ("nowhere", "P204")])
def test_going_back_to_no_earlier_step_is_reported(target: str, code: str) -> None:
    found = codes(
        "  - {id: a, action: say}\n"
        f"  - {{id: b, action: say, on_failure: {{back_to: {target}}}}}\n"
        "  - {id: c, action: say}\n"
    )

    assert found == [code]


@pytest.mark.parametrize("times", ["0", "101", "often", "1.5"])
def test_how_often_is_a_number(times: str) -> None:
    found = codes(
        "  - {id: a, action: say}\n"
        f"  - {{id: b, action: say, on_failure: {{back_to: a, times: {times}}}}}\n"
    )

    assert found in (["P106"], ["P103"])


def test_all_tools_of_a_pack_are_named_with_a_star() -> None:
    asked = step('  - {id: a, action: ask_model, tools: [read_file, "git.*", tracker.find]}\n')

    assert asked.tools == ("read_file", "git.*", "tracker.find")
    assert codes('  - {id: a, action: ask_model, tools: ["*"]}\n') == ["P105"]


def test_an_announcement_with_an_answer_reaches_the_registry() -> None:
    plain = ComponentAnnounced(component="S", kind="action", name="say")
    typed = ComponentAnnounced(
        component="W", kind="action", name="w", answer=ANSWER, traits={"answers_output": True}
    )

    actions = evolve(evolve(Registry(), plain), typed).symbols().actions

    assert (actions["w"].answer, actions["w"].answers_output) == (ANSWER, True)
    assert b"answer" not in msgspec.json.encode(actions["say"])


def test_a_difference_of_schemas_can_be_told() -> None:
    plain = linked("  - {id: a, action: ask_model}\n  - {id: b, action: say}\n")
    typed = linked(
        "  - {id: a, action: ask_model, output: {schema: {type: object}}}\n"
        "  - {id: b, action: say, on_failure: {back_to: a}}\n"
    )

    fields = [change.field for change in diff(plain, typed).changes]

    assert fields == ["action", "output_schema", "on_failure"]
    assert linked("  - {id: a, action: say}\n").steps[0].on_failure != GoTo("a")


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ({"data": {"edits": []}}, None),
        ({"text": '{"edits": [{"path": "a"}]}'}, None),
        ({"data": {}}, "$ 'edits' is a required property"),
        ({"data": {"edits": [{"path": 3}]}}, "$.edits[0].path 3 is not of type 'string'"),
        ({"data": []}, "$ [] is not of type 'object'"),
        ({"text": "well"}, "the answer is not JSON, expected an object"),
        ({}, "the answer is not JSON, expected an object"),
    ],
)
def test_what_is_wrong_with_an_answer_is_told_with_its_place(
    answer: dict[str, Any], problem: str | None
) -> None:
    assert typed_answer(answer, object_schema(ANSWER))[1] == problem


def test_an_answer_that_was_cut_off_is_told_so() -> None:
    _, problem = typed_answer({"text": '{"edits": ['}, ANSWER, "length")

    assert problem is not None
    assert problem.endswith("(the answer was cut off at its longest)")


def test_a_long_answer_makes_a_short_problem() -> None:
    _, problem = typed_answer({"data": {"edits": "x" * 100_000}}, ANSWER)

    assert problem is not None
    assert len(problem) < 500
    assert problem.endswith("is not of type 'array'")


@pytest.mark.parametrize("of", [Answer, Edit])
def test_the_object_stands_at_the_top(of: type) -> None:
    schema = object_schema(msgspec.json.schema(of))

    assert schema["type"] == "object"
    assert "$ref" not in schema
    assert schema_problem(schema) is None


class Tree(msgspec.Struct):
    left: "Tree | None" = None


def test_a_schema_that_refers_to_itself_is_kept_whole() -> None:
    schema = object_schema(msgspec.json.schema(Tree))

    assert typed_answer({"data": {"left": {"left": None}}}, schema)[1] is None
    assert typed_answer({"data": {"left": {"left": 3}}}, schema)[1] is not None


@settings(max_examples=300, deadline=None)
@given(JSON, JSON, JSON)
def test_whatever_is_answered_to_whatever_schema_there_is_an_end(
    schema: Any, data: Any, text: Any
) -> None:
    problem = schema_problem(schema)
    if problem is None:
        found, wrong = typed_answer({"data": data, "text": text}, object_schema(schema))
        assert wrong is None or "\n" not in wrong
        assert data is None or found == data
    assert typed_answer({"data": data}, ANSWER)[0] == data


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"$ref": "#"}, "it refers to '#', which leads back to itself"),
        ({"type": "object", "$ref": "#"}, "it refers to '#', which leads back to itself"),
        ({"type": "object", "not": {"$ref": "#"}}, "it refers to '#', which leads back to itself"),
        (
            {"type": "object", "allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"$ref": "#"}}},
            "it refers to '#/$defs/a', which leads back to itself",
        ),
        ({"type": "object", "$ref": "#/nowhere"}, "it refers to '#/nowhere', which does not exist"),
        ({"$ref": "#/$defs/none"}, "it refers to '#/$defs/none', which does not exist"),
        (
            {"type": "object", "properties": {"a": {"$dynamicRef": "#x"}}},
            "refers to '#x', which does not exist",
        ),
        ({"type": "object", "$ref": "#/allOf/x", "allOf": [{}]}, "it refers to '#/allOf/x', which"),
        ({"type": "object", "$ref": "#/type"}, "it refers to '#/type', which is not a schema"),
        (
            {"type": "object", "$ref": "https://x.org/a"},
            "to 'https://x.org/a': only references",
        ),
        ({"type": "object", "$id": "http://["}, "an `$id` in it is not a URL"),
    ],
)
def test_references_that_lead_nowhere_or_back_are_a_diagnostic(schema: Any, problem: str) -> None:
    (found,) = compiled(
        f"  - id: a\n    action: ask_model\n    output: {{schema: {json.dumps(schema)}}}\n"
    ).diagnostics

    assert (found.code, found.severity) == ("P413", "error")
    assert problem in found.message


def test_what_is_looked_up_within_the_object_at_the_top_is_kept() -> None:
    inner = {
        "type": "object",
        "properties": {"x": {"type": "string"}, "y": {"$ref": "#/$defs/A/properties/x"}},
    }
    schema = {"$ref": "#/$defs/A", "$defs": {"A": inner}}

    assert schema_problem(schema) is None
    assert typed_answer({"data": {"y": "text"}}, object_schema(schema))[1] is None
    assert typed_answer({"data": {"y": 3}}, object_schema(schema))[1] is not None
