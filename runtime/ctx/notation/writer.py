"""Data as lines a model can read: names and values, indented by one blank a level."""

from typing import Any, Final, Literal

from ..document import Document, Notes, Path
from ..package import Counter
from . import inline, scalars, table

LINE_CHARS = 240  # longer lists and objects are laid out over lines
_SAMPLE_ROWS = 48  # of a longer list, from which is seen whether a table pays
_ALIKE_ITEMS = 8  # lists of more are laid out alike
_CLEAR = 0.9  # a sample decides only where the difference is no accident
_NO_NOTES = Notes()
Layout = Literal["in line", "over lines"]
IN_LINE: Final = "in line"
OVER_LINES: Final = "over lines"
ENOUGH: Final = 4  # times in a row


def write(document: Document, counter: Counter) -> str:
    """The body of a package: *document* in the fewest tokens its parts can be written in."""
    writer = _Writer(document, counter)
    return "\n".join(writer.root())


class _Writer:
    def __init__(self, document: Document, counter: Counter) -> None:
        self._document, self._count = document, counter.count
        self._counter = counter
        self._notes = document.notes
        self._habits = Habits()
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
        found = None if () in self._noted else table.write(data, self._counter)
        if found is None:
            return self._items(data, 0, ())
        return self._smaller(["|" + found[0], *found[1]], data, 0, ())

    def _smaller(self, rows: list[str], data: list[Any], level: int, path: Path) -> list[str]:
        """The table, or the items of *data* if they take fewer tokens.

        Args:
            rows: The table's header and lines.
            data: Its contents.
            level: Of the items.
            path: Of the list.
        """
        if len(data) > 2 * _SAMPLE_ROWS:
            step = len(data) // _SAMPLE_ROWS
            items = self._tokens(self._items(data[::step], level, path))
            header = self._count(rows[0]) / step
            if header + self._tokens(rows[1::step]) < _CLEAR * items:
                return rows
        items_ = self._items(data, level, path)
        return rows if self._tokens(rows) < self._tokens(items_) else items_

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
        line = [] if short is None else [f"{head} {short}"]
        shape = _shape(value, level) if line else None
        if self._habits.known(shape) == IN_LINE:
            return line
        if isinstance(value, dict):
            lines = [f"{head}:", *self._entries(value, level + 1, path)]
        else:
            lines = self._list(head, value, level, path, may_be_table)
        if not line or self._habits.known(shape) == OVER_LINES:
            return lines
        chosen = min(lines, line, key=self._tokens)
        self._habits.learn(shape, IN_LINE if chosen is line else OVER_LINES)
        return chosen

    def _list(
        self, head: str, value: list[Any], level: int, path: Path, may_be_table: bool
    ) -> list[str]:
        found = None
        if may_be_table and path not in self._noted:
            found = table.write(value, self._counter)
        if found is None:
            return [f"{head}:", *self._items(value, level + 1, path)]
        pad = " " * (level + 1)
        rows = [f"{head} |{found[0]}", *(pad + line for line in found[1])]
        chosen = self._smaller(rows, value, level + 1, path)
        return rows if chosen is rows else [f"{head}:", *chosen]

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
        short = None if path in self._noted else inline.write(value, LINE_CHARS)
        shape = None if short is None else ("*", *_shape(value, level))
        if self._habits.known(shape) == IN_LINE:
            return [*above, f"{pad}* {short}"]
        lines = self._entries(value, level + 1, path)
        # The first entry shares the item's line; a note above it must come before both.
        if not lines[0].lstrip().startswith("#"):
            lines[0] = f"{pad}- {lines[0][level + 1 :]}"
        else:
            lines.insert(0, f"{pad}-")
        if short is None or self._habits.known(shape) == OVER_LINES:
            return [*above, *lines]
        in_line = self._count(short) + 1 < self._tokens(lines)
        self._habits.learn(shape, IN_LINE if in_line else OVER_LINES)
        return [*above, f"{pad}* {short}"] if in_line else [*above, *lines]


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


def _shape(value: dict[Any, Any] | list[Any], level: int) -> tuple[Any, ...]:
    """The features of *value* by which its layout is remembered."""
    if isinstance(value, dict):
        return (level, *value)
    return (level, None, min(len(value), _ALIKE_ITEMS), *map(type, value[:1]))


class Habits:
    """How values of one shape were laid out so far."""

    def __init__(self) -> None:
        self._met: dict[object, tuple[Layout, int]] = {}

    def known(self, shape: object) -> Layout | None:
        """The layout that was best each time of late; None where that is not certain."""
        layout, times = self._met.get(shape, (None, 0))
        return layout if times >= ENOUGH else None

    def learn(self, shape: object, layout: Layout) -> None:
        """Note that *layout* was best for a value of that *shape*."""
        last, times = self._met.get(shape, (layout, 0))
        self._met[shape] = (layout, times + 1 if last == layout else 1)
