"""What moves with a log's events and does not fit them, for people."""

from collections.abc import Iterator

import msgspec

from cortex.runtime.log import Difference, Mended, Mending, StateReport, summary

FITS = "cursors, work, deadlines and receipts fit the log"
UNKNOWN = "they were changed since the log was closed, and no copy of what they were can be read"


class StateRow(msgspec.Struct):
    """One row that is not what it was, or that the events contradict."""

    table: str
    row: str
    what: str  # "changed", "added", "removed", or what contradicts it
    was: dict[str, str] = {}
    now: dict[str, str] = {}
    becomes: str = ""  # where the events say what it has to be


class StateDocument(msgspec.Struct):
    """Whether what moves with a log's events fits them."""

    fits: bool
    summary: str = FITS
    rows: list[StateRow] = []
    copied: bool = False  # what it was at the last close is known
    up: bool = False  # a hub is up: what it goes by is compared with what is on disk
    compared: bool = True  # False: the log was not closed in good order, and no hub is up

    @property
    def lines(self) -> list[str]:
        """A line for each row."""
        return [_line(row) for row in self.rows]


class MendedDocument(msgspec.Struct):
    """What was put right."""

    how: str  # "restored" or "accepted"; empty where nothing had to be
    done: str  # how many rows of which table were changed
    mended: list[str] = []  # what the events determined


def state_document(report: StateReport, live: tuple[str, ...] | None) -> StateDocument:
    """What a look at a log gave; *live* says what its hub has otherwise, None where none is up."""
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
    """What `mend` did."""
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
