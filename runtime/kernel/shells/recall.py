"""Restores a component's fold: its last snapshot, then the log up to its cursor."""

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Protocol

import msgspec

from cortex.bus import Filter, Log, Recorded, decode
from cortex.runtime.log import create_private

from ..hosts.host import Host

EVERY = 10_000  # positions between two snapshots of a busy component, at least
STATE_BYTES = 512  # of a state, for which it waits one position more: a large one takes its time
LOADING = 100_000  # positions recalled between two snapshots: bounds the cost of a kill
BUSY_S = 5.0  # how long to wait for a locked file
PAGE = 1_024
PAGE_BYTES = 4 << 20
TAIL_BYTES = 4 << 20  # of unfolded records in a snapshot

LAYOUT = 2  # of the table, in `user_version`; other layouts are dropped
_TABLE = """
create table snapshots (
    component text    primary key, -- its subscription
    version   integer not null,    -- of its fold
    position  integer not null,    -- everything up to here is in it
    leaf      blob    not null,    -- leaf hash of the event at that position
    state     blob    not null,    -- what the component gave
    tail      blob    not null     -- msgpack; records that are to be recalled after it
) strict
"""


class StoredSnapshot(msgspec.Struct, frozen=True):
    """A snapshot: a fold of the log up to a position, and the hash that identifies that log."""

    position: int  # it contains everything up to here
    leaf: bytes  # leaf hash of the event at that position
    state: bytes  # the component's snapshot; empty if it has made none
    tail: tuple[bytes, ...] = ()  # records to recall after the state


class Snapshots(Protocol):
    """Keeps the newest snapshot of each component; losing it costs only time."""

    def get(self, component: str, version: int) -> StoredSnapshot | None:
        """The component's snapshot; None if there is none of this version."""
        ...

    def put(self, component: str, version: int, kept: StoredSnapshot) -> None:
        """Replace the component's snapshot."""
        ...


class MemorySnapshots:
    """Snapshots in memory, which end with the process."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[int, StoredSnapshot]] = {}

    def get(self, component: str, version: int) -> StoredSnapshot | None:
        """The component's snapshot; None if there is none of this version."""
        of_version, kept = self._kept.get(component, (version, None))
        return kept if of_version == version else None

    def put(self, component: str, version: int, kept: StoredSnapshot) -> None:
        """Replace the component's snapshot."""
        self._kept[component] = version, kept


class DiskSnapshots:
    """Snapshots in a small database of their own; a damaged database counts as empty."""

    def __init__(self, path: Path, busy_s: float = BUSY_S) -> None:
        self._path, self._busy_s = path, busy_s

    def get(self, component: str, version: int) -> StoredSnapshot | None:
        """The component's snapshot; None if there is none of this version."""
        row = None
        with self._forgiving(), closing(self._open()) as db:
            row = db.execute(
                "select position, leaf, state, tail from snapshots "
                "where component = ? and version = ?",
                (component, version),
            ).fetchone()
        if row is None:
            return None
        position, leaf, state, tail = row
        return StoredSnapshot(position, leaf, state, _TAIL(tail))

    def put(self, component: str, version: int, kept: StoredSnapshot) -> None:
        """Replace the component's snapshot."""
        tail = msgspec.msgpack.encode(kept.tail)
        row = (component, version, kept.position, kept.leaf, kept.state, tail)
        with self._forgiving(), closing(self._open()) as db:
            db.execute("replace into snapshots values (?, ?, ?, ?, ?, ?)", row)

    def _open(self) -> sqlite3.Connection:
        create_private(self._path)
        db = sqlite3.connect(self._path, timeout=self._busy_s, isolation_level=None)
        try:
            if _layout(db) != LAYOUT:
                _lay_out(db)
        except BaseException:
            db.close()
            raise
        return db

    @contextlib.contextmanager
    def _forgiving(self) -> Generator[None, None, None]:
        """Ignore an error in the block: without a snapshot the next start recalls more of the log.

        Delete the file only if it is damaged, not if it is only locked, for example.
        """
        try:
            yield
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in _BROKEN:
                for end in ("", "-journal"):
                    path = self._path.with_name(self._path.name + end)
                    with contextlib.suppress(OSError):
                        path.unlink(missing_ok=True)
        except OSError:
            pass  # it cannot be created


class Ending(Exception):  # noqa: N818  # nothing is wrong
    """The component must end before its fold reached its cursor."""


class Rest(Exception):  # noqa: N818  # a signal, like `Ending`
    """The component had no work for a while: it needs no thread until there is some."""


