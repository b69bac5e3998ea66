"""Conditions and templates: what parses, what makes sense, and what it comes to."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.runtime.processes import (
    EvaluationScope,
    ExpressionSyntaxError,
    LinkedProcess,
    MissingValueError,
    TopicTable,
    compile_sources,
    evaluate,
    fill,
    parse_condition,
    parse_template,
)
from cortex.runtime.registry import ActionSpec, Symbols

RESULT = {
    "type": "object",
    "properties": {
        "count": {"type": "integer"},
        "name": {"type": "string"},
        "kind": {"enum": ["unit", "lint"]},
        "files": {"type": "array", "items": {"type": "string"}},
        "extra": {"type": "object"},
        "ok": {"type": "boolean"},
    },
    "required": ["count", "name", "kind", "files", "extra", "ok"],
}
REGISTRY = Symbols([ActionSpec(name="act", component="Worker", result=RESULT)])
HEAD = (
    "process: p\nversion: 1\ninputs:\n  n: integer\n  s: string\n  mode: {type: string, "
    "enum: [fast, slow]}\n  maybe: {type: string, required: false}\nsteps:\n"
    "  - {id: a, action: act}\n  - id: b\n    action: act\n    when: "
)

SCOPE = EvaluationScope(
    inputs={"n": 3, "s": "text", "flag": True, "items": ["x", 1], "map": {"k": {"v": 1}}},
    steps={"a": {"count": 2, "name": "unit"}},
    statuses={"a": "completed", "b": "skipped"},
    execution={"attempt": 1},
)


def codes(condition: str) -> list[str]:
    quoted = condition.replace("'", "''")
    found = compile_sources({"p": f"{HEAD}'{quoted}'\n"}, REGISTRY, TopicTable({})).diagnostics
    return [each.code for each in found]


@pytest.mark.parametrize(
    "condition",
    [
        "inputs.n > 3",
        "inputs.n >= 1.5 and inputs.n != 7",
        "steps.a.ok",
        "not steps.a.ok or inputs.s == 'x'",
        "(inputs.n == 1 or inputs.n == 2) and not (steps.a.count < 3)",
        "steps.a.status == 'completed'",
        "steps.a.status in ['failed', 'skipped']",
        "'x' in steps.a.files",
        "steps.a.files contains inputs.s",
        "inputs.s contains 'x'",
        "inputs.s starts_with 'x'",
        "inputs.mode not in ['fast']",
        "steps.a.kind == 'unit'",
        "steps.a.extra.deep.thing == 1",
        "inputs.maybe != null",
        "execution.attempt < 3",
        "true",
    ],
)
def test_a_sensible_condition_compiles(condition: str) -> None:
    assert codes(condition) == []


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        ("inputs.n", "P203"),
        ("inputs.n == 'three'", "P203"),
        ("inputs.s > 3", "P203"),
        ("steps.a.ok and inputs.s", "P203"),
        ("not inputs.n", "P203"),
        ("inputs.n starts_with 'x'", "P203"),
        ("inputs.n contains 1", "P203"),
        ("inputs.mode == 'fsat'", "P203"),
        ("steps.a.status == 'done'", "P203"),
        ("steps.a.kind in ['unit', 'style']", "P203"),
        ("inputs.n in ['a']", "P203"),
        ("steps.b.ok", "P205"),
        ("steps.c.ok", "P204"),
        ("steps.a.nome == ''", "P204"),
        ("environment.home == ''", "P204"),
        ("execution.user == ''", "P204"),
        ("inputs.n = 3", "P202"),
        ("inputs.n == 3 && true", "P202"),
        ("inputs.n == 3 == true", "P202"),
        ("inputs.n ==", "P202"),
        ("(inputs.n == 3", "P202"),
        ("inputs.s == text", "P202"),
        ("__import__('os')", "P202"),
        ("inputs.n + 1 == 2", "P202"),
        ("[1, 2", "P202"),
        ("'open", "P202"),
        ("", "P202"),
    ],
)
def test_a_condition_that_makes_no_sense_is_refused(condition: str, code: str) -> None:
    assert codes(condition) == [code]


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        ("inputs.n == 3", True),
        ("inputs.n == 3.0", True),
        ("inputs.flag == 1", False),
        ("inputs.n > 2 and inputs.s starts_with 'te'", True),
        ("inputs.missing == null", True),
        ("inputs.missing > 3", False),
        ("not inputs.missing", True),
        ("inputs.missing != 'x'", True),
        ("'x' in inputs.items", True),
        ("true in inputs.items", False),
        ("'k' in inputs.map", True),
        ("inputs.map.k.v == 1", True),
        ("inputs.map.k.v.deeper == null", True),
        ("inputs.s contains 'ex'", True),
        ("inputs.missing contains 'ex'", False),
        ("'a' in inputs.missing", False),
        ("'a' not in inputs.missing", False),
        ("inputs.s > 'a'", True),
        ("inputs.s > 3", False),
        ("steps.a.count == 2", True),
        ("steps.b.count == null", True),
        ("steps.b.status == 'skipped'", True),
        ("steps.z.status == null", True),
        ("execution.attempt <= 1", True),
        ("false or not false and true", True),
    ],
)
def test_evaluation_follows_the_stated_rules(condition: str, value: bool) -> None:
    expression, _ = parse_condition(condition)

    assert evaluate(expression, SCOPE) is value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("plain", "plain"),
        ("${inputs.n}", 3),
        ("${ inputs.map }", {"k": {"v": 1}}),
        ("${inputs.missing}", None),
        ("n=${inputs.n}, s=${inputs.s}", "n=3, s=text"),
        ("${inputs.n}${inputs.n}", "33"),
        ("${inputs.map} and ${inputs.flag}", '{"k":{"v":1}} and true'),
        ("costs $5 and $${inputs.n}", "costs $5 and ${inputs.n}"),
    ],
)
def test_a_template_is_filled(text: str, value: Any) -> None:
    template, _ = parse_template(text)

    assert fill(template, SCOPE) == value


def test_a_text_with_a_hole_in_it_is_refused() -> None:
    template, _ = parse_template("see ${steps.b.name}")

    with pytest.raises(MissingValueError, match=r"steps\.b\.name has no value"):
        fill(template, SCOPE)


def test_templates_go_into_lists_and_maps() -> None:
    text = HEAD.replace(
        "    when: ",
        "    with:\n      list: [1, '${inputs.n}', {k: 'x${inputs.s}'}]\n      plain: [1, two]\n",
    )

    process: LinkedProcess = compile_sources({"p": text}, REGISTRY, TopicTable({})).processes["p"]

    assert fill(process.step("b").parameters, SCOPE) == {
        "list": [1, 3, {"k": "xtext"}],
        "plain": [1, "two"],
    }


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)
OPERATORS = st.sampled_from(
    ["==", "!=", "<", "<=", ">", ">=", "in", "not in", "contains", "starts_with"]
)


@given(VALUES, OPERATORS, VALUES)
@settings(max_examples=300, deadline=None)
def test_every_comparison_of_any_two_values_is_true_or_false(
    left: Any, operator: str, right: Any
) -> None:
    expression, _ = parse_condition(f"inputs.left {operator} inputs.right")

    assert isinstance(
        evaluate(expression, EvaluationScope(inputs={"left": left, "right": right})), bool
    )


@given(VALUES, VALUES)
@settings(max_examples=200, deadline=None)
def test_equal_and_unequal_are_never_both(left: Any, right: Any) -> None:
    scope = EvaluationScope(inputs={"left": left, "right": right})
    same, _ = parse_condition("inputs.left == inputs.right")
    other, _ = parse_condition("inputs.left != inputs.right")

    assert evaluate(same, scope) is not evaluate(other, scope)


WORDS = ["inputs.a", "not", "and", "or", "(", ")", "==", "in", "[", "]", ",", "'x'", "3"]


@given(st.text(max_size=60) | st.lists(st.sampled_from(WORDS)).map(" ".join))
@settings(max_examples=300, deadline=None)
def test_any_text_is_an_expression_or_a_syntax_error(text: str) -> None:
    with suppress(ExpressionSyntaxError):
        expression, _ = parse_condition(text)
        evaluate(expression, SCOPE)
