"""Translates msgspec's errors into the words of the compiler."""

import re
from collections.abc import Mapping
from typing import Any, Final

from .nodes import shortened

_MISFIT = re.compile(r"Expected `(?P<type>[^`]*)`(?P<bound>[^,]*)(?:, got `(?P<got>[^`]*)`)?")
_FIELD = re.compile(r"Object (?P<what>missing required|contains unknown) field `(?P<name>.*)`")
_STEP = re.compile(r"\[(?P<any>\.\.\.)\]|\.(?P<name>[^.\[]+)|\[(?P<at>\d+)\]")
_ANY: Final = object()  # some value of a map: msgspec does not say which
_WORDS: Mapping[str, str] = {
    "str": "a string",
    "int": "an integer",
    "float": "a number",
    "bool": "a boolean",
    "array": "a list",
    "object": "a map",
    "null": "nothing",
}


def misfit(given: Mapping[str, Any], error: str) -> str:
    """The error of msgspec about *given*, in the words of the process compiler."""
    problem, _, path = error.partition(" - at ")
    value, place = _found(given, path.strip("`"))
    if field := _FIELD.fullmatch(problem):
        whose = f"{place} " if place else ""
        missing = field["what"] == "missing required"
        return f"{whose}{'needs' if missing else 'does not take'} `{field['name']}`"
    expected = _MISFIT.fullmatch(problem)
    if expected is None or not place:
        return f"{place}: {problem}" if place else problem
    types = [_WORDS.get(each, f"`{each}`") for each in expected["type"].split(" | ")]
    return f"{place} is {_shown(value)}, expected {' or '.join(types)}{expected['bound']}"


def _found(given: Any, path: str) -> tuple[Any, str]:
    """The value at *path*, as msgspec writes it, and how people call that place."""
    place = ""
    for step in _STEP.finditer(path):
        if step["at"] is not None and isinstance(given, list | tuple):
            at = int(step["at"])
            given, own = given[at], f"item {at + 1}"
        elif step["name"] is not None and isinstance(given, Mapping):
            given, own = given.get(step["name"]), f"`{step['name']}`"
        else:
            given, own = _ANY, "a value"
        place = f"{own} of {place}" if place else own
    return given, place


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return f"the boolean {str(value).lower()}"
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, Mapping):
        return "a map"
    if value is None:
        return "nothing"
    if value is _ANY:
        return "of another type"
    return f"the text {shortened(str(value))}"
