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

from cortex.bus import CortexError


class ProjectionError(CortexError):
    """A projection cannot be run or read."""


class ProjectionDamagedError(ProjectionError):
    """The file of the projections cannot be read."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path, self.problem = path, problem

    def __str__(self) -> str:
        return (
            f"{self.path} is damaged: {self.problem}; it may be deleted at any time and is rebuilt "
            "from the log at the next start"
        )


class ProjectionDiskError(ProjectionError):
    """The file of the projections cannot be written or opened."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path, self.problem = path, problem

    def __str__(self) -> str:
        return (
            f"{self.path} cannot be used: {self.problem}; its tables are as they were, free some "
            "space or check its permissions, then repeat"
        )


class ProjectionMissingError(ProjectionError, LookupError):
    """Nothing was projected yet."""

    def __init__(self, path: str, name: str) -> None:
        super().__init__(path, name)
        self.path, self.name = path, name

    def __str__(self) -> str:
        return f"{self.path} has no projection {self.name}: start Cortex once to build it"


class ProjectionsHeldError(ProjectionError):
    """Another process keeps the file up to date."""

    def __init__(self, path: str, pid: int | None) -> None:
        super().__init__(path, pid)
        self.path, self.pid = path, pid

    def __str__(self) -> str:
        holder = "another process" if self.pid is None else f"process {self.pid}"
        return f"{self.path} is kept up to date by {holder}: read a snapshot of it instead"


class RecordUnreadableError(ProjectionError):
    """A record of the log cannot be decoded."""

    def __init__(self, position: int, problem: str) -> None:
        super().__init__(position, problem)
        self.position, self.problem = position, problem

    def __str__(self) -> str:
        return (
            f"the record at position {self.position} cannot be decoded: {self.problem}; verify "
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
