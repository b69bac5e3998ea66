"""Single values as text and back: numbers, truth, null, times, and text bare or quoted."""

import datetime
import json
import re
from functools import lru_cache
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any

from ..errors import CtxFormatError
from .spelling import JSON_NUMBER, as_written, marked, other

# Bare text that reads as one of these is quoted.
_LITERAL = re.compile(JSON_NUMBER.pattern + r"|true|false|null|NaN|-?Infinity")
_LITERAL_STARTS = frozenset("-0123456789tfnNI")
_RESERVED = frozenset(' "[{~|!^#')  # first characters that say what a value is, and the blank
_SURROGATE = re.compile("[\ud800-\udfff]")
_WORDS: dict[str, Any] = {
    "true": True,
    "false": False,
    "null": None,
    "NaN": float("nan"),
    "Infinity": float("inf"),
    "-Infinity": float("-inf"),
}
_JSON = json.JSONDecoder()
_DATE = re.compile(r"\d{4}-")
BARE_KEY = re.compile(r'[^\s"*#|!~,=\[\]{}-][^\s,|="~\[\]{}]*(?<!:)')


def literal(value: Any) -> str:
    """A value that is not text: `5`, `true`, `null`, `!2024-05-01`."""
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, int | float):
        return marked(value)
    if isinstance(value, datetime.date | datetime.time):
        return "!" + value.isoformat()
    raise TypeError(type(value).__name__)


def quoted(text: str) -> str:
    """*text* as a JSON string; without escapes for what can be shown."""
    # A lone surrogate has no UTF-8: it can be written only as an escape.
    return encode_basestring_ascii(text) if _SURROGATE.search(text) else encode_basestring(text)


def is_bare(text: str, stops: frozenset[str]) -> bool:
    """Whether *text* needs no quotes where *stops* end a value."""
    return (
        text != ""
        and text[0] not in _RESERVED
        and text[-1] != " "
        and stops.isdisjoint(text)
        and text.isprintable()
        and " #" not in text
        and not (text[0] in _LITERAL_STARTS and _LITERAL.fullmatch(text))
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
    return _name(value)


@lru_cache(4_096)
def _name(text: str) -> str:
    return text if BARE_KEY.fullmatch(text) and text.isprintable() else quoted(text)


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
    """The value behind a `!`: a date, a time, or a number in a form that JSON lacks."""
    try:
        if text[:1] == "!":
            return other(text[1:])
        if "-" in text[1:] and _DATE.match(text):
            is_day = ":" not in text
            return (datetime.date if is_day else datetime.datetime).fromisoformat(text)
        return datetime.time.fromisoformat(text) if ":" in text else other(text)
    except ValueError as error:
        raise CtxFormatError(f"!{text[:40]} is not a date, time or number") from error
