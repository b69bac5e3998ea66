"""Begins an epoch when a log is opened for writing, and ends it when the log is closed.

Each opening begins an epoch with a random id at the current end of the log. That alone
shows a lost tail to clients that saw it: the ids that they remember are not in this log, or
ended before the position that they remember. Whether the previous opening was closed cleanly is
noted for people; nothing depends on it.

Cursors, work, deadlines and receipts (see `moving.py`) are copied into an epoch that ends cleanly.
"""

import secrets
import sqlite3
import time

import msgspec

from cortex.bus import ID_BITS, Epoch, Epochs

from .moving import packed
from .schema import Durability

KEPT = 1_024  # the newest epochs; a client that only knows older ones starts again


class Opening(msgspec.Struct, frozen=True):
    """One opening of a log for writing."""

    epochs: Epochs  # the newest last: this opening
    unclean: bool  # the previous opening was not closed
    ended: int | None  # where the log was closed, if it ends elsewhere now


def begin(writer: sqlite3.Connection, head: int, durability: Durability) -> Opening:
    """Begin an epoch at *head*; on disk when this returns, whatever the durability."""
    epoch = Epoch(new_id(), head)
    writer.execute("pragma synchronous = full")
    writer.execute("begin immediate")
    try:
        before = writer.execute(
            "select number, ended from epochs order by number desc limit 1"
        ).fetchone()
        number = before[0] + 1 if before else 1
        row = (number, epoch.id, epoch.start, time.time_ns())
        writer.execute("insert into epochs values (?, ?, ?, ?, null, null)", row)
        writer.execute("delete from epochs where number <= ?", (number - KEPT,))
        writer.execute(
            "update epochs set state = null where number < ? and state is not null", (number,)
        )
        writer.execute("commit")
    except BaseException:
        if writer.in_transaction:
            writer.execute("rollback")
        raise
    writer.execute(f"pragma synchronous = {durability}")
    ended = before[1] if before else None
    return Opening(
        epochs_of(writer),
        unclean=before is not None and ended is None,
        ended=None if ended in (None, head) else int(ended),
    )


def end(writer: sqlite3.Connection, epoch: Epoch, head: int) -> None:
    """Note that *epoch* ended cleanly, with a copy of cursors, work, deadlines and receipts."""
    writer.execute(
        "update epochs set ended = ?, state = ? where id = ?", (head, packed(writer), epoch.id)
    )


def ended_at(connection: sqlite3.Connection) -> int | None:
    """Where the log was closed; None if it was not, or is new."""
    (ended,) = connection.execute(
        "select ended from epochs order by number desc limit 1"
    ).fetchone() or (None,)
    return ended


def epochs_of(connection: sqlite3.Connection) -> Epochs:
    """The epochs of a log, the newest last."""
    rows = connection.execute("select id, start from epochs order by number")
    return tuple(Epoch(*row) for row in rows)


def known_epochs(reader: sqlite3.Connection) -> Epochs:
    """The same for a log that is only read, whose format may have no epochs."""
    try:
        return epochs_of(reader)
    except sqlite3.OperationalError:
        return ()


def new_id() -> int:
    """The id of a new epoch."""
    return secrets.randbits(ID_BITS) | 1
