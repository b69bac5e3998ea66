"""The file of the knowledge store: its tables, opened and written; it may be deleted."""

import contextlib
import secrets
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Final

FORMAT: Final = 3  # another number, or another set of tokenizers: the file is made anew
TABLES: Final = """
create table files (
    id         integer primary key,
    root       text    not null,
    path       text    not null unique,
    topic      text    not null,     -- dotted; "" where its name cannot be one
    scope      text    not null,
    digest     text    not null,     -- sha256 of its bytes; "" where it could not be read
    size_bytes integer not null,
    changed_ns integer not null,     -- of the file system; with the size says whether to look again
    first      integer not null,     -- id of its first chunk; the others follow without a gap
    chunks     integer not null,
    lengths    blob    not null,     -- words of each chunk, 16 bits little endian
    blob       text    not null,     -- digest of the blob that keeps its text; "" where none does
    offset     integer not null,     -- of its first byte in there
    bytes      integer not null,     -- in there, UTF-8
    note       text    not null      -- why it is not, or not fully, indexed; "" where it is
);
create table chunks (
    id       integer primary key,
    heading  text    not null,
    line     integer not null,       -- number of its first line in the file, from 1
    text     text    not null,
    speaker  text    not null        -- who says it, in a transcript; "" elsewhere
);
create table speakers (
    name  text    not null,          -- one word of a speaker's name, lower case
    chunk integer not null,
    primary key (name, chunk)
) without rowid;
create table state (
    name  text primary key,
    value integer not null
) without rowid;
create virtual table words using fts5(
    text, content='', columnsize=0,  -- lengths stand in `files`
    tokenize='porter unicode61 remove_diacritics 2'
);
create virtual table occurrences using fts5vocab(words, 'instance');
"""
# How often each word occurs, which costs less than to look at where; a connection has its own.
VOCABULARY: Final = "create virtual table temp.vocabulary using fts5vocab('main', words, 'row')"
# A passage is found by its words and by those of the titles above it.
INDEXED: Final = "insert into words(rowid, text)"
UNINDEXED: Final = "insert into words(words, rowid, text) values ('delete', ?, ?)"
BUSY_S: Final = 60.0  # for which another process may write
CACHE_KB: Final = 64 * 1024
CHECKPOINT_PAGES: Final = 16_000  # as the log has it: fewer syncs while much is written
# What is not yet in the file by then, the writer brings there itself, and waits for the disk.
WAITING_PAGES = 64_000
# Rows by one statement: powers of two, so that few are prepared, which keep what was bound last.
MOST: Final = 4_096


def indexed_text(heading: str, text: str) -> str:
    """What the full text holds of a chunk; to take it out, the same must be given again."""
    # The innermost title describes this passage best: it counts twice.
    return f"{heading}\n{heading.rsplit(' > ', 1)[-1]}\n{text}" if heading else text


def meant_text(heading: str, text: str, speaker: str) -> str:
    """What an embedder is given of a chunk."""
    # A date above a hundred turns adds no meaning to any of them; words find it.
    return text if speaker else indexed_text(heading, text)


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
        connection.execute(VOCABULARY)
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
    """Whether *error* means that a store must be rebuilt."""
    told = ("no such table", "no such fts5 table", "malformed", "corrupt", "vtable constructor")
    return type(error) is sqlite3.DatabaseError or any(word in str(error) for word in told)


class Checkpoints:
    """A thread that checkpoints on request, so that the writer does not wait for syncs.

    A commit is as safe as before: one is in the write-ahead log before it is in the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._told = threading.Condition()
        self._wanted = self._ended = False

    def want(self) -> None:
        """Have what is committed now brought over, soon."""
        with self._told:
            self._wanted = True
            self._told.notify()

    @contextmanager
    def running(self) -> Iterator[None]:
        """While the thread runs."""
        thread = threading.Thread(target=self._run, name="knowledge-checkpoints", daemon=True)
        thread.start()
        try:
            yield
        finally:
            with self._told:
                self._ended = True
                self._told.notify()
            thread.join()

    def _run(self) -> None:
        # If it fails, the writer's next checkpoint repeats the work and reports the error.
        with contextlib.suppress(sqlite3.Error):
            connection = sqlite3.connect(self._path, isolation_level=None)
            with contextlib.closing(connection):
                while self._is_wanted():
                    connection.execute("pragma wal_checkpoint(passive)").fetchall()

    def _is_wanted(self) -> bool:
        with self._told:
            self._told.wait_for(lambda: self._wanted or self._ended)
            wanted, self._wanted = self._wanted, False
            return wanted


def insert(
    connection: sqlite3.Connection, into: str, rows: Sequence[tuple[object, ...]], most: int = MOST
) -> None:
    """Insert *rows*, all of one width, by *into*, as in `insert into words(rowid, text)`."""
    for part in _parts(rows, most):
        marks = f"({', '.join('?' * len(part[0]))})"
        statement = f"{into} values {', '.join([marks] * len(part))}"
        connection.execute(statement, tuple(chain.from_iterable(part)))


def _parts(rows: Sequence[tuple[object, ...]], most: int) -> Iterator[Sequence[tuple[object, ...]]]:
    start, size = 0, most
    while start < len(rows):
        while size > len(rows) - start:
            size //= 2
        yield rows[start : start + size]
        start += size
