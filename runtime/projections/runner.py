"""Keeps projections at the head of a log: tables and checkpoints move in one transaction.

A checkpoint holds the leaf hash of its last record, so that another log, or one that was restored
from a backup, is noticed and projected anew. A damaged file is thrown away and rebuilt.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import msgspec

from cortex.bus import Log, Recorded, decode
from cortex.runtime.log import (
    LogAccessError,
    LogHeldError,
    NotALogError,
    OwnerLock,
    create_private,
    leaf_hash,
)

from .errors import (
    ProjectionDamagedError,
    ProjectionDiskError,
    ProjectionError,
    ProjectionsHeldError,
    RecordUnreadableError,
    damaged,
    projection_error,
)
from .projection import Projection

SPAN = 10_000  # events between two flushes
PAGE = 2_000  # events read at once
PAGE_BYTES = 8 << 20

CHECKPOINTS = """
create table if not exists checkpoints (
    name     text    primary key,
    version  integer not null,     -- of the projection that made the tables
    position integer not null,     -- every event up to here is in the tables
    leaf     blob    not null,     -- leaf hash of that event, empty at 0
    tables   text    not null      -- JSON; what to drop when the version changes
) strict
"""


class Runner:
    """The one writer of a projections file. `open` makes one; one thread at a time may use it."""

    def __init__(self, path: Path, projections: Sequence[Projection], owner: OwnerLock) -> None:
        self.path = path
        self._projections = list(projections)
        self._owner = owner
        self._positions: dict[str, int] = {}
        self._connection: sqlite3.Connection | None = None
        self._resting = False
        self._at_head = False

    @classmethod
    def open(cls, path: Path | str, projections: Sequence[Projection]) -> Self:
        """Open or make the file at *path* for *projections*; `advance` then fills it.

        Raises:
            ProjectionsHeldError: Another process does this; read a snapshot instead.
            ProjectionDiskError: The file cannot be made or written.
        """
        path = Path(path)
        runner = cls(path, projections, _own(path))
        try:
            runner._load_or_mend()
        except BaseException:
            runner.close()
            raise
        return runner

    @property
    def position(self) -> int:
        """Every projection holds every event up to here."""
        return min(self._positions.values(), default=0)

    @property
    def at_head(self) -> bool:
        """Whether the last `advance` came to the end of the log."""
        return self._at_head

    def advance(self, log: Log, spans: int | None = None) -> int:
        """Project what *log* has and the tables do not; the position reached comes back.

        With *spans* at most so many times `SPAN` events; each is kept before the next begins.

        Where it fails the file is let go until the next call: whoever holds this runner may be
        gone by then, and another one in its place.

        Raises:
            RecordUnreadableError: A record cannot be decoded; the tables end before its span.
            ProjectionDiskError: The tables are as they were; repeat when there is room.
        """
        if self._resting:
            self._owner = _own(self.path)
        try:
            if self._resting:
                self._load_or_mend()
                self._resting = False
            return self._advance(log, spans)
        except BaseException:
            self.close()
            self._resting = True
            raise

    def close(self) -> None:
        """Release the file; a second call does nothing."""
        self._disconnect()
        self._owner.release()
        self._resting = False

    def _advance(self, log: Log, spans: int | None) -> int:
        with self._mending():
            return self._catch_up(log, spans)
        # The file was damaged and is gone: once more, into a new one.
        with self._mending():
            self._load()
            return self._catch_up(log, spans)
        raise ProjectionDamagedError(str(self.path), "again, right after it was made anew")

    def _load_or_mend(self) -> None:
        with self._mending():
            self._load()
        if self._connection is None:
            self._load()

    def _catch_up(self, log: Log, spans: int | None) -> int:
        self._compare(log)
        self._at_head = False
        while not self._at_head and spans != 0:
            self._at_head = not self._step(log)
            spans = None if spans is None else spans - 1
        return self.position

    @contextmanager
    def _mending(self) -> Iterator[None]:
        """Throw a damaged file away and go on after the block; raise anything else."""
        try:
            yield
        except sqlite3.Error as error:
            if not damaged(error):
                raise projection_error(str(self.path), error) from error
            self._disconnect()
            for end in ("", "-wal", "-shm"):
                self.path.with_name(self.path.name + end).unlink(missing_ok=True)

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _load(self) -> None:
        create_private(self.path)  # again, where a damaged one was thrown away
        self._connection = connection = sqlite3.connect(
            self.path, isolation_level=None, check_same_thread=False
        )
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = normal")
        connection.execute(CHECKPOINTS)
        for projection in self._projections:
            found = connection.execute(
                "select version, position from checkpoints where name = ?", (projection.name,)
            ).fetchone()
            if found is None or found[0] != projection.version:
                self._reset(projection)
            else:
                self._positions[projection.name] = found[1]

    def _reset(self, projection: Projection) -> None:
        """Drop the tables that *projection* has, make them anew, and start from position 0."""
        with self._transaction() as connection:
            old = connection.execute(
                "select tables from checkpoints where name = ?", (projection.name,)
            ).fetchone()
            for table in msgspec.json.decode(old[0], type=list[str]) if old else ():
                connection.execute(f'drop table if exists "{table}"')
            before = _tables(connection)
            for statement in projection.tables:
                connection.execute(statement)
            made = msgspec.json.encode(sorted(_tables(connection) - before)).decode()
            connection.execute(
                "replace into checkpoints values (?, ?, 0, x'', ?)",
                (projection.name, projection.version, made),
            )
        self._positions[projection.name] = 0

    def _compare(self, log: Log) -> None:
        """Start anew where the last projected record is not the one that *log* has there."""
        connection = self._open_connection()
        for projection in self._projections:
            position, leaf = connection.execute(
                "select position, leaf from checkpoints where name = ?", (projection.name,)
            ).fetchone()
            if position and log.leaf_hashes(position, position) != leaf:
                self._reset(projection)

    def _step(self, log: Log) -> bool:
        """Project one span; False where that was the last, or there was none."""
        first = position = self.position
        behind = [p for p in self._projections if self._positions[p.name] < first + SPAN]
        changes = {projection.name: projection.begin() for projection in behind}
        last = b""
        while position < first + SPAN:
            page = log.read(position, min(PAGE, first + SPAN - position), PAGE_BYTES)
            if not page:
                break
            records = _decode(page, position + 1)
            for name, change in changes.items():
                done = max(0, self._positions[name] - position)
                if done < len(records):
                    change.apply(records[done:] if done else records)
            position, last = position + len(page), page[-1]
        if position == first:
            return False
        moved = [name for name in changes if self._positions[name] < position]
        with self._transaction() as connection:
            for name in moved:
                changes[name].flush(connection)
                connection.execute(
                    "update checkpoints set position = ?, leaf = ? where name = ?",
                    (position, leaf_hash(last), name),
                )
        self._positions |= dict.fromkeys(moved, position)
        return position == first + SPAN

    def _open_connection(self) -> sqlite3.Connection:
        if self._connection is None:
            raise ProjectionError(f"{self.path} is closed: open it again before using it")
        return self._connection

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        connection = self._open_connection()
        connection.execute("begin immediate")
        try:
            yield connection
            connection.execute("commit")
        except BaseException:
            if connection.in_transaction:
                connection.execute("rollback")
            raise


def _own(path: Path) -> OwnerLock:
    try:
        return OwnerLock(path)
    except LogHeldError as error:
        raise ProjectionsHeldError(str(path), error.pid) from error
    except (LogAccessError, NotALogError) as error:  # the lock is the same as a log's
        raise ProjectionDiskError(str(path), error.problem) from error


def _tables(connection: sqlite3.Connection) -> set[str]:
    rows = connection.execute("select name from sqlite_master where type = 'table'")
    return {name for (name,) in rows}


def _decode(page: Sequence[bytes], first: int) -> list[Recorded]:
    try:
        return _DECODE_PAGE(b"\xdd" + len(page).to_bytes(4, "big") + b"".join(page))
    except msgspec.MsgspecError:
        for position, data in enumerate(page, first):
            try:
                decode(data)
            except msgspec.MsgspecError as error:
                raise RecordUnreadableError(position, str(error)) from error
        raise


# The page as one msgpack array: one call is faster than one for each record.
_DECODE_PAGE = msgspec.msgpack.Decoder(list[Recorded]).decode
