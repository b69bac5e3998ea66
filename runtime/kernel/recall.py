"""How a component gets its fold back: its last snapshot, then the log up to its cursor."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Protocol

from cortex.bus import Filter, Log, decode

from .host import Host

EVERY = 10_000  # positions between two snapshots of a busy component
PAGE = 1_024

_TABLE = """
create table if not exists snapshots (
    component text    primary key, -- its subscription
    version   integer not null,    -- of its fold
    position  integer not null,    -- everything up to here is in it
    state     blob    not null
) strict
"""


class Snapshots(Protocol):
    """Keeps the newest snapshot of each component; losing it costs time and nothing else."""

    def get(self, component: str, version: int) -> tuple[int, bytes] | None:
        """Position and state; None where there is none of this version."""
        ...

    def put(self, component: str, version: int, position: int, state: bytes) -> None:
        """Replace the component's snapshot."""
        ...


class MemorySnapshots:
    """Snapshots that go with the process."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, int], tuple[int, bytes]] = {}

    def get(self, component: str, version: int) -> tuple[int, bytes] | None:
        """Position and state; None where there is none of this version."""
        return self._kept.get((component, version))

    def put(self, component: str, version: int, position: int, state: bytes) -> None:
        """Replace the component's snapshot."""
        self._kept[component, version] = (position, state)


class DiskSnapshots:
    """Snapshots in a small database of their own; a broken one is as good as none."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, component: str, version: int) -> tuple[int, bytes] | None:
        """Position and state; None where there is none of this version."""
        try:
            with closing(self._open()) as db:
                row = db.execute(
                    "select position, state from snapshots where component = ? and version = ?",
                    (component, version),
                ).fetchone()
        except sqlite3.Error:
            self._path.unlink(missing_ok=True)
            return None
        return (int(row[0]), bytes(row[1])) if row else None

    def put(self, component: str, version: int, position: int, state: bytes) -> None:
        """Replace the component's snapshot."""
        try:
            with closing(self._open()) as db, db:
                db.execute(
                    "replace into snapshots values (?, ?, ?, ?)",
                    (component, version, position, state),
                )
        except sqlite3.Error:
            return  # the next start recalls more of the log

    def _open(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._path, timeout=5.0)
        db.execute(_TABLE)
        return db


class Recall:
    """One component's way back to where it was; does nothing for one that keeps no fold."""

    def __init__(
        self, name: str, version: int, seen: Filter, host: Host, log: Log, snapshots: Snapshots
    ) -> None:
        self._name, self._version = name, version
        self._seen, self._host, self._log, self._snapshots = seen, host, log, snapshots
        self._saved = 0
        self._at: int | None = None  # the fold holds exactly the events up to here; None: unsure

    def load(self, cursor: int) -> None:
        """Bring the fold to *cursor*."""
        if not self._version:
            return
        after = 0
        kept = self._snapshots.get(self._name, self._version)
        if kept is not None and kept[0] <= cursor and kept[1]:
            after = kept[0]
            self._host.restore(kept[1])
        self._saved = after
        while after < cursor:
            page = [decode(data) for data in self._log.read(after, PAGE, 4 << 20)]
            page = [record for record in page if record.position <= cursor]
            if not page:
                break
            after = page[-1].position
            self._host.recall([r for r in page if self._seen.matches(r.topic, r.key)])
        self._at = cursor

    def leave(self) -> None:
        """Events are being handled: until they are committed no snapshot may be taken."""
        self._at = None

    def arrive(self, cursor: int) -> None:
        """Everything up to *cursor* is handled and committed."""
        self._at = cursor
        if self._version and cursor - self._saved >= EVERY:
            self.save()

    def save(self) -> None:
        """Keep a snapshot, if the fold is at a committed place."""
        if self._version and self._at is not None and self._at > self._saved:
            state = self._host.snapshot()
            if state:
                self._snapshots.put(self._name, self._version, self._at, state)
                self._saved = self._at
