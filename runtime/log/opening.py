"""What is done when a log is opened for writing, and when it is closed: its epochs.

Each opening begins an epoch with a random id at the position where the log then ends. That alone
makes a lost tail known to whoever saw it: the ids that they remember are not in this log, or are
over before the position that they remember. Whether the opening before was closed in good order is
noted for people; nothing depends on it.

What moves with the events (see `moving.py`) is kept beside an epoch that ended in good order.
"""

import secrets
import sqlite3
import time

import msgspec

from cortex.bus import ID_BITS, Epoch, Epochs

from .moving import packed
from .schema import Durability

KEPT = 1_024  # epochs, the newest; who knows only older ones begins again


class Opening(msgspec.Struct, frozen=True):
    """One opening of a log for writing."""

    epochs: Epochs  # the newest last, which is its own
    unclean: bool  # the one before was not closed
    ended: int | None  # where the log ended when that was closed, where it ends elsewhere now


def begin(writer: sqlite3.Connection, head: int, durability: Durability) -> Opening:
    """Begin an epoch at *head*; on disk when this is back, whatever the durability."""
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
    """Note that *epoch* ended in good order, and what moves with the events then."""
    writer.execute(
        "update epochs set ended = ?, state = ? where id = ?", (head, packed(writer), epoch.id)
    )


def ended_at(connection: sqlite3.Connection) -> int | None:
    """Where the log ended when it was closed; None where it was not, or is new."""
    (ended,) = connection.execute(
        "select ended from epochs order by number desc limit 1"
    ).fetchone() or (None,)
    return ended


def epochs_of(connection: sqlite3.Connection) -> Epochs:
    """The epochs of a log, the newest last."""
    rows = connection.execute("select id, start from epochs order by number")
    return tuple(Epoch(*row) for row in rows)


def known_epochs(reader: sqlite3.Connection) -> Epochs:
    """The same for one that is only read, which may be of a format without them."""
    try:
        return epochs_of(reader)
    except sqlite3.OperationalError:
        return ()


def new_id() -> int:
    """The id of a new epoch."""
    return secrets.randbits(ID_BITS) | 1
