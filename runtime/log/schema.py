"""The tables of log.db, and how the file is created and opened."""

import os
import sqlite3
import time
import uuid
from contextlib import closing, suppress
from pathlib import Path
from typing import Literal

import msgspec

from cortex.bus import steady_s

from .errors import LogMissingError, LogNewerError, NotALogError
from .failures import BUSY_S, PRIMARY, no_room

Durability = Literal["normal", "full"]

LOG_FORMAT = 3  # of these tables; a new layout gets a new number
EPOCHS_FORMAT = 2  # the first one with the table `epochs`
SEGMENTS_FORMAT = 3  # the first one with the tables `segments` and `sealed`
CACHED_STATEMENTS = 256  # prepared statements: all of `write`, for batches of any size
MADE_LOOK_S = 0.01  # between two checks of a file without tables
CHECKPOINT_PAGES = 16_000  # of the write-ahead log: 1,000 costs a quarter of the speed
WAL_BYTES = 64 * 1024 * 1024  # the write-ahead log shrinks back to this after a burst

EPOCHS = """
create table epochs (
    number   integer primary key,  -- of the opening, in order
    id       integer not null unique,  -- random: no other opening, of no copy of this log, has it
    start    integer not null,     -- head of the log when it began
    began_ns integer not null,     -- UTC
    ended    integer,              -- head when it was closed in good order; null until then
    state    blob                  -- what moves with the events, as it was then: digest, copy
) strict;
"""
SEGMENTS = """
create table segments (
    first      integer primary key,  -- position of its first record
    last       integer not null,     -- its records are in the file, and not in `events`
    digest     text    not null,     -- SHA-256 of the file, in hex
    file_bytes integer not null
) strict
"""
SEALED = """
create table sealed (
    stream  text    not null,
    version integer not null,      -- of the stream's first record in the segment
    segment integer not null,      -- position of the first record of the segment
    places  blob    not null,      -- msgpack; of each, the distance from the record before
    primary key (stream, version)
) strict, without rowid
"""
TABLES = f"""
create table events (
    position integer primary key,  -- 1, 2, 3, ... over the whole log
    stream   text    not null,     -- "execution/k3f9q2m7"
    version  integer not null,     -- 1, 2, 3, ... within the stream
    record   blob    not null,     -- msgpack; exactly the bytes that were hashed
    unique (stream, version)
) strict;
create table tiles (
    first  integer primary key,    -- position of the first leaf in the row
    hashes blob    not null        -- RFC 6962 leaf hashes, 32 bytes each, a row for every batch,
                                   -- never over the end of a tile of 256
) strict;
create table subscriptions (
    name     text    primary key,
    kind     text    not null,     -- "ordered" or "work"
    filter   text    not null,     -- JSON [[topic, key or null], ...]
    cursor   integer not null,     -- every event up to here is done with, or was routed
    attempts integer not null,     -- times the next event was handed out without a commit
    created  integer not null      -- head of the log when it was made
) strict, without rowid;
create table work (
    subscription  text    not null,
    position      integer not null,
    epoch         integer not null,  -- raised by every claim
    attempts      integer not null,  -- claims so far
    not_before_ns integer not null,  -- the lease while held, the backoff while waiting
    log_epoch     integer not null default 0,  -- id of the one in which it was claimed last
    primary key (subscription, position)
) strict, without rowid;
create table deadlines (
    name   text    primary key,
    due_ns integer not null,
    draft  blob    not null,       -- msgpack; the event that is appended then
    source text    not null        -- who asked for it
) strict, without rowid;
create table receipts (
    client text    primary key,
    number integer not null,       -- of the last request that was answered
    answer blob    not null        -- given again when the request is repeated
) strict, without rowid;
create table meta (
    name  text primary key,        -- "format", "created_ns", "log_id"; "noted": see mending.py
    value text not null
) strict, without rowid;
{EPOCHS}
{SEGMENTS};
{SEALED};
"""
# The statements that upgrade a log to the next format, by its current format.
MIGRATIONS = {
    1: (EPOCHS, "alter table work add column log_epoch integer not null default 0"),
    2: (SEGMENTS, SEALED),
}


class Meta(msgspec.Struct, frozen=True):
    """The metadata of a log."""

    format: int
    created_ns: int  # UTC
    log_id: str  # random, constant for the life of the log


def open_writer(
    path: Path, durability: Durability, busy_s: float = BUSY_S, like: Meta | None = None
) -> sqlite3.Connection:
    """The one connection that writes; creates the tables if the file is new, as those of *like*."""
    _refuse_no_file(path)
    # The hub's lock admits one thread at a time; SQLite accepts any thread.
    connection = sqlite3.connect(
        path,
        timeout=busy_s,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=CACHED_STATEMENTS,
    )
    try:
        # No tables: new, or its creation was killed. Checked before a pragma changes the file.
        new = connection.execute("select count(*) from sqlite_master").fetchone() == (0,)
        found = LOG_FORMAT if new else read_meta(path, connection).format
        connection.execute("pragma journal_mode = wal")
        connection.execute(f"pragma synchronous = {durability}")
        connection.execute(f"pragma wal_autocheckpoint = {CHECKPOINT_PAGES}")
        connection.execute(f"pragma journal_size_limit = {WAL_BYTES}")
        connection.execute("pragma fullfsync = on")  # macOS: fsync alone stops at the drive
        if new:
            _create(path, connection, like)
        elif found < LOG_FORMAT:
            _migrate(connection)
        # SQLite opens a read-only file without an error; an empty write reports it.
        connection.execute("delete from meta where false")
    except BaseException:
        connection.close()
        raise
    return connection


