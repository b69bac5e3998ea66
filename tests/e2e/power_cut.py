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

HEADER_BYTES = 32  # of the write-ahead log: page size at 8, salt at 16
FRAME_BYTES = 24  # before each page: at 4 the database's size where it is a commit, at 8 the salt
MOVED_AT = 96  # in the index beside it: how many frames a checkpoint has moved, and synced


class Cut(msgspec.Struct, frozen=True):
    """What a cut left of a log."""

    head: int  # the last position that is there still
    lost: int  # events that are not


def cut_power(log: Path, synced: Path, chance: random.Random) -> Cut:
    """Take the log's newest commits away, as many as *chance* says; nobody may have it open.

    Args:
        log: The database; its write-ahead log is beside it.
        synced: Holds salt and size of the write-ahead log as it was last synced: that much stays.
        chance: Where the cut is.
    """
    wal, index = (log.with_name(f"{log.name}-{name}") for name in ("wal", "shm"))
    data = wal.read_bytes() if wal.exists() else b""
    before = _head(log, data)
    least = max(_noted(synced, data), _moved(index, data))
    kept = [end for end in (0, *_commits(data)) if end >= least]
    if not data or not kept:
        return Cut(before, 0)
    end = chance.choice(kept)
    # Where the power failed in the middle of the next write, a part of that is there as well.
    wal.write_bytes(data[: end + chance.randrange(FRAME_BYTES)])
    index.unlink(missing_ok=True)
    after = _head(log, data[:end])
    return Cut(after, before - after)


def _noted(synced: Path, data: bytes) -> int:
    """How many bytes of a write-ahead log were synced, as far as was noted."""
    noted = synced.read_bytes() if synced.exists() else b""
    return int.from_bytes(noted[8:], "big") if noted[:8] == data[16:24] else 0


def _moved(index: Path, data: bytes) -> int:
    """How many bytes of it are in the database already, which is synced with them."""
    if not index.exists():
        return 0
    (frames,) = memoryview(index.read_bytes()[MOVED_AT : MOVED_AT + 4]).cast("I")
    return HEADER_BYTES + frames * _frame_bytes(data) if frames else 0


def _commits(data: bytes) -> list[int]:
    """Where each commit of a write-ahead log ends, in order."""
    if len(data) < HEADER_BYTES:
        return []
    frame, ends = _frame_bytes(data), list[int]()
    for start in range(HEADER_BYTES, len(data) - frame + 1, frame):
        if data[start + 8 : start + 16] != data[16:24]:
            break  # of an earlier life of the file
        if data[start + 4 : start + 8] != b"\0\0\0\0":
            ends.append(start + frame)
    return ends


def _frame_bytes(data: bytes) -> int:
    return FRAME_BYTES + int.from_bytes(data[8:12], "big")


def _head(log: Path, wal: bytes) -> int:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "log.db"
        shutil.copy(log, copy)
        copy.with_name("log.db-wal").write_bytes(wal)
        with closing(sqlite3.connect(copy)) as read:
            row = read.execute("select coalesce(max(position), 0) from events").fetchone()
        return int(row[0])
