"""What moves with a log's events and does not fit them: shown, and put right on a person's word.

Everything is put right in one transaction, with an epoch of its own that has begun and ended in it:
a kill leaves the log as it was or as it is to be. The event that tells of it is noted in the same
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
from .errors import LogAlteredError, LogCorruptError
from .failures import BUSY_S, Translated
from .fitting import Facts, Mending, fitted
from .moving import Difference, Tables, copy_of, differences, read_tables, summary
from .opening import new_id
from .owner import OwnerLock
from .schema import EPOCHS_FORMAT, open_reader, open_writer, read_meta
from .statements import put_many
from .verify import ends

PAGE = 1_024  # events that are read at once
NOTED = "noted"  # in `meta`: the event that the next hub records, JSON
ROWS_TOLD = 64  # by the event
NO_COPY = "no readable copy of what it was is in it: only `--accept` is left"

How = Literal["restored", "accepted"]


class StateReport(msgspec.Struct, frozen=True):
    """What does not fit, and what would become of it."""

    altered: bool  # it is not what it was at the last close
    open: bool  # a hub has the log now, or it was not closed in good order: nothing to compare with
    copied: bool  # what it was is known
    differences: tuple[Difference, ...] = ()  # from what it was
    mendings: tuple[Mending, ...] = ()  # rows as they are that the events contradict

    @property
    def fits(self) -> bool:
        """Whether nothing has to be done."""
        return not self.altered and not self.mendings


class Mended(msgspec.Struct, frozen=True):
    """What was done."""

    how: How
    differences: tuple[Difference, ...]  # of the rows before from those after
    mendings: tuple[Mending, ...]  # of them, what the events determined


def examine(path: Path, busy_s: float = BUSY_S) -> StateReport:
    """What in the log at *path* does not fit its events, or is not what it was; nothing is changed.

    Raises:
        LogError: It cannot be read.
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
    """Make what moves with the events fit them again: as it was, or as it is now.

    Args:
        path: The log, which nobody else has open for writing.
        how: "restored" puts back what was there at the last close, "accepted" keeps what is there.
            What the events determine is as they say, either way.
        by: Who wants it so.
        busy_s: How long to wait for a program that locks the file without owning it.

    Raises:
        LogAlteredError: What it was is not known.
        LogError: It cannot be written; it is as it was.
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
    """The event that the next hub is to record."""
    (text,) = reader.execute("select value from meta where name = ?", (NOTED,)).fetchone() or ("",)
    if not text:
        return None
    return Draft.of(msgspec.json.decode(text, type=LogStateMended))


def forget_noted(writer: sqlite3.Connection) -> None:
    """It is recorded, in the same transaction."""
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
    """An opening in which nothing was recorded, and which ended in good order."""
    (number,) = writer.execute("select coalesce(max(number), 0) from epochs").fetchone()
    head, now_ns = ends(writer)[0], time.time_ns()
    writer.execute("update epochs set state = null")
    writer.execute(
        "insert into epochs values (?, ?, ?, ?, ?, ?)",
        (number + 1, new_id(), head, now_ns, head, moving.packed(writer)),
    )


def _facts(path: Path, connection: sqlite3.Connection) -> Facts:
    facts = Facts()
    for record in _records(connection):
        try:
            facts.take(decode(record))
        except msgspec.MsgspecError as error:
            problem = f"the record cannot be decoded ({error})"
            raise LogCorruptError(str(path), problem, facts.head + 1) from error
    return facts


def _records(connection: sqlite3.Connection) -> Iterator[bytes]:
    after = 0
    query = "select position, record from events where position > ? order by position limit ?"
    while page := connection.execute(query, (after, PAGE)).fetchall():
        yield from (record for _, record in page)
        after = page[-1][0]
