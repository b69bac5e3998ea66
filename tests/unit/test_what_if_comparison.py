"""In the comparison of two outcomes, what is marked is visibly different."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex.runtime.what_if import ExecutionOutcome, WhatIfDocument, comparison_of

BLANKS_AND_SUCH = st.text(alphabet="ab \n\t\x1b\u200b\u202eé", max_size=8)
TEXTS = st.one_of(BLANKS_AND_SUCH, st.just("x" * 300), BLANKS_AND_SUCH.map(("x" * 300).__add__))
VALUES = st.one_of(st.none(), st.integers(), TEXTS, st.lists(TEXTS, max_size=2))
DOLLARS = st.sampled_from([0.0, 0.00001, 0.000012, 0.01, 1.0])


def outcome(**fields: Any) -> ExecutionOutcome:
    return ExecutionOutcome(**{"execution": "x", "status": "completed", **fields})


def shown(then: ExecutionOutcome, now: ExecutionOutcome) -> dict[str, tuple[bool, str, str]]:
    """Whether each row is marked, and its texts."""
    lines = [line.text for line in comparison_of(WhatIfDocument(recorded=then, what_if=now))]
    _, head, *rows = lines[:-1]
    left, right = head.index("recorded"), head.index("what if")
    found: dict[str, tuple[bool, str, str]] = {}
    name = ""
    for row in rows:
        name = row[2 : left - 2].strip() or name
        marked, before, after = found.get(name, (row.startswith("*"), "", ""))
        found[name] = marked, before + row[left : right - 2].rstrip(), after + row[right:]
    return found


def test_what_was_sent_and_done_anew_is_no_difference() -> None:
    then = outcome(prompts=2, sent=2, calls=5, done=5)
    now = outcome(prompts=2, sent=1, calls=5, done=0)

    rows = shown(then, now)

    assert rows["prompts"] == (False, "2", "2, 1 sent")
    assert rows["calls"] == (False, "5", "5, 0 done")
    assert not any(marked for marked, _, _ in rows.values())


def test_more_prompts_and_calls_are_marked() -> None:
    rows = shown(outcome(prompts=2, calls=5), outcome(prompts=3, calls=4))

    assert (rows["prompts"][0], rows["calls"][0]) == (True, True)


def test_long_values_are_shown_from_where_they_part() -> None:
    rows = shown(outcome(outputs={"a": f"{'x' * 300}left"}), outcome(outputs={"a": "x" * 300}))

    marked, left, right = rows["output a"]
    assert marked
    assert left.startswith("... x")
    assert (left.endswith("xleft"), right.endswith("x")) == (True, True)


@pytest.mark.parametrize(
    ("then", "now"),
    [("a b", "a  b"), ("a", "a "), ("1", 1), ("a\nb", "a\\nb"), (None, "null"), ("a", "a\u200b")],
)
def test_values_that_look_the_same_are_written_out(then: Any, now: Any) -> None:
    marked, left, right = shown(outcome(outputs={"a": then}), outcome(outputs={"a": now}))[
        "output a"
    ]

    assert marked
    assert left != right


def test_an_output_that_one_has_alone_is_marked() -> None:
    assert shown(outcome(outputs={"a": ""}), outcome())["output a"] == (True, "", "none")


def test_amounts_have_as_many_digits_as_tell_them_apart() -> None:
    rows = shown(outcome(cost=0.00001, sent_cost=0.5), outcome(cost=0.00002, sent_cost=0.5))

    assert rows["cost"] == (True, "$0.000010", "$0.000020")
    assert rows["spent"] == (False, "$0.5000", "$0.5000")


@given(VALUES, VALUES, DOLLARS, DOLLARS)
def test_what_is_marked_differs_and_looks_different(
    then: Any, now: Any, cost: float, other: float
) -> None:
    rows = shown(outcome(outputs={"a": then}, cost=cost), outcome(outputs={"a": now}, cost=other))

    assert rows["output a"][0] == (then != now)
    assert rows["cost"][0] == (cost != other)
    for marked, left, right in rows.values():
        if marked:
            assert left != right
