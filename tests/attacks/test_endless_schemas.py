"""Whoever announces a schema, or answers to one, cannot hold up whoever compares the two."""

import time
from typing import Any

import pytest

from cortex.runtime.processes import wrong_answer

ENDLESS = "^(a|aa)+$"
NEARLY = "a" * 60 + "b"


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"properties": {"text": {"pattern": ENDLESS}}}, {"text": NEARLY}),
        ({"patternProperties": {ENDLESS: {"type": "string"}}}, {NEARLY: 1}),
        ({"additionalProperties": False, "patternProperties": {ENDLESS: True}}, {NEARLY: 1}),
        ({"properties": {"a": {"items": {"pattern": ENDLESS}}}}, {"a": [NEARLY] * 100}),
    ],
    ids=["pattern", "names", "others", "many"],
)
def test_a_pattern_that_does_not_come_to_an_end_is_ended(schema: Any, value: Any) -> None:
    problem = wrong_answer(value, {"type": "object", **schema})

    assert problem is not None
    assert "its schema cannot be applied: its pattern '^(a|aa)+$' takes more than" in problem


def test_patterns_that_jsonschema_searches_by_itself_are_not_taken() -> None:
    schema = {
        "type": "object",
        "unevaluatedProperties": False,
        "allOf": [{"patternProperties": {ENDLESS: {}}}],
    }

    problem = wrong_answer({NEARLY: 1}, schema)

    assert problem is not None
    assert "`unevaluatedProperties` together with `patternProperties` is not supported" in problem


def test_references_that_multiply_are_ended() -> None:
    defs: dict[str, Any] = {
        f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}, {"$ref": f"#/$defs/a{n + 1}"}]}
        for n in range(60)
    }
    schema = {"type": "object", "allOf": [{"$ref": "#/$defs/a0"}], "$defs": {**defs, "a60": {}}}

    problem = wrong_answer({}, schema)

    assert problem == "its schema cannot be applied: it takes more than 500,000 steps"


def test_a_value_as_large_as_an_event_is_compared_to_its_end() -> None:
    item = {"type": "integer", "minimum": 0, "maximum": 9}
    schema = {"type": "object", "properties": {"a": {"items": item}}}

    assert wrong_answer({"a": [1] * 120_000}, schema) is None


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"id": "ab-12", "x_note": "n"}, None),
        ({"id": "12-ab"}, "$.id '12-ab' does not match '^[a-z]+-[0-9]+$'"),
        ({"x_note": 1}, "$.x_note 1 is not of type 'string'"),
        ({"other": 1}, "$ Additional properties are not allowed ('other' was unexpected)"),
    ],
)
def test_patterns_hold_as_ever(value: Any, problem: str | None) -> None:
    schema = {
        "type": "object",
        "properties": {"id": {"pattern": "^[a-z]+-[0-9]+$"}},
        "patternProperties": {"^x_": {"type": "string"}},
        "additionalProperties": False,
    }

    assert wrong_answer(value, schema) == problem


def test_a_schema_that_leads_back_to_itself_is_ended_before_the_stack_is() -> None:
    """At the end of Python's own stack jsonschema panics, which nothing catches."""
    back = {"type": "object", "$ref": "#"}

    problem = wrong_answer({"a": 1}, back)

    assert problem == "its schema cannot be applied: it goes more than 220 steps into each other"


@pytest.mark.parametrize(
    "schema", [{"$ref": "#/type"}, {"$ref": "#/allOf/x", "allOf": [{}]}, {"properties": 3}]
)
def test_what_is_no_schema_is_a_problem_and_no_defect(schema: Any) -> None:
    problem = wrong_answer({"a": 1}, {"type": "object", **schema})

    assert problem is not None
    assert "its schema cannot be applied: it is not a schema: " in problem


def test_a_tree_of_some_depth_is_compared() -> None:
    tree = {"type": "object", "properties": {"left": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}}
    value: Any = None
    for _ in range(60):
        value = {"left": value}

    assert wrong_answer(value, tree) is None


def test_many_maps_are_compared_with_each_other_in_a_moment() -> None:
    schema = {"type": "object", "properties": {"a": {"uniqueItems": True}}}
    maps = [{"id": n, "of": {"n": [n]}} for n in range(30_000)]

    began_s = time.monotonic()
    assert wrong_answer({"a": maps}, schema) is None
    problem = wrong_answer({"a": [*maps, {"of": {"n": [7.0]}, "id": 7}]}, schema)

    assert time.monotonic() - began_s < 20  # each with each takes minutes
    assert problem is not None
    assert problem.endswith("has non-unique elements")


@pytest.mark.parametrize(
    ("items", "unique"),
    [
        ([1, 1.0], False),
        ([{"a": [1]}, {"a": [1.0]}], False),
        ([None, None], False),
        ([1, True], True),
        ([0, False, None, "", [], {}], True),
        ([[0], [False]], True),
        (["1", 1], True),
    ],
)
def test_items_are_unique_as_json_has_it(items: Any, unique: bool) -> None:
    schema = {"type": "object", "properties": {"a": {"uniqueItems": True}}}

    assert (wrong_answer({"a": items}, schema) is None) is unique
