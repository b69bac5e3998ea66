"""Chooses the columns of a table for rows of equal shape, their constants and separators.

A column is *constant* (written in the header), *woven* (text around what differs, or around another
column's cell: `url=https://host/{name}/*`), or *plain*. After each column comes the separator
that costs least there.
"""

from itertools import pairwise
from os.path import commonprefix
from typing import Any, Final

import msgspec

from ..package import Counter
from . import inline, scalars

MISSING: Final = object()  # a row has no entry of that name
CELL_CHARS = 400  # longer cells make unreadable rows
COLUMNS = 64
SAMPLE_ROWS = 48  # by which separators are chosen
_NEAR_CHARS = 24  # of a cell: what is farther from a separator is no part of its token
SEPARATORS = (" ", ",", ", ", "|")
_WOVEN_STOPS = frozenset("*{}")
_AFFIX_CHARS = 3  # shorter ones are not worth the header's words
SAME = "^"  # the cell above, once more


class Column(msgspec.Struct):
    """One column of a table."""

    name: Any
    is_text: bool = False  # every cell is text and needs no quotes to say so
    constant: Any = MISSING
    woven: str | None = None  # "https://host/{name}/*"
    separator: str = ","  # behind its cells

    @property
    def in_rows(self) -> bool:
        """Whether rows have a cell for it."""
        return self.constant is MISSING and (self.woven is None or "*" in self.woven)

    @property
    def stop(self) -> str:
        """The character that bare cells cannot hold."""
        return self.separator[:1] or "\n"


def names_of(rows: list[Any]) -> list[Any] | None:
    """The columns that hold every row's entries in their order, or None."""
    first = rows[0]
    names: dict[Any, None] = dict.fromkeys(first)
    for row in rows:
        if row.keys() != first.keys():
            names.update(dict.fromkeys(row))
            if len(names) > COLUMNS:
                return None
    order = {name: at for at, name in enumerate(names)}
    kinds = {(type(name), name) for name in names}
    if len(kinds) != len(names) or len(names) > COLUMNS:
        return None
    for row in rows:
        places = [order[name] for name in row]
        if places != sorted(places) or not row:
            return None
    return list(names)


def plan(names: list[Any], rows: list[dict[Any, Any]]) -> list[Column]:
    """The columns of a table of *rows*, without their separators."""
    cells = {name: [row.get(name, MISSING) for row in rows] for name in names}
    columns = [_column(name, cells[name]) for name in names]
    texts = {c.name: cells[c.name] for c in columns if c.is_text and c.constant is MISSING}
    for column in columns:
        if column.name in texts:
            column.woven = _woven(column, columns, cells, texts)
    return columns


def _column(name: Any, cells: list[Any]) -> Column:
    first = cells[0]
    if first is not MISSING and not isinstance(first, dict | list):
        shown = scalars.scalar(first)
        if all(
            type(each) is type(first) and each == first and scalars.scalar(each) == shown
            for each in cells
        ):
            return Column(name, constant=first)
    return Column(name, is_text=all(isinstance(each, str) for each in cells))


def _woven(
    column: Column,
    columns: list[Column],
    cells: dict[Any, list[Any]],
    texts: dict[Any, list[Any]],
) -> str | None:
    """The pattern of a text column, if it saves something."""
    own = cells[column.name]
    for other in columns:
        if other is column or other.constant is not MISSING or not isinstance(other.name, str):
            continue
        if other.woven is not None or not scalars.BARE_KEY.fullmatch(other.name):
            continue  # a column that is woven itself would need an order
        pattern = _around(own, cells[other.name], other.name)
        if pattern is not None:
            return pattern
    if column.name not in texts:
        return None
    before = commonprefix(own)  # noqa: RUF071
    after = _common_end([each[len(before) :] for each in own])
    if len(before) + len(after) < _AFFIX_CHARS or _is_unsafe(before + after):
        return None
    return f"{before}*{after}"


def _around(own: list[str], others: list[Any], name: str) -> str | None:
    """The pattern of *own* around the cells of another column, or None."""
    heads, tails = [], []
    for mine, other in zip(own, others, strict=True):
        cell = cell_text(other)
        if cell is None or len(cell) < 2:
            return None
        at = mine.find(cell)
        if at < 0:
            return None
        heads.append(mine[:at])
        tails.append(mine[at + len(cell) :])
    head = heads[0]
    if any(each != head for each in heads):
        return None
    before, after = commonprefix(tails), ""  # noqa: RUF071
    if all(each == before for each in tails):
        return None if _is_unsafe(head + before) else f"{head}{{{name}}}{before}"
    after = _common_end([each[len(before) :] for each in tails])
    if _is_unsafe(head + before + after):
        return None
    return f"{head}{{{name}}}{before}*{after}"


def cell_text(value: Any) -> str | None:
    """The replacement of `{name}` if a column's cell is *value*."""
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return scalars.literal(value)
    return None


def _common_end(texts: list[str]) -> str:
    return commonprefix([each[::-1] for each in texts])[::-1]  # noqa: RUF071


def _is_unsafe(affix: str) -> bool:
    return not _WOVEN_STOPS.isdisjoint(affix) or not (affix == "" or affix.isprintable())


def separate(columns: list[Column], rows: list[dict[Any, Any]], counter: Counter) -> None:
    """Choose each column's separator: the one with fewest tokens in a sample of the rows."""
    shown = [each for each in columns if each.in_rows]
    step = max(1, len(rows) // SAMPLE_ROWS)
    sample = rows[::step][:SAMPLE_ROWS]
    if shown:
        shown[-1].separator = ""
    for left, right in pairwise(shown):
        costs = []
        for separator in SEPARATORS:
            left.separator = separator
            pairs = (
                f"{cell(left, row)[-_NEAR_CHARS:]}{separator}{cell(right, row)[:_NEAR_CHARS]}"
                for row in sample
            )
            costs.append(counter.count("\n".join(pairs)))
        left.separator = SEPARATORS[costs.index(min(costs))]


def cell(column: Column, row: dict[Any, Any]) -> str:
    """The cell of *row*, as written before the column's separator."""
    value = row.get(column.name, MISSING)
    if value is MISSING:
        return ""
    if column.woven is not None:
        before, after = affixes(column.woven, row)
        value = value[len(before) : len(value) - len(after or "")]
    if column.is_text:
        # A column of text needs quotes only where the cell would be cut, or be a mark.
        bare = value == "" or (
            column.stop not in value
            and value.isprintable()
            and value[0] not in '"^ #'
            and value[-1] != " "
        )
        return value if bare else scalars.quoted(value)
    if isinstance(value, dict | list):
        return inline.write(value, CELL_CHARS) or ""
    return scalars.scalar(value, frozenset(column.stop))


def affixes(woven: str, row: dict[Any, Any]) -> tuple[str, str | None]:
    """The text before and after a woven cell; None if the pattern has no cell."""
    before, star, after = woven.partition("*")
    head, opening, rest = before.partition("{")
    if opening:
        name, _, tail = rest.partition("}")
        before = f"{head}{cell_text(row[name])}{tail}"
    return before, after if star else None
