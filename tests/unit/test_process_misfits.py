"""Parameters that do not fit are told as the compiler tells them: the key, what it is, and what
was expected."""

from typing import Annotated, Any, Literal

import msgspec
import pytest

from cortex.runtime.processes import misfit


class Inner(msgspec.Struct, forbid_unknown_fields=True):
    words: list[str] = []
    name: str = ""


class Takes(msgspec.Struct, forbid_unknown_fields=True):
    run: str | list[str]
    cases: list[Inner] = []
    timeout_s: Annotated[float, msgspec.Meta(gt=0)] | None = None
    env: dict[str, str] = {}
    flag: bool = False
    mode: Literal["a", "b"] = "a"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"run": ["a", 1]}, "item 2 of `run` is the number 1, expected a string"),
        ({"run": 5}, "`run` is the number 5, expected a string or a list"),
        ({"run": True}, "`run` is the boolean true, expected a string or a list"),
        ({"run": {"a": 1}}, "`run` is a map, expected a string or a list"),
        (
            {"run": "x", "cases": [{}, {"words": ["a", ["b"]]}]},
            "item 2 of `words` of item 2 of `cases` is a list, expected a string",
        ),
        ({"run": "x", "timeout_s": "soon"}, "`timeout_s` is the text 'soon', expected"),
        ({"run": "x", "timeout_s": 0}, "`timeout_s` is the number 0, expected a number > 0"),
        ({"run": "x", "flag": "yes" * 50}, "expected a boolean"),
        ({"run": "x", "env": {"A": 1}}, "a value of `env` is of another type, expected a string"),
        ({"run": "x", "mode": "odd"}, "`mode`: Invalid enum value 'odd'"),
        ({}, "needs `run`"),
        ({"run": "x", "cases": [{"nam": "y"}]}, "item 1 of `cases` does not take `nam`"),
    ],
)
def test_a_parameter_that_does_not_fit_is_named_with_what_was_expected(
    given: dict[str, Any], told: str
) -> None:
    with pytest.raises(msgspec.ValidationError) as error:
        msgspec.convert(given, Takes)

    problem = misfit(given, str(error.value))

    assert told in problem
    assert "$" not in problem
