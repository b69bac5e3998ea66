"""Tables: a header with what all rows share, and rows with what differs."""

import re
from collections.abc import Sequence
from typing import Any

from ..errors import CtxBoundError, CtxFormatError
from ..package import Counter
from . import columns as cols
from . import inline, scalars
from .columns import MISSING, SAME, Column

_HEADER_STOPS = frozenset(' ,|"')
_HEADER_WORD = re.compile(r'[^ ,|"]+')
_SEPARATOR = re.compile(r", |[ ,|]")
_SAME_CHARS = 3  # up to so many characters a cell is as short as the mark


class Growth:
    """How much text the rows of a package hold that their lines do not say."""

    def __init__(self, limit: int) -> None:
        self._limit, self._chars = limit, 0

    def add(self, chars: int) -> None:
        """Count *chars* more.

        Raises:
            CtxBoundError: they are too many.
        """
        self._chars += chars
        if self._chars > self._limit:
            raise CtxBoundError("the text of tables in characters", self._chars, self._limit)


def write(rows: list[Any], counter: Counter) -> tuple[str, list[str]] | None:
    """The header (behind its `|`) and the lines of *rows*, or None where they make no table."""
    if len(rows) < 2 or not all(isinstance(row, dict) for row in rows) or not rows[0]:
        return None
    names = cols.names_of(rows)
    if names is None or not _fit(rows):
        return None
    columns = cols.plan(names, rows)
    cols.separate(columns, rows, counter)
    shown = [column for column in columns if column.in_rows]
    lines = _lines(shown, rows)
    # A row that is an empty line would not survive being trimmed.
    return (_header(columns), lines) if all(lines) else None


def _fit(rows: list[dict[Any, Any]]) -> bool:
    for row in rows:
        for value in row.values():
            if isinstance(value, dict | list):
                if inline.write(value, cols.CELL_CHARS) is None:
                    return False
            elif isinstance(value, str) and "\n" in value:
                return False  # a block of lines is easier to read
    return True


def _header(columns: list[Column]) -> str:
    parts: list[str] = []
    for at, column in enumerate(columns):
        parts.append(scalars.key(column.name))
        if column.constant is not MISSING:
            parts.append("=" + scalars.scalar(column.constant, _HEADER_STOPS))
        elif column.woven is not None:
            safe = _HEADER_STOPS.isdisjoint(column.woven)
            parts.append("~" + (column.woven if safe else scalars.quoted(column.woven)))
        elif column.is_text:
            parts.append('"')
        if at < len(columns) - 1:
            parts.append(column.separator if column.in_rows and column.separator else ",")
    return "".join(parts)


def _lines(shown: list[Column], rows: list[dict[Any, Any]]) -> list[str]:
    lines: list[str] = []
    above: list[str] = [""] * len(shown)
    for row in rows:
        parts: list[str] = []
        for at, column in enumerate(shown):
            own = cols.cell(column, row)
            same = own == above[at] and len(own) > _SAME_CHARS
            parts.append((SAME if same else own) + column.separator)
            above[at] = own
        lines.append("".join(parts))
    return lines


def read(header: str, lines: Sequence[str], growth: Growth) -> list[dict[Any, Any]]:
    """The rows that *lines* hold under *header*; what they repeat is added to *growth*.

    Raises:
        CtxFormatError: a line does not follow the header.
        CtxBoundError: *growth* reached its limit.
    """
    columns = _columns(header)
    growth.add(len(lines) * _constant_chars(columns))
    shown = [column for column in columns if column.in_rows]
    above: list[Any] = [MISSING] * len(shown)
    sizes = [0] * len(shown)  # characters of the cells above
    rows: list[dict[Any, Any]] = []
    for number, line in enumerate(lines, 1):
        cells, at = {}, 0
        for place, column in enumerate(shown):
            start = at
            try:
                value, at = _cell(column, line, start, above[place])
            except CtxFormatError as error:
                raise CtxFormatError(f"row {number} of a table: {error.problem}") from error
            above[place] = cells[column.name] = value
            if line[start:at] == SAME + column.separator:
                growth.add(sizes[place])
            else:
                sizes[place] = at - start
        if shown and at != len(line):
            raise CtxFormatError(f"row {number} of a table has more than {len(shown)} cells")
        rows.append(_row(columns, cells, growth))
    return rows


