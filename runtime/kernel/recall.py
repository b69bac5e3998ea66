"""How a component gets its fold back: its last snapshot, then the log up to its cursor."""

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Protocol

import msgspec

from cortex.bus import Filter, Log, Recorded, decode
from cortex.runtime.log import create_private

from .host import Host

EVERY = 10_000  # positions between two snapshots of a busy component
LOADING = 100_000  # positions recalled between two snapshots, so that a kill costs no more
BUSY_S = 5.0  # how long to wait for whoever locks the file
PAGE = 1_024
PAGE_BYTES = 4 << 20
TAIL_BYTES = 4 << 20  # of records that stand in a snapshot as they are

LAYOUT = 2  # of the table, in `user_version`; what another layout holds is dropped
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
    """A snapshot: a fold of the log up to a position, and by what to know that log again."""

    position: int  # everything up to here is in it
    leaf: bytes  # leaf hash of the event at that position
    state: bytes  # what the component gave; empty where it gave nothing yet
    tail: tuple[bytes, ...] = ()  # records that are to be recalled after the state


class Snapshots(Protocol):
    """Keeps the newest snapshot of each component; losing it costs time and nothing else."""

    def get(self, component: str, version: int) -> StoredSnapshot | None:
        """The component's snapshot; None where there is none of this version."""
        ...

    def put(self, component: str, version: int, kept: StoredSnapshot) -> None:
        """Replace the component's snapshot."""
        ...


class MemorySnapshots:
    """Snapshots that go with the process."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[int, StoredSnapshot]] = {}

    def get(self, component: str, version: int) -> StoredSnapshot | None:
        """The component's snapshot; None where there is none of this version."""
        of_version, kept = self._kept.get(component, (version, None))
        return kept if of_version == version else None

    def put(self, component: str, version: int, kept: StoredSnapshot) -> None:
        """Replace the component's snapshot."""
        self._kept[component] = version, kept


class DiskSnapshots:
    """Snapshots in a small database of their own; a broken one is as good as none."""

    def __init__(self, path: Path, busy_s: float = BUSY_S) -> None:
        self._path, self._busy_s = path, busy_s

    def get(self, component: str, version: int) -> StoredSnapshot | None:
        """The component's snapshot; None where there is none of this version."""
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
    def _forgiving(self) -> Iterator[None]:
        """Go on after the block: without a snapshot the next start recalls more of the log.

        Only a file that is broken is thrown away; one that is locked, say, is as good as before.
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
            pass  # it cannot be made


class Ending(Exception):  # noqa: N818  # nothing is wrong
    """The component is to end, and was not brought to its cursor."""


class Rest(Exception):  # noqa: N818  # a signal, like `Ending`
    """The component had no work for long: it needs no thread until there is some."""


class Recall:
    """One component's way back to where it was; does nothing for one that keeps no fold."""

    def __init__(
        self,
        name: str,
        version: int,
        seen: Filter,
        host: Host,
        log: Log,
        snapshots: Snapshots,
        ends: Callable[[], bool] = lambda: False,
    ) -> None:
        self._name, self._version = name, version
        self._seen, self._host, self._log, self._snapshots = seen, host, log, snapshots
        self._ends = ends  # whether the component is to end; asked between two pages
        self._saved = 0
        self._at: int | None = None  # the fold holds exactly the events up to here; None: unsure
        self._state = b""  # what it was restored from
        self._tail: list[bytes] | None = []  # all that came after that; None: too much, or unknown
        self._tail_bytes = 0

    def load(self, cursor: int) -> None:
        """Bring the fold to *cursor*.

        Raises:
            Ending: The component is to end; how far it came is kept.
        """
        if not self._version:
            return
        after = self._restore(cursor)
        with _LONG_WAY if cursor - after >= LOADING else contextlib.nullcontext():
            self._load(after, cursor)
        self.arrive(cursor)

    def leave(self) -> None:
        """Events are being handled: until they are committed no snapshot may be taken."""
        self._at = None
        self._tail = None

    def arrive(self, cursor: int) -> None:
        """Everything up to *cursor* is handled and committed."""
        self._at = cursor
        if self._version and cursor - self._saved >= EVERY:
            self.save()

    def save(self) -> None:
        """Keep a snapshot, if the fold is at a committed place.

        Where the component gives none, since it has nothing to say or was not started yet, the one
        before is kept with the records that followed it: few, for one that sees rare topics.
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

    def _load(self, after: int, cursor: int) -> None:
        while after < cursor:
            if self._ends():
                self.save()
                raise Ending
            page = self._log.read(after, min(PAGE, cursor - after), PAGE_BYTES)
            if not page:
                break
            # Who may not read all of a log gets what comes next for it, maybe past the cursor.
            after = decode(page[-1]).position
            if after > cursor:
                page = [data for data in page if decode(data).position <= cursor]
            self._recall(page)
            self._at = after
            if after - self._saved >= LOADING:
                self.save()

    def _restore(self, cursor: int) -> int:
        """Take up the snapshot, if it is one of this log; the position that it brings us to."""
        kept = self._snapshots.get(self._name, self._version)
        if kept is None or kept.position > cursor:
            return 0
        if self._log.leaf_hashes(kept.position, kept.position) != kept.leaf:
            return 0
        if kept.state:
            self._state = kept.state
            self._host.restore(kept.state)
        self._recall(kept.tail)
        self._saved = kept.position
        return kept.position

    def _recall(self, page: Sequence[bytes]) -> None:
        found: list[Recorded] = []
        for data in page:
            record = decode(data)
            if self._seen.matches(record.topic, record.key):
                found.append(record)
                self._remember(data)
        self._host.recall(found)

    def _remember(self, data: bytes) -> None:
        if self._tail is not None:
            self._tail.append(data)
            self._tail_bytes += len(data)
            if self._tail_bytes > TAIL_BYTES:
                self._tail = None


def _layout(db: sqlite3.Connection) -> int:
    (layout,) = db.execute("pragma user_version").fetchone()
    return int(layout)


def _lay_out(db: sqlite3.Connection) -> None:
    db.execute("begin immediate")
    if _layout(db) != LAYOUT:  # nobody else did it meanwhile
        db.execute("drop table if exists snapshots")
        db.execute(_TABLE)
        db.execute(f"pragma user_version = {LAYOUT}")
    db.execute("commit")


# Side by side they would take longer than one after the other: SQLite gives up the GIL at each row.
_LONG_WAY = threading.Lock()
_BROKEN = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_TAIL = msgspec.msgpack.Decoder(tuple[bytes, ...]).decode
