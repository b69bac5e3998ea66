"""Tables and trees on a terminal. Imported where one is drawn: rich takes its time to load.

All text comes as `Text`, in which rich looks for no markup: data may hold any.
"""

import os
from collections.abc import Iterable, Sequence

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from .screen import Branch, clean

GAP = 2  # columns between those of a table
ABOUT = 20  # columns for what a row is about, while no other gives way
NARROW = 60  # columns of a terminal, below which those of a tree's entry follow its text


def console(*, stderr: bool = False, width: int | None = None) -> Console:
    """A terminal, as wide as it is unless *width* says otherwise."""
    return Console(
        stderr=stderr,
        width=width,
        color_system=None if os.environ.get("NO_COLOR") else "auto",
        highlight=False,
        markup=False,
        emoji=False,
    )


def draw_table(headers: Sequence[str], rows: Iterable[Sequence[str]], width: int) -> None:
    """Print a line for each row, an ellipsis in place of what does not fit.

    What a row is about, the last column, gives way first; where that is not enough, the widest.
    """
    terminal = console(width=width)
    # A text for each column, not for each cell: rich draws long tables four times as fast.
    columns = [_column(header, cells) for header, *cells in zip(headers, *rows, strict=True)]
    whole = [terminal.measure(column).maximum + GAP for column in columns[:-1]]
    fits = sum(whole) + ABOUT <= width
    table = Table.grid(padding=(0, GAP, 0, 0))
    for place, column_width in enumerate(whole):
        # The first is an id, which is copied.
        table.add_column(no_wrap=fits or (place == 0 and column_width <= width / 2))
    table.add_row(*columns)
    terminal.print(table)


def draw_tree(branches: Iterable[Branch], margin: str, width: int) -> None:
    """Print a tree with the columns of its entries at the right, set in by *margin*."""
    tree = Tree("", hide_root=True, guide_style="dim")
    entries: dict[str, Tree] = {}
    for each in branches:
        parts = [_entry(each, width)]
        parts += [_text("\n".join(each.details), "dim")] if each.details else []
        entries[each.name] = entries.get(each.parent, tree).add(Group(*parts))
    console(width=width).print(Padding(tree, (0, 0, 0, len(margin))) if margin else tree)


def _entry(branch: Branch, width: int) -> RenderableType:
    text = _text(branch.text, branch.style)
    if width < NARROW:
        return text.append(f"  {' '.join(branch.columns.split())}", "dim")
    entry = Table.grid(expand=True, padding=(0, GAP, 0, 0))
    entry.add_column(ratio=1)
    entry.add_column(no_wrap=True)
    entry.add_row(text, Text(branch.columns, "dim"))
    return entry


def _text(text: str, style: str) -> Text:
    return Text(clean(text), style, overflow="fold")


def _column(header: str, cells: Iterable[str]) -> Text:
    column = Text(no_wrap=True, overflow="ellipsis")
    return column.append(header, "bold").append("".join(f"\n{clean(cell)}" for cell in cells))
