"""Reading projections beside their runner: all tables at one position."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from .errors import ProjectionMissingError, projection_error


class Snapshot(msgspec.Struct, frozen=True):
    """A consistent view: what it shows holds for `position`, however the log grows meanwhile."""

    connection: sqlite3.Connection  # can only read, and only inside the block
    position: int
    version: int  # of the projection that made the tables; an older one, until they are rebuilt


class Checkpoint(msgspec.Struct, frozen=True):
    """How far a projection has come."""

    name: str
    position: int  # every event up to here is in its tables
    leaf: bytes  # leaf hash of that event; empty at 0
    version: int  # of the projection that made the tables


def checkpoints(path: Path | str) -> list[Checkpoint]:
    """How far each projection in the file at *path* has come; none where there is no file.

    Raises:
        ProjectionDamagedError: The file cannot be read.
    """
    path = Path(path)
    if not path.exists():
        return []
    try:
        with closing(_connect(path)) as connection:
            if not _is_made(connection):
                return []
            rows = connection.execute(
                "select name, position, leaf, version from checkpoints order by name"
            )
            return [Checkpoint(*row) for row in rows]
    except sqlite3.Error as error:
        raise projection_error(str(path), error) from error


@contextmanager
def snapshot(path: Path | str, name: str) -> Iterator[Snapshot]:
    """A consistent view of projection *name* in the file at *path*; keep the block short.

    Raises:
        ProjectionMissingError: It was not projected yet.
        ProjectionDamagedError: The file cannot be read.
    """
    path = Path(path)
    if not path.exists():
        raise ProjectionMissingError(str(path), name)
    connection = None
    try:
        connection = _connect(path)
        connection.execute("begin")
        yield Snapshot(connection, *_checkpoint(connection, path, name))
    except sqlite3.Error as error:
        raise projection_error(str(path), error) from error
    finally:
        if connection is not None:
            connection.close()


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)


def _is_made(connection: sqlite3.Connection) -> bool:
    (made,) = connection.execute(
        "select count(*) from sqlite_master where name = 'checkpoints'"
    ).fetchone()
    return bool(made)


def _checkpoint(connection: sqlite3.Connection, path: Path, name: str) -> tuple[int, int]:
    row = (
        _is_made(connection)
        and connection.execute(
            "select position, version from checkpoints where name = ?", (name,)
        ).fetchone()
    )
    if not row:
        raise ProjectionMissingError(str(path), name)
    return int(row[0]), int(row[1])