def _constant_chars(columns: list[Column]) -> int:
    return sum(len(scalars.scalar(c.constant)) for c in columns if c.constant is not MISSING)


def _columns(header: str) -> list[Column]:
    columns: list[Column] = []
    at = 0
    while True:
        column, at = _column(header, at)
        columns.append(column)
        if at == len(header):
            break
        found = _SEPARATOR.match(header, at)
        if not found:
            raise CtxFormatError(f"the header of a table is cut at character {at + 1}")
        column.separator, at = found.group(), found.end()
    last = next((each for each in reversed(columns) if each.in_rows), None)
    if last is not None:
        last.separator = ""
    known = {each.name for each in columns}
    if len(known) < len(columns):
        raise CtxFormatError("the header of a table has a name twice")
    for each in columns:
        woven = (each.woven or "").partition("*")[0]
        named = woven.partition("{")[2].partition("}")[0]
        if "{" in woven and (named not in known or named == each.name):
            raise CtxFormatError(f"a column is woven around {named}, which the table has not")
    return columns


def _column(header: str, at: int) -> tuple[Column, int]:
    if header[at : at + 1] == '"':
        name, at = scalars.read_quoted(header, at)
    else:
        found = re.compile(r'[^\s,="~|\[\]{}]+').match(header, at)
        if not found:
            raise CtxFormatError(f"a column has no name at character {at + 1} of a header")
        name, at = scalars.read_key(found.group()), found.end()
    value: Any
    mark = header[at : at + 1]
    if mark == '"':
        return Column(name, is_text=True), at + 1
    if mark not in ("=", "~") or not mark:
        return Column(name), at
    if header[at + 1 : at + 2] == '"':
        value, at = scalars.read_quoted(header, at + 1)
    else:
        found = _HEADER_WORD.match(header, at + 1)
        if not found:
            raise CtxFormatError(f"a column has no value at character {at + 1} of a header")
        value, at = found.group(), found.end()
        value = value if mark == "~" else scalars.read_bare(value)
    if mark == "=":
        return Column(name, constant=value), at
    return Column(name, is_text=True, woven=value), at


def _cell(column: Column, line: str, at: int, above: Any) -> tuple[Any, int]:
    value: Any
    first = line[at : at + 1]
    if first == '"':
        value, end = scalars.read_quoted(line, at)
    elif first and first in "[{" and not column.is_text:
        value, end = inline.read(line, at)
    else:
        end = line.find(column.separator, at) if column.separator else len(line)
        text = line[at : end if end >= 0 else len(line)]
        end = at + len(text)
        if text == SAME:
            if above is MISSING:
                raise CtxFormatError("there is no cell above")
            value = above
        elif text == "" and not column.is_text:
            value = MISSING
        else:
            value = text if column.is_text else scalars.read_bare(text)
    if not line.startswith(column.separator, end):
        raise CtxFormatError(f"{column.separator!r} is missing at character {end + 1}")
    return value, end + len(column.separator)


def _row(columns: list[Column], cells: dict[Any, Any], growth: Growth) -> dict[Any, Any]:
    # A woven cell may need the cell of a later column.
    row = {**cells}
    for column in columns:
        if column.constant is not MISSING:
            row[column.name] = column.constant
        elif column.woven is not None:
            before, after = cols.affixes(column.woven, row)
            growth.add(len(before) + len(after or ""))
            row[column.name] = before + (
                f"{cells[column.name]}{after}" if after is not None else ""
            )
    return {c.name: row[c.name] for c in columns if row[c.name] is not MISSING}