class Recall:
    """Restores one component's fold; does nothing for a component without a fold."""

    def __init__(
        self,
        name: str,
        version: int,
        seen: Filter,
        host: Host,
        log: Log,
        snapshots: Snapshots,
        ends: Callable[[], bool] = lambda: False,
        *,
        results: Collection[str] = (),
    ) -> None:
        self._name, self._version = name, version
        self._seen, self._host, self._log, self._snapshots = seen, host, log, snapshots
        self.results = frozenset(results)  # topics of what it publishes and has in its fold at once
        self._ends = ends  # whether the component must end; checked between two pages
        self._saved, self._every = 0, EVERY
        self._at: int | None = None  # the fold contains exactly the events up to here; None: unsure
        self._state = b""  # the state that it was restored from
        self._tail: list[bytes] | None = []  # all records after that; None: too many, or unknown
        self._tail_bytes = 0

    def load(self, cursor: int, head: int = 0) -> int:
        """Bring the fold to *cursor*; with its own results that stand in the log up to *head*.

        Returns:
            The position up to which its results are in the fold.

        Raises:
            Ending: The component must end; its progress is stored.
        """
        if not self._version:
            return cursor
        after = self._restore(cursor)
        with _LONG_WAY if cursor - after >= LOADING else contextlib.nullcontext():
            self._load(after, cursor)
        self.arrive(cursor)
        if not self.results or head <= cursor:
            return cursor
        self._load_results(cursor, head)
        return head

    def is_result(self, record: Recorded) -> bool:
        """Whether the fold had *record* as soon as the component published it."""
        return record.source == self._name and record.topic in self.results

    def leave(self) -> None:
        """Note that events are being handled: no snapshot is allowed until they are committed."""
        self._at = None
        self._tail = None

    def arrive(self, cursor: int) -> None:
        """Note that everything up to *cursor* is handled and committed."""
        self._at = cursor
        if self._version and cursor - self._saved >= self._every:
            self.save()

    def save(self) -> None:
        """Store a snapshot, if the fold is at a committed position.

        If the component gives none, because it is empty or not started yet, the one
        before is stored with the records after it, which are few for a component with rare topics.
        """
        if not self._version or self._at is None or self._at <= self._saved:
            return
        state = self._host.snapshot()
        tail: Sequence[bytes] = ()
        if not state:
            if self._tail is None:
                return
            state, tail = self._state, self._tail
        leaf = self._log.leaf_hashes(self._at, self._at)
        self._snapshots.put(
            self._name, self._version, StoredSnapshot(self._at, leaf, state, tuple(tail))
        )
        self._saved = self._at
        self._every = _positions_until_next(state)

    def _load(self, after: int, cursor: int) -> None:
        while after < cursor:
            if self._ends():
                self.save()
                raise Ending
            page = self._log.read(after, min(PAGE, cursor - after), PAGE_BYTES)
            if not page:
                break
            # A client with partial access gets its next readable event, maybe past the cursor.
            after = decode(page[-1]).position
            if after > cursor:
                page = [data for data in page if decode(data).position <= cursor]
            self._recall(page)
            self._at = after
            if after - self._saved >= LOADING:
                self.save()

    def _load_results(self, after: int, head: int) -> None:
        # What follows from events up to the cursor was committed with it, and stands behind those
        # that are to be handled next: they are handled with what was decided before them.
        while after < head:
            if self._ends():
                raise Ending
            page = self._log.read(after, PAGE, PAGE_BYTES)
            if not page:
                return
            after = decode(page[-1]).position
            self._recall(page, lambda r: self.is_result(r) and r.position <= head)

    def _restore(self, cursor: int) -> int:
        """Restore the snapshot, if it is one of this log; returns the position that it covers."""
        kept = self._snapshots.get(self._name, self._version)
        if kept is None or kept.position > cursor:
            return 0
        if self._log.leaf_hashes(kept.position, kept.position) != kept.leaf:
            return 0
        if kept.state:
            self._state = kept.state
            self._host.restore(kept.state)
        self._recall(kept.tail)
        self._saved, self._every = kept.position, _positions_until_next(kept.state)
        return kept.position

    def _recall(
        self, page: Sequence[bytes], wanted: Callable[[Recorded], bool] = lambda _: True
    ) -> None:
        found: list[Recorded] = []
        for data in page:
            record = decode(data)
            if self._seen.matches(record.topic, record.key) and wanted(record):
                found.append(record)
                self._remember(data)
        self._host.recall(found)

    def _remember(self, data: bytes) -> None:
        if self._tail is not None:
            self._tail.append(data)
            self._tail_bytes += len(data)
            if self._tail_bytes > TAIL_BYTES:
                self._tail = None


def _positions_until_next(state: bytes) -> int:
    """So that the share of the time that goes into snapshots does not grow with the state."""
    return min(max(EVERY, len(state) // STATE_BYTES), LOADING)


def _layout(db: sqlite3.Connection) -> int:
    (layout,) = db.execute("pragma user_version").fetchone()
    return int(layout)


def _lay_out(db: sqlite3.Connection) -> None:
    db.execute("begin immediate")
    if _layout(db) != LAYOUT:  # no other process did it meanwhile
        db.execute("drop table if exists snapshots")
        db.execute(_TABLE)
        db.execute(f"pragma user_version = {LAYOUT}")
    db.execute("commit")


# One at a time: concurrent ones would take longer, because SQLite releases the GIL at each row.
_LONG_WAY = threading.Lock()
_BROKEN = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_TAIL = msgspec.msgpack.Decoder(tuple[bytes, ...]).decode
