"""Shows and repairs cursors, work, deadlines and receipts that do not fit a log's events.

A repair is one transaction, with an epoch of its own that begins and ends in it:
a kill leaves the log unchanged or repaired. The event about the repair is noted in the same
transaction, and the next hub records it with its first one.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Literal

import msgspec

from cortex.bus import Draft, decode
from cortex.bus.events import LogStateMended

from . import moving
from .archive import Archive
from .errors import LogAlteredError, LogCorruptError
from .failures import BUSY_S, Translated
from .fitting import Facts, Mending, fitted
from .moving import Difference, Tables, copy_of, differences, read_tables, summary
from .opening import new_id
from .owner import OwnerLock
from .schema import EPOCHS_FORMAT, open_reader, open_writer, read_meta
from .statements import put_many
from .verify import ends

PAGE = 1_024  # events per read
NOTED = "noted"  # in `meta`: the event that the next hub records, JSON
ROWS_TOLD = 64  # in the event
NO_COPY = "no readable copy of what it was is in it: only `--accept` is left"

How = Literal["restored", "accepted"]


class StateReport(msgspec.Struct, frozen=True):
    """What does not fit, and how a repair would change it."""

    altered: bool  # it differs from the last close
    open: bool  # a hub uses the log, or it was not closed cleanly: nothing to compare with
    copied: bool  # whether a copy from the last close exists
    differences: tuple[Difference, ...] = ()  # from the last close
    mendings: tuple[Mending, ...] = ()  # current rows that the events contradict

    @property
    def fits(self) -> bool:
        """Whether no repair is needed."""
        return not self.altered and not self.mendings


class Mended(msgspec.Struct, frozen=True):
    """The result of a repair."""

    how: How
    differences: tuple[Difference, ...]  # between the rows before and after
    mendings: tuple[Mending, ...]  # the changes that the events determined


def examine(path: Path, busy_s: float = BUSY_S) -> StateReport:
    """What in the log at *path* does not fit its events, or changed since the close; read-only.

    Raises:
        LogError: The log cannot be read.
    """
    with Translated(path, busy_s), closing(open_reader(path, busy_s)) as reader:
        reader.execute("begin")  # one snapshot: a hub may be writing
        now = read_tables(reader)
        was, altered, is_open = None, False, True
        if read_meta(path, reader).format >= EPOCHS_FORMAT:
            was, altered = copy_of(reader), moving.altered(reader)
            is_open = not moving.is_closed(reader)
        _, mendings = fitted(now, _facts(path, reader))
        return StateReport(
            altered=altered,
            open=is_open,
            copied=was is not None,
            differences=tuple(differences(was, now)) if was and altered else (),
            mendings=tuple(mendings),
        )


def mend(path: Path, how: How, by: str, busy_s: float = BUSY_S) -> Mended:
    """Repair cursors, work, deadlines and receipts: as at the last close, or as they are now.

    Args:
        path: The log, which no other process has open for writing.
        how: "restored" goes back to the last close, "accepted" keeps the current rows.
            Rows that the events determine follow the events in both cases.
        by: The person or program that decided.
        busy_s: How long to wait for a program that locks the file without owning it.

    Raises:
        LogAlteredError: There is no copy from the last close.
        LogError: The log cannot be written; it is unchanged.
    """
    owner = OwnerLock(path)
    try:
        with Translated(path, busy_s), closing(open_writer(path, "full", busy_s)) as writer:
            writer.execute("begin immediate")
            try:
                done = _mend(path, writer, how, by)
                writer.execute("commit")
            except BaseException:
                if writer.in_transaction:
                    writer.execute("rollback")
                raise
        return done
    finally:
        owner.release()


def noted(reader: sqlite3.Connection) -> Draft | None:
    """The event that the next hub must record."""
    (text,) = reader.execute("select value from meta where name = ?", (NOTED,)).fetchone() or ("",)
    if not text:
        return None
    return Draft.of(msgspec.json.decode(text, type=LogStateMended))


def forget_noted(writer: sqlite3.Connection) -> None:
    """Remove the note: the event is recorded, in the same transaction."""
    writer.execute("delete from meta where name = ?", (NOTED,))


def _mend(path: Path, writer: sqlite3.Connection, how: How, by: str) -> Mended:
    now = read_tables(writer)
    start = copy_of(writer) if how == "restored" else now
    if start is None:
        raise LogAlteredError(str(path), NO_COPY)
    made, mendings = fitted(start, _facts(path, writer))
    changed = differences(now, made)
    unlike = differences(copy_of(writer) or now, now)
    _write(writer, made)
    told = LogStateMended(
        how=how,
        by=by,
        found=summary(unlike),
        done=summary(changed),
        rows=tuple(f"{each.table} {each.row}" for each in (*unlike, *changed))[:ROWS_TOLD],
    )
    writer.execute("replace into meta values (?, ?)", (NOTED, msgspec.json.encode(told).decode()))
    _end_epoch(writer)
    return Mended(how, tuple(changed), tuple(mendings))


def _write(writer: sqlite3.Connection, made: Tables) -> None:
    for table, rows in made.items():
        writer.execute(f"delete from {table}")  # noqa: S608  # ours
        put_many(writer, f"insert into {table}", list(rows.values()))


def _end_epoch(writer: sqlite3.Connection) -> None:
    """An opening in which nothing was recorded, and which was closed cleanly."""
    (number,) = writer.execute("select coalesce(max(number), 0) from epochs").fetchone()
    head, now_ns = ends(writer)[0], time.time_ns()
    writer.execute("update epochs set state = null")
    writer.execute(
        "insert into epochs values (?, ?, ?, ?, ?, ?)",
        (number + 1, new_id(), head, now_ns, head, moving.packed(writer)),
    )


def _facts(path: Path, connection: sqlite3.Connection) -> Facts:
    facts = Facts()
    for record in _records(path, connection):
        try:
            facts.take(decode(record))
        except msgspec.MsgspecError as error:
            problem = f"the record cannot be decoded ({error})"
            raise LogCorruptError(str(path), problem, facts.head + 1) from error
    return facts


def _records(path: Path, connection: sqlite3.Connection) -> Iterator[bytes]:
    with closing(Archive(path)) as archive:
        archive.load(connection)
        after = archive.through
        yield from (record for _, record in archive.records(0, after))
    query = "select position, record from events where position > ? order by position limit ?"
    while page := connection.execute(query, (after, PAGE)).fetchall():
        yield from (record for _, record in page)
        after = page[-1][0]
