"""Counts are declined."""

import pytest

from cortex.runtime.kernel import many


@pytest.mark.parametrize(
    ("count", "said"),
    [(0, "0 failures"), (1, "1 failure"), (2, "2 failures"), (2_000, "2,000 failures")],
)
def test_one_is_one_and_all_else_is_many(count: int, said: str) -> None:
    assert many(count, "failure") == said


def test_a_word_may_have_a_form_of_its_own() -> None:
    assert [many(n, "entry", "entries") for n in (1, 2)] == ["1 entry", "2 entries"]
