"""YAML with its comments: data and notes out of a text, and a text out of them."""

import datetime
import re
from collections.abc import Iterator
from typing import Any

import yaml

from ..document import Comment, Document, Notes, Path, attach
from ..errors import CtxSourceError
from ..notation.scalars import is_bare, literal
from ..notation.spelling import WrittenFloat, WrittenInt
from .yaml_loading import Loader, load

_PLAIN = re.compile(r"[A-Za-z_/$][\w /$.@+-]*(?<! )")
_BREAK = re.compile(r"\r\n|[\n\r\x85\u2028\u2029]")  # where YAML 1.1 ends a line, and a comment
NODES = 2_000_000  # aliases can make a text of a kilobyte larger than any memory
_KINDS = (str, bool, int, float, type(None), datetime.date, dict, list)


def read(text: str) -> Document:
    """The document, or the documents of a stream, in *text*.

    Raises:
        CtxSourceError: it is not YAML, or contains something that the format cannot express.
    """
    try:
        starts, documents, unkept = load(text)
        document = Document(documents[0] if len(documents) == 1 else documents)
        document.several, document.unkept = len(documents) > 1, unkept
        _checked(document.data)
        if "#" in text:
            comments = list(_comments(text))
            attach(document, comments, starts)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        problem = error.problem or "it cannot be read"
        raise CtxSourceError("yaml", problem, mark.line + 1 if mark else 0) from error
    except (yaml.YAMLError, TypeError) as error:
        raise CtxSourceError("yaml", str(error)) from error
    return document


def _checked(data: Any) -> None:
    waiting, seen = [data], 0
    while waiting:
        each = waiting.pop()
        seen += 1
        if seen > NODES:
            raise CtxSourceError("yaml", f"its aliases make more than {NODES:,} values of it")
        if not isinstance(each, _KINDS):
            raise CtxSourceError("yaml", f"a value of type {type(each).__name__} has no text form")
        if isinstance(each, dict):
            if any(isinstance(name, tuple | bytes) for name in each):
                raise CtxSourceError("yaml", "a name that is a list or binary has no text form")
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each


def _comments(text: str) -> Iterator[Comment]:
    """Comments are the text between tokens that is not blank."""
    lines = _BREAK.split(text)  # as the scanner counts them
    line, column = 0, 0
    for token in yaml.scan(text, Loader=Loader):
        start, end = token.start_mark, token.end_mark
        yield from _gap(lines, line, column, start.line, start.column)
        block = isinstance(token, yaml.ScalarToken) and token.style in ("|", ">")
        if block:  # its mark comes after the comments that follow it
            yield from _gap(lines, start.line, start.column + 1, start.line + 1, 0)
            last = _block_end(lines, start.line, end.line)
            line, column = last, 0
        else:
            line, column = end.line, end.column
    yield from _gap(lines, line, column, len(lines), 0)


def _block_end(lines: list[str], start: int, end: int) -> int:
    """The line behind the last one that belongs to a block of text."""
    at = start + 1
    while at < end and not lines[at].strip():
        at += 1
    if at >= end:
        return end
    indent = len(lines[at]) - len(lines[at].lstrip(" "))
    while at < end and (
        not lines[at].strip() or len(lines[at]) - len(lines[at].lstrip(" ")) >= indent
    ):
        at += 1
    return at


def _gap(lines: list[str], line: int, column: int, to: int, until: int) -> Iterator[Comment]:
    for at in range(line, min(to, len(lines) - 1) + 1):
        stretch = lines[at][column if at == line else 0 : until if at == to else None]
        before, found, text = stretch.partition("#")
        if found:
            alone = not lines[at][: (column if at == line else 0) + len(before)].strip()
            yield Comment(at, text, alone)


def write(document: Document) -> str:
    """*document* as YAML, with its comments in their places."""
    if document.several:
        parts = []
        for at, data in enumerate(document.data):
            above = document.notes.get((at,), Notes()).before
            own = _block(data, 0, (at,), document.notes)
            parts.append("\n".join(["---", *map(_comment, above), *own]))
        lines = parts
    else:
        lines = _block(document.data, 0, (), document.notes)
    return "\n".join([*lines, *map(_comment, document.after)]) + "\n"


def _comment(text: str) -> str:
    # A package from elsewhere may hold what would end the comment, and be data.
    return f"#{_BREAK.sub(' ', text)}"


def _block(data: Any, level: int, path: Path, notes: dict[Path, Notes]) -> list[str]:
    pad, lines = " " * level, []
    if not isinstance(data, dict | list) or not data:
        return [pad + _scalar(data)]
    pairs = data.items() if isinstance(data, dict) else enumerate(data)
    for name, value in pairs:
        own = notes.get((*path, name), Notes())
        lines += [pad + _comment(each) for each in own.before]
        head = f"{_scalar(name)}:" if isinstance(data, dict) else "-"
        beside = "" if own.beside is None else f" {_comment(own.beside)}"
        if isinstance(value, dict | list) and value:
            lines += [
                f"{pad}{head}{beside}",
                *_block(value, level + 2, (*path, name), notes),
            ]
        else:
            lines.append(f"{pad}{head} {_scalar(value)}{beside}")
    return lines


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        plain = _PLAIN.fullmatch(value) and is_bare(value, frozenset()) and len(value) < 1_000
        if plain and isinstance(yaml.safe_load(value), str):
            return value
        return _quoted(value)
    if isinstance(value, dict | list):
        return "{}" if isinstance(value, dict) else "[]"
    if isinstance(value, WrittenInt | WrittenFloat) and _same(value):
        return value.written
    if isinstance(value, float):
        return _float(value)
    return str(int(value)) if type(value) is WrittenInt else literal(value).removeprefix("!")


def _same(value: WrittenInt | WrittenFloat) -> bool:
    # A package from elsewhere may hold what only JSON or TOML writes so.
    found = yaml.load(value.written, Loader=Loader)  # noqa: S506  # a safe loader
    return type(found) is type(value) and found.written == value.written


def _quoted(text: str) -> str:
    # Not JSON: its escapes for what is beyond 16 bits are two characters to YAML.
    marks = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}
    shown = (marks.get(c) or (c if c.isprintable() else f"\\U{ord(c):08x}") for c in text)
    return f'"{"".join(shown)}"'


def _float(value: float) -> str:
    words = {"inf": ".inf", "-inf": "-.inf", "nan": ".nan"}
    shown = words.get(repr(value), repr(value))
    # YAML 1.1 wants a point and a sign: 1e+16 would be text.
    return shown.replace("e", ".0e") if "e" in shown and "." not in shown else shown
