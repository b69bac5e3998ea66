"""Open the file of a store, made where there is none, and tell damage from other errors."""

import secrets
import sqlite3
from pathlib import Path
from typing import Final

from .schema import FORMAT, TABLES

BUSY_S: Final = 60.0  # for which another process may write
CACHE_KB: Final = 64 * 1024
CHECKPOINT_PAGES: Final = 16_000  # as the log has it: fewer syncs while much is written


def connect(path: Path) -> sqlite3.Connection:
    """A connection to the store at *path*, which any thread may use, one at a time.

    Raises:
        sqlite3.Error: It cannot be read or written, is damaged, or of another format.
    """
    connection = sqlite3.connect(
        path, timeout=BUSY_S, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = normal")
        connection.execute(f"pragma wal_autocheckpoint = {CHECKPOINT_PAGES}")
        connection.execute(f"pragma cache_size = -{CACHE_KB}")
        connection.execute("pragma temp_store = memory")
        found = connection.execute("pragma user_version").fetchone()[0]
        if found not in (0, FORMAT):
            raise sqlite3.DatabaseError(f"format {found}, not {FORMAT}")
        if found == 0:
            _make(connection)
        connection.execute("select count(*) from files").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _make(connection: sqlite3.Connection) -> None:
    connection.execute("begin immediate")
    # Another process may have been first.
    if connection.execute("pragma user_version").fetchone()[0] == 0:
        for statement in filter(str.strip, TABLES.split(";\n")):
            connection.execute(statement)
        identity = secrets.randbits(62)
        connection.execute("insert into state values ('identity', ?)", (identity,))
        connection.execute(f"pragma user_version = {FORMAT}")
    connection.execute("commit")


def is_damage(error: sqlite3.Error) -> bool:
    """Whether *error* says that a store has to be made anew."""
    told = ("no such table", "malformed", "corrupt", "vtable constructor")
    return type(error) is sqlite3.DatabaseError or any(word in str(error) for word in told)
