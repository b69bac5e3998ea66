"""Makes a home's log from an export; nothing is kept before all of it was checked.

The log and its blobs are made in a folder beside the home. Renames put them in place; the log comes
last. A kill leaves the home as it was, but for blobs that no event names, and the folder. The next
import removes both.
"""

import re
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import BinaryIO

import msgspec

from cortex.bus import Batch, Row
from cortex.runtime.access.trust import withdraw_trust
from cortex.runtime.kernel import IMPORTING, Home, RefusedError
from cortex.runtime.log import (
    BlobStore,
    EventLog,
    LogHeldError,
    LogTree,
    Meta,
    OwnerLock,
    sync,
)
from cortex.runtime.serving import HomeHeldError

from .errors import ExportDamagedError
from .intake import Intake

BATCH_EVENTS, BATCH_BYTES = 8_192, 8 << 20  # in one transaction
BESIDE = ("-wal", "-shm", "-journal")  # files of SQLite beside a database
HELD_FOR = "import"
MOVING = "moving"  # file with the names of the blobs that are moved into the home
_BLOB = re.compile(r"[0-9a-f]{2}/[0-9a-f]{1,128}")


class ImportDocument(msgspec.Struct):
    """What was imported."""

    home: str
    log_id: str
    events: int
    blobs: int


def import_log(source: BinaryIO, home: Home) -> ImportDocument:
    """Make the log of *home* from the export in *source*: the same events, byte for byte.

    The home may have files of its own, and no events. It is not trusted afterwards, as one that
    came from elsewhere.

    Raises:
        RefusedError: The home has events, or another import makes it.
        ExportDamagedError: A line of the export is not what was written; nothing was kept.
        ExportNewerError: A newer Cortex wrote it; nothing was kept.
        HomeError: It is no home, or it cannot be made there.
        HomeHeldError: Another process has the home.
        LogError: The log of the home cannot be read, or the new one cannot be written.
        OSError: A file cannot be read or written.
    """
    home = Home(home.path.resolve())  # where a link leads: renames stay on one file system
    beside = home.path.with_name(f"{home.path.name}{IMPORTING}")
    if (beside / MOVING).exists() and (beside / home.log_path.name).exists():
        _take_back(beside, home)
    _refuse_filled(home)
    with _scratch(beside):
        made = Home(beside, stands_for=home)  # it needs no trust of its own
        made.complete()
        taken = _taken(source, made)
        _put_in_place(made, home)
    taken.home = str(home.path)
    return taken


def _taken(source: BinaryIO, made: Home) -> ImportDocument:
    """Make log and blobs of the home *made*, and check all of them."""
    building = _Building(made)
    with closing(building):
        intake = Intake(source, building)
        end = intake.take()
        if building.root() != end.root:
            problem = "the events have another root than it says"
            raise ExportDamagedError(intake.number, problem)
    for path in (made.log_path, made.path):
        sync(path)
    return ImportDocument("", building.log_id, intake.events, intake.blobs)


class _Building:
    """The log and the blobs while they are made."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._log: EventLog | None = None
        self._blobs = BlobStore(home.blobs, durability="full")
        self._rows: list[Row] = []
        self._bytes = 0
        self.log_id = ""

    def begin(self, meta: Meta) -> None:
        self._log = EventLog.open(self._home.log_path, held_for=HELD_FOR, like=meta)
        self.log_id = meta.log_id

    def event(self, row: Row) -> None:
        self._rows.append(row)
        self._bytes += len(row.record)
        if len(self._rows) >= BATCH_EVENTS or self._bytes >= BATCH_BYTES:
            self._write()

    def blob(self, data: bytes) -> None:
        self._blobs.put(data)

    def root(self) -> bytes:
        """The root of the tree over all events."""
        self._write()
        if self._log is None:
            return b""
        with LogTree(self._log, self._log.state().head) as tree:
            return tree.root()

    def close(self) -> None:
        if self._log is not None:
            self._log.close()

    def _write(self) -> None:
        if self._log is not None:
            self._log.write(Batch(rows=self._rows))
        self._rows, self._bytes = [], 0


def _take_back(beside: Path, home: Home) -> None:
    """Remove the blobs that a killed import left in *home*: the log that names them never came."""
    with _held(home):
        if _events_in(home):
            return
        for name in (beside / MOVING).read_text().split():
            if _BLOB.fullmatch(name):  # whoever wrote the file names nothing else
                (home.blobs / name).unlink(missing_ok=True)
        sync(home.path)


def _refuse_filled(home: Home) -> None:
    """Refuse a home that has events, or what is no home."""
    if not home.path.exists() or (home.path.is_dir() and not any(home.path.iterdir())):
        return
    home.check()
    if head := _events_in(home):
        raise RefusedError(
            f"{home.path} has {head:,} events, and an export goes into a home without any: name "
            "another one with --home"
        )


def _events_in(home: Home) -> int:
    # An empty file is what a lock, or a killed creation, leaves.
    if not home.log_path.exists() or not home.log_path.stat().st_size:
        return 0
    with closing(EventLog.open(home.log_path, readonly=True)) as log:
        return log.state().head


@contextmanager
def _scratch(folder: Path) -> Iterator[None]:
    """An empty place that nobody else uses; what an earlier, killed import left is removed."""
    if (folder / "log.db.lock").exists():
        try:
            OwnerLock(folder / "log.db", HELD_FOR).release()
        except LogHeldError as error:
            raise RefusedError(
                f"process {error.pid} imports into this home now: wait until it has ended"
            ) from None
    shutil.rmtree(folder, ignore_errors=True)
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _put_in_place(made: Home, home: Home) -> None:
    # Before the log is there: what waits in it must not act because its place was trusted.
    withdraw_trust(home.path)
    if not home.path.exists() or not any(home.path.iterdir()):
        if home.path.exists():
            home.path.rmdir()
        made.path.rename(home.path)
    else:
        _fill(made, home)
    sync(home.path.parent)


def _fill(made: Home, home: Home) -> None:
    """Move blobs and log into a home that has none; the log last, so that it is all or nothing."""
    with _held(home):
        _refuse_filled(home)  # again: now nobody can record anything
        blobs = sorted(made.blobs.glob("??/*"))
        names = [str(path.relative_to(made.blobs)) for path in blobs]
        (made.path / MOVING).write_text("\n".join(names))
        sync(made.path / MOVING)
        sync(made.path)
        for path in blobs:
            there = home.blobs / path.parent.name
            there.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.replace(there / path.name)
        for derived in (home.projections_path, home.path / "memory.db", home.path / "snapshots.db"):
            for end in ("", *BESIDE):
                derived.with_name(derived.name + end).unlink(missing_ok=True)
        for end in BESIDE:  # SQLite would add those of the empty log to the new one
            home.log_path.with_name(home.log_path.name + end).unlink(missing_ok=True)
        made.log_path.replace(home.log_path)
        sync(home.path)


@contextmanager
def _held(home: Home) -> Iterator[None]:
    """Nobody else opens the log of *home* meanwhile."""
    try:
        lock = OwnerLock(home.log_path, HELD_FOR)
    except LogHeldError as error:
        raise HomeHeldError(str(home.path), error.pid, error.held_for) from None
    try:
        yield
    finally:
        lock.release()
