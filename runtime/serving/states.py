"""Reports cursors, work, deadlines and receipts that do not fit a log's events, for people."""

from collections.abc import Iterator

import msgspec

from cortex.runtime.log import Difference, Mended, Mending, StateReport, summary

FITS = "cursors, work, deadlines and receipts fit the log"
UNKNOWN = "they were changed since the log was closed, and no copy of what they were can be read"


class StateRow(msgspec.Struct):
    """One row that changed, or that the events contradict."""

    table: str
    row: str
    what: str  # "changed", "added", "removed", or the contradiction
    was: dict[str, str] = {}
    now: dict[str, str] = {}
    becomes: str = ""  # the correct value, if the events determine it


class StateDocument(msgspec.Struct):
    """Whether cursors, work, deadlines and receipts fit the log's events."""

    fits: bool
    summary: str = FITS
    rows: list[StateRow] = []
    copied: bool = False  # there is a copy from the last close
    up: bool = False  # a hub is running: its state is compared with the disk
    compared: bool = True  # False: the log was not closed cleanly, and no hub is running

    @property
    def lines(self) -> list[str]:
        """A line for each row."""
        return [_line(row) for row in self.rows]


class MendedDocument(msgspec.Struct):
    """The result of a repair."""

    how: str  # "restored" or "accepted"; empty if nothing had to be repaired
    done: str  # how many rows of which table were changed
    mended: list[str] = []  # corrections that the events determined


def state_document(report: StateReport, live: tuple[str, ...] | None) -> StateDocument:
    """The report of a check; *live*: differences from a running hub's state, or None."""
    rows = [_changed(each) for each in report.differences]
    rows += [_contradicted(each) for each in report.mendings]
    rows += [_astray(name) for name in live or ()]
    document = StateDocument(
        fits=report.fits and not live,
        rows=rows,
        copied=report.copied,
        up=live is not None,
        compared=not report.open or live is not None,
    )
    document.summary = _summary(report, live, document)
    return document


def mended_document(done: Mended) -> MendedDocument:
    """The report of a repair."""
    mended = [_line(_contradicted(each)) for each in done.mendings]
    return MendedDocument(done.how, summary(list(done.differences)), mended)


def _summary(report: StateReport, live: tuple[str, ...] | None, document: StateDocument) -> str:
    if document.fits:
        if document.compared:
            return FITS
        return f"{FITS}; it was not closed in good order, so there is no copy to compare with"
    found = [summary(list(report.differences)) if report.copied else ""]
    if report.altered and not report.copied:
        found.append(UNKNOWN)
    if report.mendings:
        found.append(f"the events contradict {len(report.mendings):,} rows")
    if live:
        found.append(f"the hub has {len(live):,} rows otherwise")
    return "; ".join(filter(None, found))


def _changed(each: Difference) -> StateRow:
    return StateRow(each.table, each.row, each.what, each.was, each.now)


def _contradicted(each: Mending) -> StateRow:
    return StateRow(each.table, each.row, each.problem, becomes=each.becomes)


def _astray(name: str) -> StateRow:
    table, _, row = name.partition(" ")
    return StateRow(table, row, "not as the hub has it")


def _line(row: StateRow) -> str:
    return " ".join((f"{row.table} {row.row}: {row.what}", *_values(row))).rstrip()


def _values(row: StateRow) -> Iterator[str]:
    if row.becomes:
        yield f"-> {row.becomes}"
    elif row.what == "changed":
        yield ", ".join(f"{name} {was} -> {row.now[name]}" for name, was in row.was.items())
    elif row.was or row.now:
        yield "(" + ", ".join(f"{name} {v}" for name, v in (row.was or row.now).items()) + ")"
