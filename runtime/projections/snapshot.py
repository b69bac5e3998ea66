"""Reading projections beside their runner: all tables at one position."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from .errors import ProjectionMissingError, projection_error


class Snapshot(msgspec.Struct, frozen=True):
    """A consistent view: what it shows holds for `position`, however the log grows meanwhile."""

    connection: sqlite3.Connection  # can only read, and only inside the block
    position: int


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
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None
        )
        connection.execute("begin")
        yield Snapshot(connection, _position(connection, path, name))
    except sqlite3.Error as error:
        raise projection_error(str(path), error) from error
    finally:
        if connection is not None:
            connection.close()


def _position(connection: sqlite3.Connection, path: Path, name: str) -> int:
    made = connection.execute(
        "select count(*) from sqlite_master where name = 'checkpoints'"
    ).fetchone()
    row = (
        made[0]
        and connection.execute(
            "select position from checkpoints where name = ?", (name,)
        ).fetchone()
    )
    if not row:
        raise ProjectionMissingError(str(path), name)
    return int(row[0])
