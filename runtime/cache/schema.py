"""The file of the second tier, cache.db: its tables, opened and made again where it is damaged."""

import contextlib
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cortex.runtime.log import create_private

if TYPE_CHECKING:
    from sqlite_utils import Database

FORMAT: Final = 1  # another number: the file is made anew
BUSY_S: Final = 0.25  # for which another process may write: a cache is not worth a longer wait
PARTS: Final = ("", "-wal", "-shm", "-journal")
JOURNAL_BYTES: Final = 64 << 20
OTHER_BYTES: Final = 512  # of an artefact beside its value: its rows and what is found by them
PAGE_BYTES: Final = 4_096
SHORT_BYTES: Final = 2_000  # of values, of which two and more share a page
# Errors by which SQLite says that the file itself is broken, and not the disk or a lock.
DAMAGED: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def bytes_of(size: int) -> int:
    """What a value of *size* takes in the file: a long one whole pages."""
    if size <= SHORT_BYTES:
        return size + OTHER_BYTES
    return -(-size // PAGE_BYTES) * PAGE_BYTES + OTHER_BYTES


def connect(path: Path, owner: bytes = b"") -> sqlite3.Connection:
    """A connection to the cache at *path*, which is made if it is not there.

    Any thread may use it, one at a time.

    Args:
        path: The file.
        owner: What only its user can know: a file with another is not read any further, since its
            tables may be views, and its triggers may undo what is removed.

    Raises:
        OSError: It cannot be made.
        sqlite3.Error: It cannot be used; see `is_damage`.
    """
    if not path.exists():
        remove(path)  # what belonged to a file that was deleted must not be read into this one
    create_private(path)
    connection = sqlite3.connect(
        path, timeout=BUSY_S, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("pragma trusted_schema = off")
        connection.execute("pragma journal_mode = wal")
        # Nothing waits for the disk: a kill loses nothing by this, and what a loss of power damages
        # is made again.
        connection.execute("pragma synchronous = off")
        connection.execute(f"pragma journal_size_limit = {JOURNAL_BYTES}")
        found = connection.execute("pragma user_version").fetchone()[0]
        if found not in (0, FORMAT):
            raise sqlite3.DatabaseError(f"format {found}, not {FORMAT}")
        if found == 0:
            _make(connection, owner)
        if connection.execute("select owner from totals").fetchone() != (owner,):
            raise sqlite3.DatabaseError("another user, or another machine, made it")
    except BaseException:
        connection.close()
        raise
    return connection


def read_only(path: Path) -> sqlite3.Connection:
    """A connection that changes nothing.

    Raises:
        sqlite3.Error: There is no such file, or it cannot be read.
    """
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=BUSY_S, isolation_level=None
    )
    try:
        connection.execute("pragma trusted_schema = off")
        if connection.execute("pragma user_version").fetchone()[0] != FORMAT:
            raise sqlite3.DatabaseError("another version of Cortex made it")
    except BaseException:
        connection.close()
        raise
    return connection


def remove(path: Path) -> None:
    """Remove the file and what SQLite keeps beside it.

    Raises:
        OSError: It cannot be removed.
    """
    for part in PARTS:
        path.with_name(path.name + part).unlink(missing_ok=True)


def is_damage(error: sqlite3.Error) -> bool:
    """Whether *error* says that the file has to be made anew."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:  # not SQLite's own: `connect` found another format
        return type(error) is sqlite3.DatabaseError
    return code & 0xFF in DAMAGED or "no such" in str(error)


def _make_tables(db: "Database", owner: bytes) -> None:
    entries = db.table("entries")
    entries.create(
        {
            "id": int,
            "key": bytes,  # SHA-256 over kind, inputs and version
            "kind": str,
            "inputs": bytes,  # 32 bytes each
            "version": int,
            "size": int,  # what it takes of the bound
            "made_ns": int,
            "used_ns": int,  # last
            "uses": int,
            "heat": float,  # see heat.py
            "proof": bytes,  # keyed BLAKE2b over key and value
        },
        pk="id",
        not_null={"key", "kind", "inputs", "version", "size", "used_ns", "heat", "proof"},
        strict=True,
    )
    entries.create_index(["key"], unique=True)
    entries.create_index(["used_ns"])
    entries.create_index(["heat"])
    # Apart from what changes with each use, which would write a long value again.
    db.table("bodies").create({"id": int, "value": bytes}, pk="id", strict=True)
    # Digests of names, so that the file names nobody.
    subjects = db.table("subjects")
    subjects.create({"subject": bytes, "entry": int}, pk=("subject", "entry"), strict=True)
    subjects.create_index(["entry"])
    totals = db.table("totals")
    totals.create({"id": int, "bytes": int, "entries": int, "owner": bytes}, pk="id", strict=True)
    totals.insert({"id": 1, "bytes": 0, "entries": 0, "owner": owner})
    db.table("counters").create({"name": str, "value": int}, pk="name", strict=True)
    # The first tier of each process that uses the cache.
    db.table("processes").create(
        {
            "pid": int,
            "bytes": int,
            "entries": int,
            "ghosts": int,
            "bound": int,
            "seen_ns": int,
        },
        pk="pid",
        strict=True,
    )
    # What other processes must drop from their memory, too.
    db.table("notices").create(
        {"id": int, "what": str, "about": bytes, "made_ns": int}, pk="id", strict=True
    )
    # What the history of executions says will be used: digests of inputs, the first ones first.
    db.table("hints").create({"rank": int, "input": bytes}, pk="rank", strict=True)


def _make(connection: sqlite3.Connection, owner: bytes) -> None:
    # Here, not at the top: it takes a tenth of a second to load, once for each home.
    from sqlite_utils import Database

    connection.execute("begin immediate")
    try:
        # Another process may have been first.
        if connection.execute("pragma user_version").fetchone()[0] == 0:
            db = Database(connection, recursive_triggers=False, execute_plugins=False)
            _make_tables(db, owner)
            connection.execute(f"pragma user_version = {FORMAT}")
        connection.execute("commit")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("rollback")
        raise
