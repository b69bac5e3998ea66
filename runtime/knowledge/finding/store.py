"""The knowledge store: chunks of files and their full text, in one SQLite file.

One transaction holds a file whole or not at all. Chunks of a file have consecutive ids, so that
neighbours are found by counting. A file that is damaged, or of another format, is made anew.
"""

import contextlib
import sqlite3
import sys
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple, Self

from cortex.runtime.log import create_private

from ..errors import KnowledgeDiskError
from .schema import FORMAT, INDEXED, TABLES, UNINDEXED, indexed_text

BUSY_S: Final = 60.0  # for which another process may write
CACHE_KB: Final = 64 * 1024
CHARS_A_WORD: Final = 6  # with the space after it; lengths are compared, never counted
_FILES: Final = (
    "id, root, path, topic, scope, digest, size_bytes, changed_ns, first, chunks, lengths, note"
)


_WRITTEN: Final = (
    "root, path, topic, scope, digest, size_bytes, changed_ns, first, chunks, lengths, blob, "
    "offset, bytes, note"
)


class Entry(NamedTuple):
    """One chunk as it is stored."""

    heading: str
    line: int
    text: str
    speaker: str


class NewFile(NamedTuple):
    """A file as it is written into the store."""

    root: str
    path: str
    topic: str
    scope: str
    digest: str
    size_bytes: int
    changed_ns: int
    entries: Sequence[Entry]
    note: str = ""
    blob: str = ""
    offset: int = 0
    bytes: int = 0


class StoredFile(NamedTuple):
    """A file as the store has it."""

    id: int
    root: str
    path: str
    topic: str
    scope: str
    digest: str
    size_bytes: int
    changed_ns: int
    first: int
    chunks: int
    lengths: bytes
    note: str


class StoredChunk(NamedTuple):
    """A chunk as the store has it."""

    id: int
    heading: str
    line: int
    text: str


