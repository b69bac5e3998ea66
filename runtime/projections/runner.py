"""Keeps projections at the head of a log: tables and checkpoints move in one transaction.

A checkpoint holds the leaf hash of its last record, so that another log, or one that was restored
from a backup, is noticed and projected anew. A damaged file is thrown away and rebuilt.

A projection of which another version made the tables is built in a second file, by a runner of its
own. Once that is at the head, one transaction takes its rows over. Until then readers see the old
tables, and so they do after a kill; the next start continues with the second file.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
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
from .tables import make, take_over

SPAN = 10_000  # events between two flushes
PAGE = 2_000  # events read at once
PAGE_BYTES = 8 << 20
PARTS = ("", "-wal", "-shm")  # of a database

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

    def __init__(
        self, path: Path, projections: Sequence[Projection], owner: OwnerLock, *, beside: bool
    ) -> None:
        self.path = path
        self._projections = list(projections)
        self._owner = owner
        self._beside = beside  # False: nobody reads it, so that tables may be dropped at once
        self._changed: list[Projection] = []  # they are built beside their tables
        self._next: Runner | None = None  # builds them
        self._positions: dict[str, int] = {}  # of the others
        self._connection: sqlite3.Connection | None = None
        self._resting = False
        self._at_head = False

    @classmethod
    def open(
        cls, path: Path | str, projections: Sequence[Projection], *, beside: bool = True
    ) -> Self:
        """Open or make the file at *path* for *projections*; `advance` then fills it.

        If *beside* is false, tables that another version made are dropped at once.

        Raises:
            ProjectionsHeldError: Another process does this; read a snapshot instead.
            ProjectionDiskError: The file cannot be made or written.
        """
        path = Path(path)
        runner = cls(path, projections, _own(path), beside=beside)
        try:
            runner._load_or_mend()
        except BaseException:
            runner.close()
            raise
        return runner

    @property
    def position(self) -> int:
        """Every projection of this version holds every event up to here."""
        changed = [self._next.position if self._next else 0] if self._changed else []
        return min([*self._positions.values(), *changed], default=0)

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

    def rebuild(self, log: Log, names: Iterable[str]) -> list[str]:
        """Fold the projections of these *names* again, and those that another version made.

        Readers see the tables of before until the new ones are at the head of *log*.

        Returns:
            The names of those that were rebuilt.
        """
        changed = {each.name for each in self._changed} | set(names)
        self._changed = [each for each in self._projections if each.name in changed]
        _remove(next_to(self.path))
        try:
            with self._mending():
                self._build_beside(log, None)
        except BaseException:
            self.close()
            raise
        return sorted(changed)

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
        self._at_head, left = False, spans
        while not self._at_head and left != 0:
            self._at_head = not self._step(log)
            left = None if left is None else left - 1
        if self._changed:
            self._at_head = self._build_beside(log, spans) and self._at_head
        return self.position

    def _build_beside(self, log: Log, spans: int | None) -> bool:
        """Advance the second file, and take it over once it is at the head; whether it was."""
        path = next_to(self.path)
        if self._next is None:
            self._next = Runner.open(path, self._changed, beside=False)
        self._next.advance(log, spans)
        if not self._next.at_head:
            return False
        self._next.close()
        self._next = None
        connection = self._open_connection()
        connection.execute("attach ? as beside", (str(path),))
        try:
            with self._transaction():
                for projection in self._changed:
                    self._positions[projection.name] = take_over(connection, projection)
        finally:
            connection.execute("detach beside")
        self._changed = []
        _remove(path)
        return True

    @contextmanager
    def _mending(self) -> Iterator[None]:
        """Delete a damaged file and continue after the block; raise other errors."""
        try:
            yield
        except sqlite3.Error as error:
            if not damaged(error):
                raise projection_error(str(self.path), error) from error
            self._disconnect()
            for end in PARTS:
                self.path.with_name(self.path.name + end).unlink(missing_ok=True)

    def _disconnect(self) -> None:
        if self._next is not None:
            self._next.close()
            self._next = None
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
        self._changed, self._positions = [], {}
        for projection in self._projections:
            found = connection.execute(
                "select version, position from checkpoints where name = ?", (projection.name,)
            ).fetchone()
            if found is not None and found[0] == projection.version:
                self._positions[projection.name] = found[1]
            elif found is not None and self._beside:
                self._changed.append(projection)
            else:
                self._reset(projection)
        if not self._changed:
            _remove(next_to(self.path))  # a kill left it, when its rows were taken over

    def _reset(self, projection: Projection) -> None:
        """Drop the tables that *projection* has, make them anew, and start from position 0."""
        with self._transaction() as connection:
            made = make(connection, projection)
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
                if projection in self._changed:
                    self._changed.remove(projection)

    def _step(self, log: Log) -> bool:
        """Project one span; False if it was the last, or there was none."""
        first = position = min(self._positions.values(), default=None)
        if first is None or position is None:
            return False
        current = [p for p in self._projections if p.name in self._positions]
        behind = [p for p in current if self._positions[p.name] < first + SPAN]
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


def next_to(path: Path) -> Path:
    """The second file, in which changed projections of the one at *path* are built."""
    return path.with_name(f"{path.name}.next")


def _remove(path: Path) -> None:
    """Remove the second file at *path*; only who holds the first may do so."""
    for end in (*PARTS, ".lock"):
        path.with_name(path.name + end).unlink(missing_ok=True)


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
