"""The event log in SQLite: one transaction a batch, one multi-row statement a table.

Every statement releases the GIL and queues for it again, which beside a busy thread costs a switch
interval each; hence few statements, however many rows. Reading has a connection of its own, so that
a page of old events never waits for a write, nor a write for it.
"""

import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import msgspec

from cortex.bus import Batch, Deadline, Receipt, Row, State, SubscriptionState, Work, decode

from . import mending, moving, opening, tiles
from .archive import Archive
from .checked import check_page, check_stream, leaves_between
from .errors import (
    LogAccessError,
    LogAlteredError,
    LogClosedError,
    LogCorruptError,
    RowRefusedError,
)
from .failures import BUSY_S, Translated
from .owner import OwnerLock
from .reading import blaming, rows_after, rows_of_stream, version_of, versions_of
from .schema import EPOCHS_FORMAT, Durability, Meta, open_reader, open_writer, read_meta
from .state_tables import StateTables, misplaced
from .statements import FULL, put_flat, put_many, sync_fully
from .verify import ends, verify

ALTERED = (
    "a cursor, work, a deadline or a receipt was changed, added or removed by another program "
    "since it was closed"
)
EVENT_COLUMNS = 4  # position, stream, version, record
# A refused insert ends its transaction. A plain insert of many rows would have to be undone
# alone: for that SQLite copies each changed page into a temporary file, a new one per batch.
ADD = "insert or rollback into"

Filter = tuple[tuple[str, str | None], ...]


