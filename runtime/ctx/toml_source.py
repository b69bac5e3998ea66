"""TOML with its comments: data and notes out of a text."""

import re
import tomllib
from collections.abc import Sequence
from typing import Any

from .document import Comment, Document, Path, attach
from .errors import CtxSourceError
from .spelling import DIGITS, spelled

# Strings first, so that a `#` inside one is no comment.
_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*', re.DOTALL
)
_WORD = re.compile(r'\s*("(?:\\.|[^"\\])*"|\'[^\']*\'|[\w-]+)\s*(\.|=|\]\]?)?')
_HEADER = re.compile(r"^[ \t]*\[[^\[\]=,#'\"\n]*\][ \t]*\r?$", re.MULTILINE)
_ODD = re.compile(
    rf"{_TOKEN.pattern}|{_HEADER.pattern}"
    r"|(?:(?<=[=\[,])|^)\s*(\+[0-9][0-9_]*|-?[0-9]+_[0-9_]+|0x[0-9A-Fa-f_]+|0o[0-7_]+|0b[01_]+)"
    r"(?=\s*(?:[,\]}#\r\n]|$))",
    re.DOTALL | re.MULTILINE,
)
_MARKED = "e+07777777"
_USUAL = ("inf", "-inf", "nan")


def read(text: str) -> Document:
    """The document that *text* says.

    Raises:
        CtxSourceError: it is no TOML.
    """
    try:
        document = Document(_loaded(text))
    except tomllib.TOMLDecodeError as error:
        raise CtxSourceError("toml", str(error)) from error
    except ValueError as error:  # Python's own bound; its message speaks to programmers
        raise CtxSourceError("toml", f"a whole number of over {DIGITS:,} digits") from error
    comments, inside = _comments(text)
    if comments:
        attach(document, comments, _starts(text, inside, document.data))
    return document


def _loaded(text: str) -> dict[str, Any]:
    """The data of *text*, its numbers as they were written."""
    found = tomllib.loads(text, parse_float=_float)
    # The library tells how floats are written and not how whole numbers are. So these are read once
    # more as floats with a mark; where that says something else, the numbers are all that is left.
    odd: list[str] = []

    def marked(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0]
        odd.append(match[1])
        return f" {len(odd) - 1}.0{_MARKED}"

    again = _ODD.sub(marked, text) if _MARKED not in text else text
    if not odd:
        return found
    try:
        spelled_out = tomllib.loads(again, parse_float=lambda each: _float(each, odd))
    except tomllib.TOMLDecodeError:
        return found
    return spelled_out if repr(spelled_out) == repr(found) else found


def _float(text: str, odd: Sequence[str] = ()) -> int | float:
    if text.endswith(_MARKED):
        written = odd[int(text.partition(".")[0])]
        return spelled(written, int(written, 0))
    return float(text) if text in _USUAL else spelled(text, float(text))


def _comments(text: str) -> tuple[list[Comment], set[int]]:
    """The comments, and the lines that begin inside a text."""
    found: list[Comment] = []
    inside: set[int] = set()
    lines = text.split("\n")
    line, at = 0, 0
    for match in _TOKEN.finditer(text):
        line += text.count("\n", at, match.start())
        at = match.start()
        token = match.group()
        inside.update(range(line + 1, line + 1 + token.count("\n")))
        if token[0] == "#":
            before = lines[line].partition("#")[0]
            found.append(Comment(line, token[1:].rstrip("\r"), not before.strip()))
    return found, inside


def _starts(text: str, inside: set[int], data: Any) -> list[tuple[int, Path]]:
    starts: list[tuple[int, Path]] = []
    table: Path = ()
    counts: dict[Path, int] = {}
    for number, line in enumerate(text.split("\n")):
        head = line.lstrip()
        if number in inside or not head or head[0] in "#]},":
            continue
        opening = "[[" if head.startswith("[[") else "[" if head[0] == "[" else ""
        names = _names(head[len(opening) :], "]" if opening else "=")
        if not names:
            continue
        path = _resolved(names, counts) if opening else (*table, *names)
        if opening == "[[":
            counts[path] = counts.get(path, -1) + 1
            path = (*path, counts[path])
        if not _stands(data, path):
            continue  # a line of a list that only looks like an entry
        if opening:
            table = path
        starts.append((number, path))
    return starts


def _names(text: str, closing: str) -> list[str]:
    names: list[str] = []
    at = 0
    while found := _WORD.match(text, at):
        word, behind = found.groups()
        names.append(str(tomllib.loads(f"x={word}")["x"]) if word[0] in "\"'" else word)
        at = found.end()
        if behind and behind[0] == closing:
            return names
        if behind != ".":
            break
    return []


def _resolved(names: list[str], counts: dict[Path, int]) -> Path:
    """The path of a table's name: each list of tables on the way stands at its last one."""
    path: Path = ()
    for at, name in enumerate(names):
        path = (*path, name)
        if at < len(names) - 1 and path in counts:
            path = (*path, counts[path])
    return path


def _stands(data: Any, path: Path) -> bool:
    for step in path:
        if (isinstance(data, dict) and step in data) or (
            isinstance(data, list) and isinstance(step, int) and step < len(data)
        ):
            data = data[step]
        else:
            return False
    return True
