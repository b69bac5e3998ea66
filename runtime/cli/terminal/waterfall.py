"""Draws the waterfall of a trace: a line for each row, with a bar that fits the width."""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

from cortex.runtime.executions.view import Waterfall, WaterfallRow
from cortex.runtime.kernel import duration
from cortex.runtime.models import dollars

NAME_MOST, NAME_LEAST = 34, 16
BAR_LEAST = 14
PARTS = " ▏▎▍▌▋▊▉█"  # of a character that is filled from the left, in eighths
GOOD = frozenset(
    ("passed", "completed", "compiled", "responded", "returned", "recorded", "skipped", "found")
)


class WaterfallLine(NamedTuple):
    """One line, and how a terminal shows it."""

    text: str
    style: str = ""


class _Column(NamedTuple):
    head: str
    width: int
    cell: Callable[[WaterfallRow], str]


# In the order in which they are shown, and, from the last one, given up where there is no room.
COLUMNS = (
    _Column("took", 8, lambda row: duration(row.duration_s)),
    _Column("cost", 8, lambda row: dollars(row.cost) if row.cost else ""),
    _Column("out", 6, lambda row: brief(row.usage.output)),
    _Column("in", 6, lambda row: brief(row.usage.input)),
    _Column("context", 7, lambda row: brief(row.context_tokens)),
    _Column("read", 6, lambda row: brief(row.usage.cached_read)),
    _Column("written", 7, lambda row: brief(row.usage.cached_write)),
    _Column("begin", 8, lambda row: duration(row.begin_s)),
)
ORDER = ("begin", "took", "context", "in", "read", "written", "out", "cost")


def waterfall_lines(
    waterfall: Waterfall, width: int, spared: Collection[str] = ()
) -> Iterator[WaterfallLine]:
    """The lines of *waterfall*, without those of the *spared* spans; at most *width* columns."""
    rows = [row for row in waterfall.rows if row.span not in spared]
    if not rows:
        return
    name = min(max(len(_name(row)) for row in rows), NAME_MOST, max(NAME_LEAST, width // 3))
    columns = _chosen(rows, width - name - BAR_LEAST - 2)
    room = max(1, width - name - 2 - sum(column.width + 1 for column in columns))
    heads = "".join(f" {column.head:>{column.width}}" for column in columns)
    yield WaterfallLine(f"{'':<{name}}  {'':<{room}}{heads}"[:width], "dim")
    for row in rows:
        cells = "".join(f" {column.cell(row):>{column.width}}" for column in columns)
        drawn = _bar(row, waterfall.duration_s, room)
        text = f"{_cut(_name(row), name)}  {drawn}{cells}".rstrip()
        yield WaterfallLine(text[:width], _style(row))


def brief(count: int) -> str:
    """A count of tokens in five characters at most; none for 0."""
    if count < 1_000:
        return str(count or "")
    for size, unit in ((1_000, "k"), (1_000_000, "M")):
        if count < 99.95 * size:
            return f"{count / size:.1f}{unit}"
        if count < 999.5 * size:
            return f"{count / size:.0f}{unit}"
    return f"{count / 1e9:.1f}G"


def _chosen(rows: Sequence[WaterfallRow], room: int) -> list[_Column]:
    """The columns that have something to show, as many as there is *room* for."""
    chosen: list[_Column] = []
    for column in COLUMNS:
        if any(column.cell(row) for row in rows) and column.width < room:
            chosen.append(column)
            room -= column.width + 1
    return sorted(chosen, key=lambda column: ORDER.index(column.head))


def _name(row: WaterfallRow) -> str:
    status = "" if row.status in GOOD else f" {row.status}"
    return f"{'  ' * row.depth}{row.kind} {row.name}{status}"


def _cut(text: str, width: int) -> str:
    if text.isascii():
        return text.ljust(width) if len(text) <= width else f"{text[: width - 1]}…"
    # Here, not at the top: rich takes its time to load.
    from rich.cells import cell_len, set_cell_size

    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return f"{set_cell_size(text, width - 1)}…"


def _bar(row: WaterfallRow, whole_s: float, width: int) -> str:
    scale = 1 / whole_s if whole_s else 0.0
    return bar(row.begin_s * scale, (row.begin_s + row.duration_s) * scale, width)


def bar(from_: float, to: float, width: int) -> str:
    """A bar between two shares of *width*: by eighths of a character, and never less than one."""
    begin = min(int(from_ * width * 8), width * 8 - 1)
    end = min(width * 8, max(begin + 1, round(to * width * 8)))
    lead = begin // 8
    filled = max(1, end - lead * 8)
    drawn = "█" * (filled // 8) + (PARTS[filled % 8] if filled % 8 else "")
    return f"{' ' * lead}{drawn}"[:width].ljust(width)


def _style(row: WaterfallRow) -> str:
    if row.status in ("open", "running", "unclaimed", "paused"):
        return "yellow"
    if row.status not in GOOD:
        return "red"
    return "bold" if row.kind == "execution" else ""
