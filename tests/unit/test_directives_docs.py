"""The guide says what the directives do."""

import contextlib
import io
import re
from pathlib import Path

import pytest

from cortex.runtime.directives import (
    INITIAL,
    STRICT,
    Error,
    SemanticFailure,
    SyntaxFailure,
)

from ..directives_peer import LISTED

PAGE = Path(__file__).parents[2] / "docs" / "directives.md"
pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="docs/ is not beside this test")


def page() -> str:
    return PAGE.read_text(encoding="utf-8")


def test_the_example_prints_what_its_comments_say() -> None:
    code = re.findall(r"```python\n(.*?)```", page(), re.DOTALL)[0]
    printed = io.StringIO()

    with contextlib.redirect_stdout(printed):
        exec(code, {})

    wanted = re.findall(r"print\(.*\)  # (.*)", code)
    for line, comment in zip(printed.getvalue().splitlines(), wanted, strict=True):
        assert comment.startswith(line)


def test_every_failure_and_every_listed_difference_is_explained() -> None:
    text = page()

    for failure in (*SemanticFailure, *SyntaxFailure):
        assert f"`{failure}`" in text
    for name in LISTED:
        assert f"\n| {name} | " in text


def test_the_examples_of_quotes_do_what_stands_beside_them() -> None:
    text = page()
    block = text[text.index("set premise prefer answers") :].partition("```")[0]
    outcomes = re.findall(r"^(.*?) {4,}(.*)$", block, re.MULTILINE)

    assert len(outcomes) == 4
    for given, outcome in outcomes:
        state, decision = STRICT.step(INITIAL, given)
        if outcome.startswith("error: "):
            assert isinstance(decision, Error)
            assert decision.failure == outcome.removeprefix("error: ")
        elif outcome.startswith("the premise: "):
            assert state.premise == outcome.removeprefix("the premise: ")
        else:
            assert not isinstance(decision, Error) or decision.directive is not None
