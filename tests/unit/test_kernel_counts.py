"""Counts are declined."""

import re
from pathlib import Path

import pytest

from cortex.runtime.kernel import many

ROOT = Path(__file__).parents[2]
# A number in a text and, straight after it, several of something; bounds are constants.
UNDECLINED = re.compile(
    r"\{[^{}]*[a-z][^{}]*(?<!\+,)\} "
    r"(?:tokens|bytes|events|files|lines|turns|times|passages|prompts|steps|models|tools|paths)\b(?!/)"
)


@pytest.mark.parametrize(
    ("count", "said"),
    [(0, "0 failures"), (1, "1 failure"), (2, "2 failures"), (2_000, "2,000 failures")],
)
def test_one_is_one_and_all_else_is_many(count: int, said: str) -> None:
    assert many(count, "failure") == said


def test_a_word_may_have_a_form_of_its_own() -> None:
    assert [many(n, "entry", "entries") for n in (1, 2)] == ["1 entry", "2 entries"]


@pytest.mark.parametrize("room", ["actors/gates", "actors/tools", "plugins/cli", "runtime/cli"])
def test_what_people_read_counts_by_that_function(room: str) -> None:
    found = [
        f"{path.name}: {match[0]}"
        for path in sorted((ROOT / room).rglob("*.py"))
        for match in UNDECLINED.finditer(path.read_text())
    ]

    assert found == [], "say `many(count, 'token')`: one of them is no plural"
