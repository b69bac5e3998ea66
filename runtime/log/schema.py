"""The tables of log.db, and how the file is made and opened."""

import os
import sqlite3
import time
import uuid
from pathlib import Path
from typing import Literal

import msgspec

from .errors import LogMissingError, LogNewerError, NotALogError
from .failures import BUSY_S

Durability = Literal["normal", "full"]

LOG_FORMAT = 2  # of these tables; a new layout takes a new number
EPOCHS_FORMAT = 2  # the first one with `epochs`, which keep what moves with the events
CACHED_STATEMENTS = 256  # prepared ones: all that `write` has, for batches of any size
MADE_LOOK_S = 0.01  # between two looks at a file that has no tables yet
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
"""
# What takes a log of one format to the next, by the format it is taken from.
MIGRATIONS = {
    1: (EPOCHS, "alter table work add column log_epoch integer not null default 0"),
}


class Meta(msgspec.Struct, frozen=True):
    """What a log says of itself."""

    format: int
    created_ns: int  # UTC
    log_id: str  # random, the same for the life of the log


def open_writer(path: Path, durability: Durability, busy_s: float = BUSY_S) -> sqlite3.Connection:
    """The one connection that writes; the tables are made if the file is new."""
    _refuse_no_file(path)
    # The hub's lock lets one thread in at a time; which one does not matter to SQLite.
    connection = sqlite3.connect(
        path,
        timeout=busy_s,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=CACHED_STATEMENTS,
    )
    try:
        # No tables: new, or a kill came while it was made. Asked before a pragma changes the file.
        new = connection.execute("select count(*) from sqlite_master").fetchone() == (0,)
        found = LOG_FORMAT if new else read_meta(path, connection).format
        connection.execute("pragma journal_mode = wal")
        connection.execute(f"pragma synchronous = {durability}")
        connection.execute(f"pragma wal_autocheckpoint = {CHECKPOINT_PAGES}")
        connection.execute(f"pragma journal_size_limit = {WAL_BYTES}")
        connection.execute("pragma fullfsync = on")  # macOS: fsync alone stops at the drive
        if new:
            _create(path, connection)
        elif found < LOG_FORMAT:
            _migrate(connection)
        # SQLite opens a file that it may not write without a word; writing nothing finds out.
        connection.execute("delete from meta where false")
    except BaseException:
        connection.close()
        raise
    return connection


def open_reader(path: Path, busy_s: float = BUSY_S) -> sqlite3.Connection:
    """A connection that can only read, beside a writer or without one."""
    if not path.exists():
        raise LogMissingError(str(path))
    _refuse_no_file(path)
    try:
        return _reader(path, "mode=ro", busy_s)
    except sqlite3.OperationalError as error:
        no_index = error.sqlite_errorcode & 0xFF in {
            sqlite3.SQLITE_CANTOPEN,
            sqlite3.SQLITE_READONLY,
        }
        if not no_index or path.with_name(path.name + "-wal").exists():
            raise
        # A folder that may not be written and no writer: nothing can change, so nothing is shared.
        return _reader(path, "mode=ro&immutable=1", busy_s)


def read_meta(path: Path, connection: sqlite3.Connection) -> Meta:
    """What the log at *path* says of itself.

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
    # SQLite would wait at a pipe for ever, and Ctrl-C would not end that.
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
    """Give whoever is making the log at this moment time for it; an empty file stays one.

    The file is there before its tables are, and nothing wakes a reader when they come.
    """
    until_s = time.monotonic() + busy_s
    while connection.execute("select count(*) from sqlite_master").fetchone() == (0,):
        if time.monotonic() >= until_s:
            return
        time.sleep(MADE_LOOK_S)


def _migrate(connection: sqlite3.Connection) -> None:
    """Bring the tables to the newest format, all in one transaction: a kill leaves the old one."""
    connection.execute("begin immediate")
    try:
        # Again, now that nobody else can change it.
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


def _create(path: Path, connection: sqlite3.Connection) -> None:
    meta = [("format", LOG_FORMAT), ("created_ns", time.time_ns()), ("log_id", uuid.uuid4().hex)]
    # All in one transaction: a kill leaves an empty file or a whole log.
    connection.executescript(f"begin immediate; {TABLES}")
    connection.executemany(
        "insert into meta values (?, ?)", [(name, str(value)) for name, value in meta]
    )
    connection.execute("commit")
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # the name of the new file, too, survives a power loss
    finally:
        os.close(folder)
