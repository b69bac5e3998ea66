"""JSON in what a model wrote."""

import json
import re
from typing import Any

import msgspec

DEEPEST = 100  # values in one another; all that read an event later stand on stacks of their own

_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n[ \t]*```", re.DOTALL)


def parsed(text: str) -> Any | None:
    """The JSON value that *text* is, or that stands in its first fence, or its first object.

    None where there is none, or none that an event can hold. Whether it fits a schema is not asked.
    """
    fenced = _FENCED.search(text)
    for candidate in (text, fenced[1] if fenced else ""):
        value = plain(candidate)
        if value is not None:
            return value
    start = text.find("{")
    if start < 0:
        return None
    try:
        _, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return plain(text[start:end])


def plain(text: str) -> Any | None:
    """The value of a text that is JSON and nothing else; None where no event can hold it."""
    try:
        value = msgspec.json.decode(text)
        msgspec.msgpack.encode(value)  # its integers have 64 bits
    except (ValueError, OverflowError, RecursionError):
        return None
    may_be_deep = text.count("[") + text.count("{") > DEEPEST
    return None if may_be_deep and _is_deep(value) else value


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        inside = [each for each in level if isinstance(each, dict | list)]
        if not inside:
            return False
        level = [v for each in inside for v in (each.values() if isinstance(each, dict) else each)]
    return any(isinstance(each, dict | list) for each in level)
