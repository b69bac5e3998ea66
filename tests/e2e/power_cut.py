"""What a loss of power leaves of an SQLite log: its write-ahead log up to some commit.

Under `synchronous = normal` SQLite syncs the write-ahead log at checkpoints and where a transaction
asks for it. Whatever was committed after the last sync may be gone; what came before it is not.
"""

import random
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import msgspec

from cortex.bus import decode

HEADER_BYTES = 32  # of the write-ahead log: page size at 8, salt at 16
FRAME_BYTES = 24  # before each page: at 4 the database's size where it is a commit, at 8 the salt


class Cut(msgspec.Struct, frozen=True):
    """What a cut left of a log."""

    head: int  # the last position that is there still
    lost: int  # events that are not


def cut_power(log: Path, synced: frozenset[str], chance: random.Random) -> Cut:
    """Take the log's newest commits away, as many as *chance* says; nobody may have it open.

    Args:
        log: The database; its write-ahead log is beside it.
        synced: Topics of events whose transactions were synced: they and all before them stay.
        chance: Where the cut is.
    """
    wal = log.with_name(f"{log.name}-wal")
    data = wal.read_bytes() if wal.exists() else b""
    before = _head(log, data)
    ends = _commits(data)
    least = _last(log, data, synced)
    kept = [end for end in ends if _head(log, data[:end]) >= least]
    if kept:
        wal.write_bytes(data[: chance.choice(kept)])
        log.with_name(f"{log.name}-shm").unlink(missing_ok=True)
    after = _head(log, wal.read_bytes() if wal.exists() else b"")
    return Cut(after, before - after)


def _commits(data: bytes) -> list[int]:
    """Where each commit of a write-ahead log ends, in order."""
    if len(data) < HEADER_BYTES:
        return []
    frame = FRAME_BYTES + int.from_bytes(data[8:12], "big")
    ends = []
    for start in range(HEADER_BYTES, len(data) - frame + 1, frame):
        if data[start + 8 : start + 16] != data[16:24]:
            break  # of an earlier life of the file
        if data[start + 4 : start + 8] != b"\0\0\0\0":
            ends.append(start + frame)
    return ends


def _head(log: Path, wal: bytes) -> int:
    with tempfile.TemporaryDirectory() as folder, closing(_opened(log, wal, folder)) as read:
        return int(read.execute("select coalesce(max(position), 0) from events").fetchone()[0])


def _last(log: Path, wal: bytes, topics: frozenset[str]) -> int:
    with tempfile.TemporaryDirectory() as folder, closing(_opened(log, wal, folder)) as read:
        rows = read.execute("select record from events order by position desc")
        records = (decode(record) for (record,) in rows)
        return next((r.position for r in records if r.topic in topics), 0)


def _opened(log: Path, wal: bytes, folder: str) -> sqlite3.Connection:
    copy = Path(folder) / "log.db"
    shutil.copy(log, copy)
    copy.with_name("log.db-wal").write_bytes(wal)
    return sqlite3.connect(copy)
