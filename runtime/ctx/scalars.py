"""Single values as text and back: numbers, truth, null, times, and text bare or quoted."""

import datetime
import json
import re
from typing import Any

from .errors import CtxFormatError

# Bare text that reads as one of these is quoted.
_LITERAL = re.compile(
    r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null|NaN|-?Infinity"
)
_RESERVED = frozenset('"[{~|!^#')  # first characters that say what a value is
_WORDS: dict[str, Any] = {
    "true": True,
    "false": False,
    "null": None,
    "NaN": float("nan"),
    "Infinity": float("inf"),
    "-Infinity": float("-inf"),
}
_JSON = json.JSONDecoder()
BARE_KEY = re.compile(r'[^\s"*#|!~,=\[\]{}-][^\s,|="~\[\]{}]*(?<!:)')
DIGITS = 4_000  # Python refuses to read longer whole numbers


class WrittenInt(int):
    """A whole number that keeps how it was written: -0."""

    written: str


class WrittenFloat(float):
    """A number that keeps how it was written: 1e5, 1.10."""

    written: str


def as_written(text: str) -> int | float:
    """The JSON number *text*, which remembers its spelling where Python would choose another."""
    if text.lstrip("-").isdigit():
        if len(text) > DIGITS:
            raise ValueError(f"a whole number of {len(text):,} digits")
        whole = int(text)
        if str(whole) == text:
            return whole
        kept = WrittenInt(whole)
        kept.written = text
        return kept
    value = float(text)
    if repr(value) == text:
        return value
    spelled = WrittenFloat(value)
    spelled.written = text
    return spelled


def literal(value: Any) -> str:
    """A value that is not text: `5`, `true`, `null`, `!2024-05-01`."""
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, WrittenInt | WrittenFloat):
        return value.written
    if isinstance(value, float):
        return json.dumps(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, datetime.date | datetime.time):
        return "!" + value.isoformat()
    raise TypeError(type(value).__name__)


def quoted(text: str) -> str:
    """*text* as a JSON string; without escapes for what can be shown."""
    shown = json.dumps(text, ensure_ascii=False)
    # A lone surrogate has no UTF-8: only as an escape can it stand in a text.
    return shown if not any("\ud800" <= c <= "\udfff" for c in shown) else json.dumps(text)


def is_bare(text: str, stops: frozenset[str]) -> bool:
    """Whether *text* may stand without quotes where *stops* end a value."""
    return (
        bool(text)
        and text.isprintable()
        and text[0] not in _RESERVED
        and text[0] != " "
        and text[-1] != " "
        and " #" not in text
        and not _LITERAL.fullmatch(text)
        and stops.isdisjoint(text)
    )


def scalar(value: Any, stops: frozenset[str] = frozenset()) -> str:
    """*value*, which holds no other, as text."""
    if isinstance(value, str):
        return value if is_bare(value, stops) else quoted(value)
    return literal(value)


def key(value: Any) -> str:
    """The name of an entry; names that are not text have a `!`."""
    if not isinstance(value, str):
        shown = literal(value)
        return shown if shown[0] == "!" else "!" + shown
    return value if BARE_KEY.fullmatch(value) and value.isprintable() else quoted(value)


def read_bare(text: str) -> Any:
    """The value of *text*, which is neither quoted nor a list nor an object."""
    if not text:
        raise CtxFormatError("a value is missing")
    if text[0] == "!":
        return _typed(text[1:])
    if _LITERAL.fullmatch(text):
        return _WORDS[text] if text in _WORDS else _number(text)
    return text


def read_quoted(text: str, at: int) -> tuple[str, int]:
    """The quoted text that begins at *at*, and where it ends."""
    try:
        value, end = _JSON.raw_decode(text, at)
    except ValueError as error:
        raise CtxFormatError(f"a quoted text does not end: {error}") from error
    return value, end


def read_key(text: str) -> Any:
    """The name that `key` wrote as *text*, which is not quoted."""
    if text[:1] != "!":
        return text
    inner = text[1:]
    return read_bare(inner) if _LITERAL.fullmatch(inner) else _typed(inner)


def _number(text: str) -> int | float:
    try:
        return as_written(text)
    except ValueError as error:
        raise CtxFormatError(str(error)) from error


def _typed(text: str) -> Any:
    try:
        if ":" not in text:
            return datetime.date.fromisoformat(text)
        if "-" in text[:5] and "T" in text:
            return datetime.datetime.fromisoformat(text)
        return datetime.time.fromisoformat(text)
    except ValueError as error:
        raise CtxFormatError(f"!{text} is no date or time") from error
