"""JSON in and out: every name once, every number as it was written, every text in UTF-8."""

import json
import re
from collections.abc import Iterable
from typing import Any

from ..errors import CtxFormatError
from ..notation.spelling import WrittenFloat, WrittenInt, as_written, for_json, is_for_json

_SURROGATE = re.compile("[\ud800-\udfff]")


def load(text: str) -> Any:
    """The data of JSON *text*; numbers remember how they were written.

    Raises:
        ValueError: it is not JSON, or an object has a name twice.
        RecursionError: it nests too deep.
    """
    return json.loads(text, parse_float=as_written, parse_int=as_written, object_pairs_hook=_object)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the name {json.dumps(twice)[:60]} occurs twice in one object")
    return found


def compact(data: Any) -> str:
    """*data* as compact JSON.

    Raises:
        TypeError, ValueError: it holds what JSON has not: dates, names that are not text, numbers
            that only YAML or TOML writes as they were written.
    """
    is_written = False
    waiting = [data]
    while waiting:
        each = waiting.pop()
        children: Iterable[Any] = ()
        if isinstance(each, dict):
            if not all(isinstance(name, str) for name in each):
                raise TypeError("a name that is not text")
            children = each.values()
        elif isinstance(each, list):
            children = each
        elif isinstance(each, WrittenInt | WrittenFloat):
            is_written = True
            if not is_for_json(each):
                raise ValueError(f"JSON has no {each.written}")
        waiting += [child for child in children if type(child) is not str]
    if is_written:
        return _in_utf8("".join(_pieces(data, ",", ":")))
    return _in_utf8(json.dumps(data, separators=(",", ":"), ensure_ascii=False))


def line(data: Any) -> str:
    """*data* as JSON on one line, with blanks behind its separators."""
    return _in_utf8("".join(_pieces(data, ", ", ": ")))


def lines(data: Any) -> str:
    """*data* as indented JSON.

    Raises:
        CtxFormatError: it has names for which JSON has no place.
    """
    return _in_utf8("".join(_pieces(data, ",", ": ", "\n")))


def _pieces(data: Any, comma: str, colon: str, pad: str = "") -> Iterable[str]:
    """The text of *data*, from left to right; *pad* begins each line, if there are lines."""
    waiting: list[tuple[Any, str] | str] = [(data, pad)]  # from the last to the first
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            yield each
            continue
        value, pad = each
        if not isinstance(value, dict | list) or not value:
            yield _leaf(value)
            continue
        inner = pad and pad + " "
        if isinstance(value, dict):
            lead, heads, end = "{", [_name(name) + colon for name in value], "}"
        else:
            lead, heads, end = "[", [""] * len(value), "]"
        parts: list[tuple[Any, str] | str] = []
        children = value.values() if isinstance(value, dict) else value
        for head, child in zip(heads, children, strict=True):
            parts += [lead + inner + head, (child, inner)]
            lead = comma
        waiting += reversed([*parts, pad + end])


def _leaf(value: Any) -> str:
    if value is None or isinstance(value, bool | dict | list):
        return json.dumps(value)
    if isinstance(value, int | float):
        return for_json(value)
    return json.dumps(str(value), ensure_ascii=False)  # dates and times as text


def _name(name: Any) -> str:
    if isinstance(name, str):
        return json.dumps(name, ensure_ascii=False)
    if name is None or isinstance(name, bool | int | float):
        return f'"{_leaf(name)}"'
    raise CtxFormatError(f"it cannot be written as JSON: {type(name).__name__} as a name")


def _in_utf8(text: str) -> str:
    # A lone surrogate has no UTF-8: it can be written only as an escape.
    return text if text.isascii() else _SURROGATE.sub(lambda m: f"\\u{ord(m[0]):04x}", text)
