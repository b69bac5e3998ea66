"""What a what-if changes is said in words, from what is recorded of it."""

from typing import Any

import pytest

from cortex.bus.events import Variation
from cortex.runtime.executions.view import changed_words


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, []),
        ({"models": {"": "two", "ask": "one"}}, ["model two for all steps", "model one for ask"]),
        (
            {"knowledge": {"rules": {"path": "/a/new.md", "digest": "d"}}},
            ["topic rules from new.md"],
        ),
        ({"policy": {"persona": ""}}, ["prompts with empty persona"]),
        ({"policy": {"persona": "Be\nbrief."}}, ["prompts with persona Be brief."]),
        ({"policy": {"strategy": "just-in-time"}}, ["prompts with strategy just-in-time"]),
        ({"policy": {"sections": {"step": 500}}}, ["section step with 500 tokens"]),
    ],
)
def test_each_change_has_its_words(fields: dict[str, Any], words: list[str]) -> None:
    assert [*changed_words(Variation(through=1, what_if=True, **fields))] == words


def test_a_long_text_is_cut() -> None:
    (words,) = changed_words(Variation(through=1, policy={"instructions": "x" * 200}))

    assert words.endswith("x…")
    assert len(words) < 120


def test_another_process_comes_first() -> None:
    words = changed_words(Variation(through=1, models={"": "two"}), "report 2 (0123456789ab)")

    assert words == ("process report 2 (0123456789ab)", "model two for all steps")
