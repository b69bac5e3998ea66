"""What can go wrong with projections; none of it can harm the log.

CortexError (in the bus)
└── ProjectionError
    ├── ProjectionDamagedError   the file cannot be read: delete it, it is rebuilt
    ├── ProjectionDiskError      the file cannot be written: make room, then repeat
    ├── ProjectionMissingError   nothing was projected yet: run the projection first
    ├── ProjectionsHeldError     another process keeps the file up to date: read it instead
    └── RecordUnreadableError    a record of the log cannot be decoded: verify the log
"""

import sqlite3
from pathlib import Path

from cortex.bus import CortexError, with_fields


class ProjectionError(CortexError):
    """A projection cannot be run or read."""


@with_fields
class ProjectionDamagedError(ProjectionError):
    """The file of the projections cannot be read."""

    path: str
    problem: str

    says = (
        "{path} is damaged: {problem}; it may be deleted at any time and is rebuilt "
        "from the log at the next start"
    )


@with_fields
class ProjectionDiskError(ProjectionError):
    """The file of the projections cannot be written or opened."""

    path: str
    problem: str

    says = (
        "{path} cannot be used: {problem}; its tables are as they were, free some "
        "space or check its permissions, then repeat"
    )


@with_fields
class ProjectionMissingError(ProjectionError, LookupError):
    """Nothing was projected yet."""

    path: str
    name: str

    says = "{path} has no projection {name}: start Cortex once to build it"


@with_fields
class ProjectionsHeldError(ProjectionError):
    """Another process keeps the file up to date."""

    path: str
    pid: int | None

    def __str__(self) -> str:
        holder = "another process" if self.pid is None else f"process {self.pid}"
        return f"{self.path} is kept up to date by {holder}: read a snapshot of it instead"


@with_fields
class RecordUnreadableError(ProjectionError):
    """A record of the log cannot be decoded."""

    position: int
    problem: str

    says = (
        "the record at position {position} cannot be decoded: {problem}; verify "
        "the log and restore it from a backup"
    )


def damaged(error: sqlite3.Error) -> bool:
    """Whether *error* says that the file itself is broken, not the disk or the lock."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def projection_error(path: str, error: sqlite3.Error) -> ProjectionError:
    """The error that says what happened to the file at *path* and what to do."""
    if Path(path).is_dir():
        return ProjectionDiskError(path, "it is a folder")
    if damaged(error):
        return ProjectionDamagedError(path, str(error))
    problems = {
        sqlite3.SQLITE_FULL: "the disk is full",
        sqlite3.SQLITE_IOERR: "the disk reports an input/output error, or is full",
    }
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return ProjectionDiskError(path, problems.get(code, str(error)))
