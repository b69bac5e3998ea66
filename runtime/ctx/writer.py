"""Data as lines a model can read: names and values, indented by one blank a level."""

from typing import Any

from . import inline, scalars, table
from .document import Document, Notes, Path
from .package import Counter

LINE_CHARS = 240  # longer lists and objects are laid out over lines
_NO_NOTES = Notes()


def write(document: Document, counter: Counter) -> str:
    """The body of a package: *document* in the fewest tokens its parts can be written in."""
    writer = _Writer(document, counter)
    return "\n".join(writer.root())


class _Writer:
    def __init__(self, document: Document, counter: Counter) -> None:
        self._document, self._count = document, counter.count
        self._counter = counter
        self._notes = document.notes
        # Only what holds no notes may be laid out on one line.
        self._noted = {path[:end] for path in document.notes for end in range(len(path))}

    def root(self) -> list[str]:
        data = self._document.data
        if isinstance(data, dict) and data:
            lines = self._entries(data, 0, ())
        elif isinstance(data, list) and data:
            lines = self._root_list(data)
        else:
            lines = self._value("=", data, 0, (), may_be_table=False)
        return [*lines, *("#" + each for each in self._document.after)]

    def _root_list(self, data: list[Any]) -> list[str]:
        items = self._items(data, 0, ())
        found = None if () in self._noted else table.write(data, self._counter)
        if found is None:
            return items
        rows = ["|" + found[0], *found[1]]
        return rows if self._tokens(rows) < self._tokens(items) else items

    def _tokens(self, lines: list[str]) -> int:
        return self._count("\n".join(lines))

    def _entries(self, data: dict[Any, Any], level: int, path: Path) -> list[str]:
        lines: list[str] = []
        for name, value in data.items():
            own = (*path, name)
            lines += self._placed(scalars.key(name), value, level, own, self._notes.get(own))
        return lines

    def _placed(
        self, head: str, value: Any, level: int, path: Path, notes: Notes | None
    ) -> list[str]:
        """The lines of an entry or item whose first line begins with *head*."""
        pad, found = " " * level, notes or _NO_NOTES
        first, *rest = self._value(head, value, level, path, may_be_table=found.beside is None)
        beside = "" if found.beside is None else " #" + found.beside
        above = [f"{pad}#{each}" for each in found.before]
        return [*above, f"{pad}{first}{beside}", *rest]

    def _value(
        self, head: str, value: Any, level: int, path: Path, *, may_be_table: bool
    ) -> list[str]:
        if isinstance(value, str) and _is_block(value):
            return _block(head, value, level + 1)
        if not isinstance(value, dict | list):
            return [f"{head} {scalars.scalar(value)}"]
        short = None if path in self._noted else inline.write(value, LINE_CHARS)
        if not value:
            return [f"{head} {short}"]
        if isinstance(value, dict):
            forms = [[f"{head}:", *self._entries(value, level + 1, path)]]
        else:
            forms = self._lists(head, value, level, path, may_be_table)
        if short is not None:
            forms.append([f"{head} {short}"])
        return forms[0] if len(forms) == 1 else min(forms, key=self._tokens)

    def _lists(
        self, head: str, value: list[Any], level: int, path: Path, may_be_table: bool
    ) -> list[list[str]]:
        forms = [[f"{head}:", *self._items(value, level + 1, path)]]
        if may_be_table and path not in self._noted:
            found = table.write(value, self._counter)
            if found is not None:
                pad = " " * (level + 1)
                forms.append([f"{head} |{found[0]}", *(pad + line for line in found[1])])
        return forms

    def _items(self, data: list[Any], level: int, path: Path) -> list[str]:
        lines: list[str] = []
        for at, value in enumerate(data):
            lines += self._item(value, level, (*path, at))
        return lines

    def _item(self, value: Any, level: int, path: Path) -> list[str]:
        notes = self._notes.get(path)
        if not isinstance(value, dict | list) or not value:
            return self._placed("*", value, level, path, notes)
        if isinstance(value, list):
            return self._placed("-", value, level, path, notes)
        pad = " " * level
        above = [f"{pad}#{each}" for each in (notes or _NO_NOTES).before]
        lines = self._entries(value, level + 1, path)
        # The first entry shares the item's line; a note above it has to stand before both.
        if not lines[0].lstrip().startswith("#"):
            lines[0] = f"{pad}- {lines[0][level + 1 :]}"
        else:
            lines.insert(0, f"{pad}-")
        if path in self._noted:
            return [*above, *lines]
        short = inline.write(value, LINE_CHARS)
        if short is not None and self._count(short) + 1 < self._tokens(lines):
            return [*above, f"{pad}* {short}"]
        return [*above, *lines]


def _is_block(text: str) -> bool:
    # Blank lines at the end would be lost where a text is trimmed.
    return (
        "\n" in text
        and text.replace("\n", "").replace("\t", "").isprintable()
        and not text.endswith("\n\n")
        and text != "\n"
    )


def _block(head: str, text: str, level: int) -> list[str]:
    pad = " " * level
    mark = "~+" if text.endswith("\n") else "~"
    lines = text.removesuffix("\n").split("\n")
    return [f"{head} {mark}", *(pad + line if line else "" for line in lines)]
