"""The lines of a package back into data and notes; one pass, bounded depth."""

from typing import Any

from ..document import Document, Notes, Path
from ..errors import CtxBoundError, CtxFormatError
from . import inline, scalars, table
from .inline import DEPTH


def read(body: str, limit: int) -> Document:
    """The data that `writer.write` was given.

    Raises:
        CtxFormatError: a line does not follow the format; it says which.
        CtxBoundError: the lines nest deeper than `DEPTH`, or tables grow over *limit* characters.
    """
    return _Reader(body.rstrip("\n").split("\n"), limit).document()


class _Reader:
    def __init__(self, lines: list[str], limit: int) -> None:
        self._lines = lines
        self._growth = table.Growth(limit)
        self._at = 0
        self._notes: dict[Path, Notes] = {}

    def document(self) -> Document:
        try:
            data = self._root()
            after = self._comments(0)
            if self._at < len(self._lines):
                raise CtxFormatError("a line belongs to nothing above it")
        except CtxFormatError as error:
            if error.line:
                raise
            line = min(self._at, len(self._lines) - 1) + 1
            raise CtxFormatError(error.problem, line) from error
        return Document(data, self._notes, after)

    def _root(self) -> Any:
        first = self._peek(0)
        if first.startswith("|"):
            data = self._table(first[1:], 0, self._at + 1)
        elif first.startswith("= "):
            self._at += 1
            data, _ = self._value(first[2:], 0)
        else:
            data = self._children(0, ())
        return data

    def _children(self, level: int, path: Path) -> Any:
        if level > DEPTH:
            raise CtxBoundError("the depth of the package", level, DEPTH)
        first = self._peek(level)[level:]
        if first[:2] in ("* ", "- ", "-:", "-"):
            return self._items(level, path)
        return self._entries({}, level, path)

    def _peek(self, level: int) -> str:
        """The next line of this level that is no comment; "" if there is none."""
        at, pad = self._at, " " * level
        while at < len(self._lines) and self._lines[at].startswith(pad + "#"):
            at += 1
        if at == len(self._lines) or not self._lines[at].startswith(pad):
            return ""
        line = self._lines[at]
        if line[level : level + 1] == " ":
            raise CtxFormatError("a line is indented deeper than what it belongs to")
        return line

    def _comments(self, level: int) -> list[str]:
        pad, start = " " * level + "#", self._at
        while self._at < len(self._lines) and self._lines[self._at].startswith(pad):
            self._at += 1
        return [line[len(pad) :] for line in self._lines[start : self._at]]

    def _items(self, level: int, path: Path) -> list[Any]:
        items: list[Any] = []
        while line := self._peek(level):
            own = (*path, len(items))
            before = self._comments(level)
            self._at += 1
            value, beside = self._item(line[level:], level, own)
            items.append(value)
            self._note(own, before, beside)
        return items

    def _item(self, line: str, level: int, path: Path) -> tuple[Any, str | None]:
        if line.startswith("* "):
            return self._value(line[2:], level)
        if line == "-":
            return self._entries({}, level + 1, path), None
        if line.startswith("-:"):
            return self._children(level + 1, path), self._beside(line, 2)
        if line[:3] in ("- [", "- |"):
            return self._value(line[2:], level)
        if not line.startswith("- "):
            raise CtxFormatError("an item of a list begins with `* ` or `- `")
        entries: dict[Any, Any] = {}
        self._entry(line[2:], entries, level + 1, path, [])
        return self._entries(entries, level + 1, path), None

    def _entries(self, entries: dict[Any, Any], level: int, path: Path) -> dict[Any, Any]:
        if level > DEPTH:
            raise CtxBoundError("the depth of the package", level, DEPTH)
        while line := self._peek(level):
            before = self._comments(level)
            self._at += 1
            self._entry(line[level:], entries, level, path, before)
        if not entries:
            raise CtxFormatError("a name with `:` has no entries below it")
        return entries

    def _entry(
        self, line: str, entries: dict[Any, Any], level: int, path: Path, before: list[str]
    ) -> None:
        name, at = self._name(line)
        if name in entries:
            raise CtxFormatError(f"{name} occurs twice here")
        own = (*path, name)
        if line[at : at + 1] == ":":
            beside = self._beside(line, at + 1)
            entries[name] = self._children(level + 1, own)
        elif line[at : at + 1] == " ":
            entries[name], beside = self._value(line[at + 1 :], level)
        else:
            raise CtxFormatError(f"{name} has no value")
        self._note(own, before, beside)

    def _name(self, line: str) -> tuple[Any, int]:
        if line.startswith('"'):
            return scalars.read_quoted(line, 0)
        word = line.partition(" ")[0]
        if word in ("", ":"):
            raise CtxFormatError("a name is missing")
        bare = word.removesuffix(":")
        return scalars.read_key(bare), len(bare)

    def _value(self, text: str, level: int) -> tuple[Any, str | None]:
        mark = text[:1]
        if mark == "|":
            return self._table(text[1:], level + 1, self._at), None
        if mark == "~":
            kept = text[1:2] == "+"
            beside = self._beside(text, 2 if kept else 1)
            return self._block(level + 1) + ("\n" if kept else ""), beside
        if mark and mark in '"[{':
            value, end = inline.read(text, 0)
            return value, self._beside(text, end)
        bare, found, beside = text.partition(" #")
        return scalars.read_bare(bare), beside if found else None

    def _beside(self, line: str, at: int) -> str | None:
        rest = line[at:]
        if rest and not rest.startswith(" #"):
            raise CtxFormatError(f"{rest[:20]!r} is after the end of the value")
        return rest[2:] if rest else None

    def _block(self, level: int) -> str:
        pad, start = " " * level, self._at
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line and not line.startswith(pad):
                break
            self._at += 1
        return "\n".join(line[level:] for line in self._lines[start : self._at])

    def _table(self, header: str, level: int, start: int) -> list[dict[Any, Any]]:
        pad, end = " " * level, start
        while end < len(self._lines) and self._lines[end].startswith(pad):
            if self._lines[end].startswith("#"):
                break  # no row begins so: these are the comments behind a table at the root
            end += 1
        try:
            lines = [line[level:] for line in self._lines[start:end]]
            rows = table.read(header, lines, self._growth)
        except CtxFormatError as error:
            raise CtxFormatError(error.problem, start) from error
        self._at = end
        return rows

    def _note(self, path: Path, before: list[str], beside: str | None) -> None:
        if before or beside is not None:
            self._notes[path] = Notes(before, beside)
