"""TOML with its comments: data and notes out of a text."""

import re
import tomllib
from collections.abc import Iterator, Sequence
from typing import Any

from ..document import Comment, Document, Path, attach
from ..errors import CtxSourceError
from ..notation.spelling import DIGITS, spelled

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
    """The document in *text*.

    Raises:
        CtxSourceError: it is not TOML.
    """
    try:
        document = Document(_loaded(text))
    except tomllib.TOMLDecodeError as error:
        raise CtxSourceError("toml", str(error)) from error
    except ValueError as error:  # Python's own bound; its message speaks to programmers
        raise CtxSourceError("toml", f"a whole number of over {DIGITS:,} digits") from error
    comments, inside = _comments(text)
    if comments:
        starts = [*_starts(text, inside, document.data)]
        items = _items(text, starts, document.data)
        attach(document, comments, sorted([*starts, *items], key=lambda start: start[0]))
    return document


def _loaded(text: str) -> dict[str, Any]:
    """The data of *text*, its numbers as they were written."""
    found = tomllib.loads(text, parse_float=_float)
    # The library reports the spelling of floats and not of integers. So integers are read again as
    # marked floats; if that gives other values, the spelling is dropped.
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


def _items(text: str, starts: list[tuple[int, Path]], data: Any) -> list[tuple[int, Path]]:
    """Where items of lists over several lines open a line, and where such a list ends."""
    free = _TOKEN.sub(_blanked, text).split("\n")
    found: list[tuple[int, Path]] = []
    ends = [*(line for line, _ in starts[1:]), len(free)][: len(starts)]
    for (first, path), end in zip(starts, ends, strict=True):
        if free[first].lstrip()[:1] != "[":  # that is the name of a table
            found += _List(path, free[first:end]).places(first)
    return [(line, own) for line, own in found if _stands(data, own)]


class _List:
    """The value of one entry, if it is a list over several lines."""

    def __init__(self, path: Path, lines: list[str]) -> None:
        self._path, self._lines = path, lines  # without texts and comments
        self._places: list[int] = []  # of the items around, outermost first

    def places(self, first: int) -> Iterator[tuple[int, Path]]:
        """The lines that begin with an item, or end a list, and its path; the first is *first*."""
        for number, line in enumerate(self._lines):
            begun = line.find("=") + 1 if number == 0 else 0
            opens = number > 0  # nothing of this line was read yet
            for char in line[begun:]:
                if char in " \t\r":
                    continue
                if opens and self._places and char not in "],":
                    yield first + number, (*self._path, *self._places)
                self._take(char)
                if opens and char == "]":  # what is said beside it is said of the list
                    yield first + number, (*self._path, *self._places)
                opens = opens and char in "[,"

    def _take(self, char: str) -> None:
        if char == "[":
            self._places.append(0)
        elif char == "]" and self._places:
            self._places.pop()
        elif char == "," and self._places:
            self._places[-1] += 1


def _blanked(match: re.Match[str]) -> str:
    """As many characters on as many lines, with nothing in them that means anything."""
    text = match.group()
    return " " * len(text) if text[0] == "#" else re.sub(r"[^\n]", "x", text)


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
    """The path of a table's name: each list of tables on the way counts as its last one."""
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
