"""Translates SQLite's errors into errors that a caller can act on."""

import errno
import os
import sqlite3
from pathlib import Path

from cortex.bus import LogError

from .errors import (
    LogAccessError,
    LogClosedError,
    LogCorruptError,
    LogDiskError,
    LogFullError,
    LogLockedError,
    NotALogError,
)

PRIMARY = 0xFF  # the low byte of an extended result code
LEAST_BYTES = 1 << 16  # free; with less, a page and its log have no room
BUSY_S = 5.0  # how long a statement waits for a lock of another program


class Translated:
    """Raises a LogError in place of SQLite's errors; may be entered many times."""

    def __init__(self, path: Path, busy_s: float = BUSY_S) -> None:
        self._path, self._busy_s = path, busy_s

    def __enter__(self) -> None:
        """Do nothing. A class costs half of a generator, and every write enters it."""

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        """Translate the exception, if there is one."""
        if isinstance(error, sqlite3.Error):
            raise log_error(str(self._path), error, self._busy_s) from error
        if isinstance(error, OverflowError | UnicodeEncodeError):  # SQLite cannot store it
            problem = f"{self._path}: {error}; nothing of this request was recorded"
            raise LogError(problem) from error


def log_error(path: str, error: sqlite3.Error, busy_s: float = BUSY_S) -> LogError:
    """The error for *path*: what happened, and what to do."""
    said = str(error)
    match getattr(error, "sqlite_errorcode", 0) & PRIMARY:
        case sqlite3.SQLITE_IOERR | sqlite3.SQLITE_CANTOPEN if Path(path).is_dir():
            return NotALogError(path, "it is a folder")
        case sqlite3.SQLITE_FULL:
            return LogFullError(path)
        case sqlite3.SQLITE_IOERR if no_room(Path(path).parent):
            return LogFullError(path)
        case sqlite3.SQLITE_IOERR:
            return LogDiskError(path, "the disk reports an input/output error")
        case sqlite3.SQLITE_CORRUPT:
            return LogCorruptError(path, said)
        case sqlite3.SQLITE_NOTADB:
            return NotALogError(path, "it is not an SQLite database")
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return LogLockedError(path, busy_s)
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return LogAccessError(path, said)
    if isinstance(error, sqlite3.ProgrammingError) and "closed" in said:
        return LogClosedError(path)
    return LogError(f"{path}: {said}; nothing of this request was recorded")


def no_room(folder: Path) -> bool:
    """Whether the disk of *folder* has no space left for this user.

    SQLite reports a write-ahead log or an index beside it that cannot grow as an error of input and
    output, without the system's number, so the system is asked.
    """
    try:
        there = os.statvfs(folder)
    except OSError:
        return False
    return there.f_bavail * there.f_frsize < LEAST_BYTES or (
        there.f_files > 0 and not there.f_favail
    )


def is_full(error: OSError) -> bool:
    """Whether the system reports that the disk, or this user's quota, is full."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)