class KnowledgeStore:
    """The file and what stands in it. `open` makes one; one thread at a time may use it."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self.connection = connection
        self.rebuilt = False  # a damaged file was thrown away

    @classmethod
    def open(cls, path: Path) -> Self:
        """The store at *path*, made where there is none, made anew where it is damaged.

        Raises:
            KnowledgeDiskError: It cannot be made or read.
        """
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            create_private(path)
            try:
                return cls(path, _connect(path))
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError) and not _is_damage(error):
                    raise
                _remove(path)
                create_private(path)
                store = cls(path, _connect(path))
                store.rebuilt = True
                return store
        except (OSError, sqlite3.Error) as error:
            raise KnowledgeDiskError(str(path), str(error)) from error

    def close(self) -> None:
        """Let the file go."""
        self.connection.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction: all that is written inside, or nothing.

        Raises:
            KnowledgeDiskError: The disk did not take it; the store is as it was before.
        """
        try:
            self.connection.execute("begin immediate")
            try:
                yield
                self.connection.execute(
                    "insert into state values ('generation', 1) "
                    "on conflict (name) do update set value = value + 1"
                )
                self.connection.execute("commit")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self.connection.execute("rollback")
                raise
        except sqlite3.Error as error:
            raise KnowledgeDiskError(str(self.path), str(error)) from error

    @contextmanager
    def filling(self) -> Iterator[None]:
        """For much at once: words are merged at the end, not over and over."""
        self._tune(automerge=0, hashsize=64 << 20)
        try:
            yield
        finally:
            self._tune(automerge=4, hashsize=1 << 20)

    def _tune(self, **values: int) -> None:
        for name, value in values.items():
            self.connection.execute("insert into words(words, rank) values (?, ?)", (name, value))

    def files(self) -> list[StoredFile]:
        """Every file, in the order of its chunks."""
        rows = self.connection.execute(f"select {_FILES} from files order by first, id")  # noqa: S608
        return [StoredFile(*row) for row in rows]

    def counts(self) -> tuple[int, int]:
        """How many files and chunks there are."""
        row = self.connection.execute("select count(*), sum(chunks) from files").fetchone()
        return int(row[0]), int(row[1] or 0)

    def text_bytes(self) -> int:
        """Bytes of text in all files that are indexed."""
        row = self.connection.execute("select sum(bytes) from files").fetchone()
        return int(row[0] or 0)

    def generation(self) -> int:
        """A number that every write makes larger."""
        row = self.connection.execute(
            "select value from state where name = 'generation'"
        ).fetchone()
        return int(row[0]) if row else 0

    def put(self, files: Sequence[NewFile]) -> None:
        """Write *files*, each in the place of what stood under its path; inside `writing`."""
        for file in files:
            self.remove(file.path)
        first = self._next_chunks(sum(len(file.entries) for file in files))
        rows: list[tuple[object, ...]] = []
        chunks: list[tuple[int, str, int, str]] = []
        speakers: list[tuple[str, int]] = []
        for file in files:
            rows.append(_row(file, first))
            for number, (heading, line, text, speaker) in enumerate(file.entries, first):
                chunks.append((number, heading, line, text))
                if speaker:
                    speakers.extend((name, number) for name in speaker.lower().split())
            first += len(file.entries)
        marks = ", ".join("?" * 14)
        self.connection.executemany(
            f"insert into files ({_WRITTEN}) values ({marks})",  # noqa: S608  # our own names and question marks
            rows,
        )
        self.connection.executemany("insert into chunks values (?, ?, ?, ?)", chunks)
        self.connection.executemany(
            INDEXED, [(chunk[0], indexed_text(chunk[1], chunk[3])) for chunk in chunks]
        )
        self.connection.executemany("insert or ignore into speakers values (?, ?)", speakers)

    def _next_chunks(self, wanted: int) -> int:
        # Never used twice: a vector that outlived its chunk must not be taken for another's.
        row = self.connection.execute("select value from state where name = 'chunk'").fetchone()
        first = int(row[0]) if row else 1
        self.set_state("chunk", first + wanted)
        return first

    def remove(self, path: str) -> bool:
        """Take out what stands under *path*; whether there was anything. Inside `writing`."""
        row = self.connection.execute(
            "select id, first, chunks from files where path = ?", (path,)
        ).fetchone()
        if row is None:
            return False
        file_id, first, chunks = row
        span = (first, first + chunks)
        old = self.connection.execute(
            "select id, heading, text from chunks where id >= ? and id < ?", span
        ).fetchall()
        self.connection.executemany(
            UNINDEXED, [(i, indexed_text(heading, text)) for i, heading, text in old]
        )
        for name in {row[0] for row in self._speakers(span)}:
            self.connection.execute(
                "delete from speakers where name = ? and chunk >= ? and chunk < ?", (name, *span)
            )
        self.connection.execute("delete from chunks where id >= ? and id < ?", span)
        self.connection.execute("delete from files where id = ?", (file_id,))
        return True

    def _speakers(self, span: tuple[int, int]) -> list[tuple[str]]:
        return self.connection.execute(
            "select distinct name from speakers where chunk >= ? and chunk < ?", span
        ).fetchall()

    def chunks(self, ids: Sequence[int]) -> dict[int, StoredChunk]:
        """The chunks with *ids*, by id; one that is gone is left out."""
        found: dict[int, StoredChunk] = {}
        for start in range(0, len(ids), 500):
            part = ids[start : start + 500]
            marks = ", ".join("?" * len(part))
            rows = self.connection.execute(
                f"select id, heading, line, text from chunks where id in ({marks})",  # noqa: S608
                tuple(part),
            )
            found.update((row[0], StoredChunk(*row)) for row in rows)
        return found

    def chunks_after(self, chunk_id: int, limit: int) -> list[StoredChunk]:
        """At most *limit* chunks with a larger id, in order."""
        rows = self.connection.execute(
            "select id, heading, line, text from chunks where id > ? order by id limit ?",
            (chunk_id, limit),
        )
        return [StoredChunk(*row) for row in rows]

    def set_state(self, name: str, value: int) -> None:
        """Keep a number under *name*; inside `writing`."""
        self.connection.execute("insert or replace into state values (?, ?)", (name, value))

    def optimize(self) -> None:
        """Merge what the full text has in parts."""
        with self.writing():
            self.connection.execute("insert into words(words) values ('optimize')")


def _row(file: NewFile, first: int) -> tuple[object, ...]:
    words = array("H", (min(len(entry[2]) // CHARS_A_WORD + 1, 65_535) for entry in file.entries))
    if sys.byteorder == "big":
        words.byteswap()
    return (
        *file[:7],
        first,
        len(file.entries),
        words.tobytes(),
        file.blob,
        file.offset,
        file.bytes,
        file.note,
    )


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=BUSY_S, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = normal")
        connection.execute(f"pragma cache_size = -{CACHE_KB}")
        connection.execute("pragma temp_store = memory")
        found = connection.execute("pragma user_version").fetchone()[0]
        if found not in (0, FORMAT):
            raise sqlite3.DatabaseError(f"format {found}, not {FORMAT}")
        if found == 0:
            connection.execute("begin immediate")
            # Another process may have been first.
            if connection.execute("pragma user_version").fetchone()[0] == 0:
                for statement in _statements():
                    connection.execute(statement)
                connection.execute(f"pragma user_version = {FORMAT}")
            connection.execute("commit")
        connection.execute("select count(*) from files").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _statements() -> Iterator[str]:
    return (part for part in TABLES.split(";\n") if part.strip())


def _is_damage(error: sqlite3.Error) -> bool:
    return "no such table" in str(error) or "malformed" in str(error)


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