def checkpoint(path: Path) -> None:
    """Move what is in the write-ahead log into the file, beside a writer, which goes on meanwhile.

    Otherwise the writer does that itself, once there is much of it: an error here is none.
    """
    with suppress(sqlite3.Error), closing(sqlite3.connect(path)) as connection:
        connection.execute("pragma wal_checkpoint(passive)")


def open_reader(path: Path, busy_s: float = BUSY_S) -> sqlite3.Connection:
    """A read-only connection, with or without a writer beside it."""
    if not path.exists():
        raise LogMissingError(str(path))
    _refuse_no_file(path)
    try:
        return _reader(path, "mode=ro", busy_s)
    except sqlite3.OperationalError as error:
        code = error.sqlite_errorcode & PRIMARY
        no_index = code in {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}
        no_index |= code == sqlite3.SQLITE_IOERR and no_room(path.parent)
        if not no_index or _has_rest(path):
            raise
        # A read-only folder, or a full disk, without a writer: nothing can change, so no shared
        # memory is needed.
        return _reader(path, "mode=ro&immutable=1", busy_s)


def _has_rest(path: Path) -> bool:
    """Whether something may stand in the write-ahead log that is not in the file."""
    try:
        return path.with_name(path.name + "-wal").stat().st_size > 0
    except FileNotFoundError:
        return False


def read_meta(path: Path, connection: sqlite3.Connection) -> Meta:
    """The metadata of the log at *path*.

    Raises:
        NotALogError: It is an SQLite database without our tables.
        LogNewerError: Its format is newer than this code.
    """
    tables = {name for (name,) in connection.execute("select name from sqlite_master")}
    if not {"meta", "events"} <= tables:
        raise NotALogError(str(path), "it is an SQLite database without the tables of a log")
    found = dict(connection.execute("select name, value from meta"))
    if "format" not in found or not str(found["format"]).isdigit():
        raise NotALogError(str(path), "its table meta names no format")
    if int(found["format"]) > LOG_FORMAT:
        raise LogNewerError(str(path), int(found["format"]), LOG_FORMAT)
    return Meta(int(found["format"]), int(found["created_ns"]), str(found["log_id"]))


def _refuse_no_file(path: Path) -> None:
    # SQLite would wait for ever at a pipe, even after Ctrl-C.
    for each in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
        if each.is_dir():
            raise NotALogError(str(each), "it is a folder")
        if each.exists() and not each.is_file():
            raise NotALogError(str(each), "it is not a plain file")


def _reader(path: Path, mode: str, busy_s: float) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{mode}",
        uri=True,
        timeout=busy_s,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        _wait_until_made(connection, busy_s)
        read_meta(path, connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _wait_until_made(connection: sqlite3.Connection, busy_s: float) -> None:
    """Wait for a process that is creating the log; an empty file may stay empty.

    The file exists before its tables, and nothing wakes a reader when those appear.
    """
    until_s = steady_s() + busy_s
    while connection.execute("select count(*) from sqlite_master").fetchone() == (0,):
        if steady_s() >= until_s:
            return
        time.sleep(MADE_LOOK_S)


def _migrate(connection: sqlite3.Connection) -> None:
    """Upgrade the tables to the newest format in one transaction: a kill leaves the old one."""
    connection.execute("begin immediate")
    try:
        # Again, now that no other process can change it.
        (found,) = connection.execute("select value from meta where name = 'format'").fetchone()
        for number in range(int(found), LOG_FORMAT):
            for statement in MIGRATIONS[number]:
                connection.execute(statement)
        connection.execute("update meta set value = ? where name = 'format'", (str(LOG_FORMAT),))
        connection.execute("commit")
    except BaseException:
        if connection.in_transaction:
            connection.execute("rollback")
        raise


def _create(path: Path, connection: sqlite3.Connection, like: Meta | None) -> None:
    born_ns, log_id = (like.created_ns, like.log_id) if like else (time.time_ns(), uuid.uuid4().hex)
    meta = [("format", LOG_FORMAT), ("created_ns", born_ns), ("log_id", log_id)]
    # All in one transaction: a kill leaves an empty file or a whole log.
    connection.executescript(f"begin immediate; {TABLES}")
    connection.executemany(
        "insert into meta values (?, ?)", [(name, str(value)) for name, value in meta]
    )
    connection.execute("commit")
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # the name of the new file survives a power loss, too
    finally:
        os.close(folder)
