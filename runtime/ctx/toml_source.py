"""TOML with its comments: data and notes out of a text."""

import re
import tomllib
from typing import Any

from .document import Comment, Document, Path, attach
from .errors import CtxSourceError

# Strings first, so that a `#` inside one is no comment.
_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*', re.DOTALL
)
_WORD = re.compile(r'\s*("(?:\\.|[^"\\])*"|\'[^\']*\'|[\w-]+)\s*(\.|=|\]\]?)?')


def read(text: str) -> Document:
    """The document that *text* says.

    Raises:
        CtxSourceError: it is no TOML.
    """
    try:
        document = Document(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise CtxSourceError("toml", str(error)) from error
    comments, inside = _comments(text)
    if comments:
        attach(document, comments, _starts(text, inside, document.data))
    return document


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