class EventLog:
    """An append-only log in one file; `open` returns one.

    `write` may be called from any thread, one at a time; everything else from any thread at once.
    """

    def __init__(self, path: Path, busy_s: float, owner: OwnerLock | None) -> None:
        self.path = path
        self._translated = Translated(path, busy_s)
        self._owner = owner  # None for a log that is only read
        self._writer: sqlite3.Connection | None = None
        self._reader: sqlite3.Connection | None = None
        self._reading = threading.Lock()
        self._turn = threading.Lock()  # its holder uses the writer
        self._head = 0
        self.archive = Archive(path, follows=owner is None)
        self.appended: Callable[[int], None] | None = None  # gets the head after each write
        self._opening: opening.Opening | None = None  # None for a log that is only read
        self._tables = StateTables()

    @classmethod
    def open(
        cls,
        path: Path | str,
        *,
        durability: Durability = "normal",
        readonly: bool = False,
        busy_s: float = BUSY_S,
        held_for: str = "",
        like: Meta | None = None,
    ) -> Self:
        """Open the log at *path*, and create it if it is to be written and missing.

        Args:
            path: The file; beside it SQLite keeps ``-wal`` and ``-shm``, and we ``.lock``.
            durability: "normal" survives the kill of the process, "full" the loss of power.
            readonly: Works beside the owner and takes no lock.
            busy_s: How long to wait for a program that locks the file without owning it.
            held_for: A word for the owner, shown to processes that find the log held.
            like: For a new log that is made again from its events: the id and time that it had.

        Raises:
            LogError: The log cannot be used; the subclass says why and what to do.
        """
        path = Path(path)
        log = cls(path, busy_s, None if readonly else OwnerLock(path, held_for))
        try:
            with log._translated:
                if not readonly:
                    log._writer = open_writer(path, durability, busy_s, like)
                log._reader = open_reader(path, busy_s)
                log.archive.load(log._reader)
                log._load_head()
                if log._writer is not None:
                    log.check_state()
                    if opening.ended_at(log._writer) != log._head:  # not shown by the copy
                        log.check_fit()
                    log._opening = opening.begin(log._writer, log._head, durability)
        except BaseException:
            log.close()
            raise
        return log

    @property
    def head(self) -> int:
        """Position of the newest event, as far as this object has written or seen it."""
        return self._head

    def meta(self) -> Meta:
        """The metadata of the log."""
        with self._page() as reader:
            return read_meta(self.path, reader)

    def state(self) -> State:
        """Everything but the events themselves."""
        with self._page() as reader:
            reader.execute("begin")  # one snapshot of all tables: the owner may be writing
            try:
                return self._state(reader)
            except msgspec.MsgspecError as error:
                problem = f"a filter or an event in it cannot be decoded ({error})"
                raise LogAlteredError(str(self.path), problem) from error
            finally:
                reader.execute("rollback")

    def write(self, batch: Batch) -> None:
        """Make *batch* durable, whole or not at all; before returning.

        Raises:
            RowRefusedError: The rows do not continue the log.
            LogError: Nothing of the batch was kept; the message says why.
        """
        if batch.empty():
            return
        values = self._columns(batch.rows)
        records = values[3::EVENT_COLUMNS]
        runs = tiles.runs(self._head, records)
        writer, tables = self._writing(), self._tables
        with self._turn, self._translated:
            level = sync_fully(writer) if batch.sync else FULL
            try:
                writer.execute("begin immediate")
                if records:
                    _put_events(writer, values)
                    put_many(writer, f"{ADD} tiles", runs)
                tables.put(writer, batch)
                if batch.told:
                    mending.forget_noted(writer)
                writer.execute("commit")
            except BaseException:
                tables.undone()
                if writer.in_transaction:  # when the disk fails, SQLite has rolled back already
                    writer.execute("rollback")
                raise
            finally:
                if level < FULL:
                    writer.execute(f"pragma synchronous = {level}")
        self._head += len(records)
        if self.appended is not None:
            self.appended(self._head)

    def read(self, after: int, limit: int, limit_bytes: int) -> Sequence[bytes]:
        """Records after position *after*, in order: at most *limit*, about *limit_bytes* together.

        Returns at least one if there is one, however large.

        Raises:
            LogCorruptError: One of them is in the archive, or the log was opened read-only, and
                it is not what was recorded. (Its owner does not check the rest: it only reads
                what it wrote or verified.)
        """
        page: list[tuple[int, bytes]] = []
        size_bytes = 0
        with self._page() as reader, blaming(self.archive):
            rows = rows_after(reader, self.archive, after, after + limit)
            with closing(rows):  # otherwise its snapshot would outlive the page
                for row in rows:
                    size_bytes += len(row[1])
                    if size_bytes > limit_bytes and page:
                        break
                    page.append(row)
            if self._owner is None or after < self.archive.through:
                check_page(reader, self.path, after, page)
        return [row[1] for row in page]

    def read_stream(self, stream: str, after: int, limit: int) -> Sequence[bytes]:
        """Records of one stream after its version *after*, in order, at most *limit*."""
        with self._page() as reader, blaming(self.archive):
            rows = rows_of_stream(reader, self.archive, stream, after, limit)
            if self._owner is None or (rows and rows[0][0] <= self.archive.through):
                check_stream(reader, self.path, stream, rows)
        return [row[1] for row in rows]

    def stream_version(self, stream: str) -> int:
        """The newest version of *stream*; 0 if it has none."""
        with self._page() as reader:
            return version_of(reader, self.archive, stream)

    def stream_versions(self, streams: Sequence[str]) -> Mapping[str, int]:
        """The same of each of *streams*, within one transaction."""
        with self._page() as reader:
            return versions_of(reader, self.archive, streams)

    def leaf_hashes(self, first: int, last: int) -> bytes:
        """RFC 6962 leaf hashes of positions *first* to *last*, both included, 32 bytes each."""
        with self._page() as reader:
            return leaves_between(reader, first, last)

    def verify(self) -> int:
        """Check every event against its columns, its stream, its leaf hash and the indexes.

        Works page by page beside a writer; events that are appended meanwhile are not checked.

        Returns:
            The position up to which the log is intact.

        Raises:
            LogCorruptError: With the first position that is damaged, if it has one.
        """
        self.check_state()
        with self._page() as reader:
            self.archive.refresh(reader)
        with blaming(self.archive):
            return verify(self.path, self._page, self.archive)

    def note(self, work: Callable[[sqlite3.Connection], object]) -> None:
        """Change rows about the archive, in a short transaction between two of `write`."""
        with self._between() as writer:
            work(writer)
        with self._page() as reader:
            self.archive.refresh(reader)

    def trim(self, limit: int) -> int:
        """Remove at most *limit* records that are in the archive from the table; the number left.

        One short transaction between two of `write`; later events use the pages again.
        """
        with self._page() as reader:
            (first,) = reader.execute("select coalesce(min(position), 0) from events").fetchone()
        left = self.archive.through - first + 1
        if 0 < first <= self.archive.through:
            with self._between() as writer:
                writer.execute("delete from events where position < ?", (first + min(limit, left),))
        return max(0, int(left - limit))

    @property
    def table_bytes(self) -> int:
        """How much of log.db is in use."""
        with self._page() as reader:
            (used,) = reader.execute(
                "select (page_count - freelist_count) * page_size "
                "from pragma_page_count, pragma_freelist_count, pragma_page_size"
            ).fetchone()
        return int(used)

    def check_owner(self) -> None:
        """Check, at most once a second, that this process still owns the log that it writes.

        Raises:
            LogLostError: Its lock file was removed: another process may own the log.
        """
        if self._owner is not None:
            self._owner.check()

    def check_state(self) -> None:
        """Compare cursors, work, deadlines and receipts with those at the last close.

        Raises:
            LogAlteredError: They differ, and no Cortex wrote them since.
        """
        with self._page() as reader:
            if read_meta(self.path, reader).format < EPOCHS_FORMAT or not moving.altered(reader):
                return
        raise LogAlteredError(str(self.path), ALTERED)

    def check_fit(self) -> None:
        """Check that cursors, work and deadlines refer to events that are in the log.

        Raises:
            LogAlteredError: They do not; no hub writes such rows.
        """
        problem = misplaced(self.state())
        if problem:
            raise LogAlteredError(str(self.path), problem)

    def close(self) -> None:
        """Release what the log holds; a second call does nothing."""
        with self._reading:
            if self._reader is not None:
                self._reader.close()  # first: the last one to close clears the write-ahead log
                self._reader = None
        self.archive.close()
        if self._writer is not None:
            if self._opening is not None:
                with suppress(sqlite3.Error):  # otherwise the next opening reports an unclean end
                    opening.end(self._writer, self._opening.epochs[-1], self._head)
            self._writer.close()
            self._writer = None
        if self._owner is not None:
            self._owner.release()
            self._owner = None

    @contextmanager
    def _page(self) -> Iterator[sqlite3.Connection]:
        with self._reading, self._translated:
            if self._reader is None:
                raise LogClosedError(str(self.path))
            yield self._reader

    @contextmanager
    def _between(self) -> Iterator[sqlite3.Connection]:
        """A transaction between two of `write`, which need not survive a loss of power."""
        writer = self._writing()
        with self._turn, self._translated:
            (level,) = writer.execute("pragma synchronous").fetchone()
            writer.execute("pragma synchronous = normal")
            try:
                writer.execute("begin immediate")
                yield writer
                writer.execute("commit")
            except BaseException:
                if writer.in_transaction:
                    writer.execute("rollback")
                raise
            finally:
                writer.execute(f"pragma synchronous = {level}")

    def _writing(self) -> sqlite3.Connection:
        if self._writer is not None and self._owner is not None:
            self._owner.check()
            return self._writer
        if self._reader is None:
            raise LogClosedError(str(self.path))
        raise LogAccessError(str(self.path), "it was opened for reading only")

    def _load_head(self) -> None:
        with self._page() as reader:
            head, leaves = ends(reader)
        if leaves != head:
            raise LogCorruptError(str(self.path), f"{head} events have {leaves} leaf hashes")
        self._head = head

    def _state(self, reader: sqlite3.Connection) -> State:
        newest = reader.execute(
            "select position, record from events order by position desc limit 1"
        ).fetchone()
        return State(
            head=newest[0] if newest else 0,
            time_ns=self._time_of(*newest) if newest else 0,
            standings=[
                SubscriptionState(name, kind, msgspec.json.decode(text, type=Filter), *rest)
                for name, kind, text, *rest in reader.execute("select * from subscriptions")
            ],
            work=[Work(*row) for row in reader.execute("select * from work")],
            deadlines=[Deadline(*row) for row in reader.execute("select * from deadlines")],
            receipts=[Receipt(*row) for row in reader.execute("select * from receipts")],
            epochs=self._opening.epochs if self._opening else opening.known_epochs(reader),
            unclean=self._opening is not None and self._opening.unclean,
            ended=self._opening.ended if self._opening else None,
            noted=mending.noted(reader),
        )

    def _time_of(self, position: int, record: bytes) -> int:
        try:
            return decode(record).time_ns
        except msgspec.MsgspecError as error:
            problem = f"the record cannot be decoded ({error})"
            raise LogCorruptError(str(self.path), problem, position) from error

    def _columns(self, rows: Iterable[Row]) -> list[Any]:
        """The columns of *rows*, which continue the log, row after row."""
        values: list[Any] = []
        position = self._head
        for row in rows:
            position += 1
            if row.position != position:
                raise RowRefusedError(row.position, f"the log continues with {position}")
            values += (position, row.stream, row.version, row.record)
        return values


def _put_events(writer: sqlite3.Connection, values: list[Any]) -> None:
    try:
        put_flat(writer, f"{ADD} events", EVENT_COLUMNS, values)
    except sqlite3.IntegrityError as error:
        raise RowRefusedError(values[0], str(error)) from error
