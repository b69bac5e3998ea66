"""Values on one line: `[a, b]`, `{name value, other 5}`."""

import re
from typing import Any

from ..errors import CtxBoundError, CtxFormatError
from . import scalars

STOPS = frozenset(',[]{}"')
DEPTH = 100  # levels; deeper sources stay JSON, deeper packages are refused
_BARE = re.compile(r'[^,\[\]{}"]+')
_KEY = re.compile(r'[^\s,\[\]{}"]+')


def write(value: Any, room: int) -> str | None:
    """*value* on one line, or None where that takes more than *room* characters."""
    if isinstance(value, dict):
        return _wrapped("{", "}", (_entry(k, v, room) for k, v in value.items()), room)
    if isinstance(value, list):
        return _wrapped("[", "]", (write(each, room - 1) for each in value), room)
    if isinstance(value, str) and len(value) > room:
        return None
    return scalars.scalar(value, STOPS)


def _entry(name: Any, value: Any, room: int) -> str | None:
    shown = write(value, room - 2)
    return None if shown is None else f"{scalars.key(name)} {shown}"


def _wrapped(opening: str, closing: str, items: Any, room: int) -> str | None:
    parts: list[str] = []
    if room < 0:
        return None
    for each in items:
        if each is None:
            return None
        parts.append(each)
        room -= len(each) + 2
        if room < 0:
            return None
    return opening + ", ".join(parts) + closing


def read(text: str, at: int, depth: int = 0) -> tuple[Any, int]:
    """The value that begins at *at*, and where it ends.

    Raises:
        CtxFormatError: no such value begins there.
        CtxBoundError: it nests deeper than `DEPTH`.
    """
    if depth > DEPTH:
        raise CtxBoundError("the depth of a line", depth, DEPTH)
    first = text[at : at + 1]
    if first == '"':
        return scalars.read_quoted(text, at)
    if first == "[":
        return _list(text, at + 1, depth)
    if first == "{":
        return _object(text, at + 1, depth)
    found = _BARE.match(text, at)
    if not found:
        raise CtxFormatError(f"a value is missing at character {at + 1}")
    return scalars.read_bare(found.group()), found.end()


def _list(text: str, at: int, depth: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    if text[at : at + 1] == "]":
        return items, at + 1
    while True:
        value, at = read(text, at, depth + 1)
        items.append(value)
        at, done = _after(text, at, "]")
        if done:
            return items, at


def _object(text: str, at: int, depth: int) -> tuple[dict[Any, Any], int]:
    entries: dict[Any, Any] = {}
    if text[at : at + 1] == "}":
        return entries, at + 1
    while True:
        name, at = read_name(text, at)
        if text[at : at + 1] != " ":
            raise CtxFormatError(f"a value is missing at character {at + 1}")
        if name in entries:
            raise CtxFormatError(f"{name} occurs twice here")
        entries[name], at = read(text, at + 1, depth + 1)
        at, done = _after(text, at, "}")
        if done:
            return entries, at


def read_name(text: str, at: int) -> tuple[Any, int]:
    """The name of an entry that begins at *at*, and where it ends."""
    if text[at : at + 1] == '"':
        return scalars.read_quoted(text, at)
    found = _KEY.match(text, at)
    if not found:
        raise CtxFormatError(f"a name is missing at character {at + 1}")
    return scalars.read_key(found.group()), found.end()


def _after(text: str, at: int, closing: str) -> tuple[int, bool]:
    if text[at : at + 1] == closing:
        return at + 1, True
    if text.startswith(", ", at):
        return at + 2, False
    raise CtxFormatError(f"{closing} is missing at character {at + 1}")
