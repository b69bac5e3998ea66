"""The knowledge store: chunks of files and their full text, in one SQLite file.

One transaction holds a file whole or not at all. Chunks of a file have consecutive ids, so that
neighbours are found by counting. A file that is damaged, or of another format, is made anew.
"""

import contextlib
import sqlite3
import sys
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate, chain, starmap
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from msgspec import Struct

from cortex.runtime.log import create_private

from ..errors import StoreDiskError
from . import schema
from .schema import Checkpoints, connect, indexed_text, insert, is_damage

FILES_AT_ONCE: Final = 1_024  # by one statement, which takes 32,766 values at most
TOUCHED_MOST: Final = 500  # files; where more were, all are read again
CHARS_A_WORD: Final = 6  # with the space after it; lengths are compared, never counted
_FILES: Final = (
    "id, root, path, topic, scope, digest, size_bytes, changed_ns, first, chunks, lengths, note"
)
_WRITTEN: Final = (
    "root, path, topic, scope, digest, size_bytes, changed_ns, first, chunks, lengths, blob, "
    "offset, bytes, note"
)


class ChunkEntry(NamedTuple):
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
    entries: Sequence[ChunkEntry]
    note: str = ""
    blob: str = ""
    offset: int = 0
    bytes: int = 0


class StoredFile(Struct, frozen=True, gc=False):
    """A file as the store has it; many are kept, so Python's garbage collector looks at none."""

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

    @property
    def is_indexed(self) -> bool:
        """Whether it could be; an empty one is, too."""
        return bool(self.chunks) or not self.note


class StoredChunk(NamedTuple):
    """A chunk as the store has it."""

    id: int
    heading: str
    line: int
    text: str
    speaker: str


class PassageStore:
    """The file and its contents. `open` makes one; one thread at a time may use it."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self.connection = connection
        # Of which generation, and they.
        self._files: tuple[int, dict[str, StoredFile]] | None = None
        self._checkpoints: Checkpoints | None = None  # while much is written
        self._touched: set[str] = set()  # paths written or removed since they were read
        self._commits = 0  # since they were read
        self.rebuilt = False  # a damaged file was thrown away
        self.damaged = False  # it proved to be; `renewed` makes another

    @classmethod
    def open(cls, path: Path) -> Self:
        """The store at *path*, made if there is none, rebuilt if it is damaged.

        Raises:
            StoreDiskError: It cannot be made or read.
        """
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            create_private(path)
            try:
                return cls(path, connect(path))
            except sqlite3.DatabaseError as error:
                if not is_damage(error):
                    raise
                return cls._anew(path)
        except (OSError, sqlite3.Error) as error:
            raise StoreDiskError(str(path), str(error)) from error

    @classmethod
    def _anew(cls, path: Path) -> Self:
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        create_private(path)
        store = cls(path, connect(path))
        store.rebuilt = True
        return store

    def renewed(self) -> Self:
        """An empty store in the place of this one, which is closed.

        Raises:
            StoreDiskError: It cannot be made.
        """
        self.close()
        try:
            return self._anew(self.path)
        except (OSError, sqlite3.Error) as error:
            raise StoreDiskError(str(self.path), str(error)) from error

    def close(self) -> None:
        """Let the file go."""
        self.connection.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction: all that is written inside, or nothing.

        Raises:
            StoreDiskError: The disk did not take it; the store is as it was before.
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
                self._commits += 1
                if self._checkpoints is not None:
                    self._checkpoints.want()
            except BaseException:
                self._files = None  # what was touched is as it was, and stands where it stood
                with contextlib.suppress(sqlite3.Error):
                    self.connection.execute("rollback")
                raise
        except sqlite3.Error as error:
            self.damaged = is_damage(error)
            raise StoreDiskError(str(self.path), str(error)) from error

    @contextmanager
    def using(self) -> Iterator[None]:
        """Any use of the store.

        Raises:
            StoreDiskError: It cannot be read or written, and may be `damaged`.
        """
        try:
            yield
        except sqlite3.Error as error:
            self.damaged = is_damage(error)
            raise StoreDiskError(str(self.path), str(error)) from error

    @contextmanager
    def filling(self) -> Iterator[None]:
        """For much at once: words are merged at the end, and syncs waited for beside the work."""
        self._tune(automerge=0, hashsize=64 << 20)
        self._checkpoint_after(schema.WAITING_PAGES)
        self._checkpoints = Checkpoints(self.path)
        try:
            with self._checkpoints.running():
                yield
        finally:
            self._checkpoints = None
            self._checkpoint_after(schema.CHECKPOINT_PAGES)
            self._tune(automerge=4, hashsize=1 << 20)

    def _checkpoint_after(self, pages: int) -> None:
        self.connection.execute(f"pragma wal_autocheckpoint = {pages}")

    def _tune(self, **values: int) -> None:
        for name, value in values.items():
            self.connection.execute("insert into words(words, rank) values (?, ?)", (name, value))

    def files(self) -> list[StoredFile]:
        """Every file, in the order of its chunks; read again where something was written."""
        return list(self.files_by_path().values())

    def files_by_path(self) -> Mapping[str, StoredFile]:
        """As `files`, by path."""
        generation = self.generation()
        if self._files is None or self._files[0] != generation:
            self._files = (generation, self._patched(generation) or self._read())
            self._touched, self._commits = set(), 0
        return self._files[1]

    def _patched(self, generation: int) -> dict[str, StoredFile] | None:
        """What was read last with what was touched since; None where that is not all."""
        if (
            self._files is None
            or generation != self._files[0] + self._commits  # another process wrote
            or len(self._touched) > TOUCHED_MOST
        ):
            return None
        kept = {path: one for path, one in self._files[1].items() if path not in self._touched}
        # Behind all others: ids of chunks are never used twice.
        marks = ", ".join("?" * len(self._touched))
        return kept | self._read(f"where path in ({marks})", tuple(self._touched))

    def _read(self, which: str = "", values: tuple[str, ...] = ()) -> dict[str, StoredFile]:
        rows = self.connection.execute(
            f"select {_FILES} from files {which} order by first, id",  # noqa: S608  # every value is bound
            values,
        )
        return {file.path: file for file in starmap(StoredFile, rows)}

    def counts(self) -> tuple[int, int]:
        """How many files that are indexed there are, and chunks."""
        row = self.connection.execute(
            "select count(*), sum(chunks) from files where chunks or note = ''"
        ).fetchone()
        return int(row[0]), int(row[1] or 0)

    def query(self, sql: str) -> list[dict[str, Any]]:
        """Rows of an ad-hoc question, by column."""
        # Here, not at the top: it takes a tenth of a second to load, which no search should pay.
        from sqlite_utils import Database

        database = Database(self.connection, recursive_triggers=False, execute_plugins=False)
        return list(database.query(sql))

    def generation(self) -> int:
        """A number that every write makes larger."""
        return self._state("generation", 0)

    def identity(self) -> int:
        """A number that no other store has, nor this file once it is made anew."""
        return self._state("identity", 0)

    def put(self, files: Sequence[NewFile]) -> None:
        """Write *files*, each replacing the contents of its path; inside `writing`."""
        paths = [file.path for file in files]
        for path in self._present(paths):
            self.remove(path)
        self._touched.update(paths)
        entries = list(chain.from_iterable(file.entries for file in files))
        first = self._next_chunks(len(entries))
        numbers = range(first, first + len(entries))
        firsts = accumulate((len(file.entries) for file in files), initial=first)
        rows = list(map(_row, files, firsts))
        chunks = [(number, *entry) for number, entry in zip(numbers, entries, strict=True)]
        words = [(chunk[0], indexed_text(chunk[1], chunk[3])) for chunk in chunks]
        connection = self.connection
        insert(connection, f"insert into files ({_WRITTEN})", rows, FILES_AT_ONCE)
        insert(connection, "insert into chunks", chunks)
        insert(connection, schema.INDEXED, words)
        insert(connection, "insert or ignore into speakers", _spoken(chunks))

    def _present(self, paths: Sequence[str]) -> list[str]:
        found: list[str] = []
        for start in range(0, len(paths), 500):
            part = paths[start : start + 500]
            marks = ", ".join("?" * len(part))
            rows = self.connection.execute(
                f"select path from files where path in ({marks})",  # noqa: S608  # every value is bound
                tuple(part),
            )
            found.extend(row[0] for row in rows)
        return found

    def _next_chunks(self, wanted: int) -> int:
        # Never used twice: a vector that outlived its chunk must not be taken for another's.
        first = self._state("chunk", 1)
        self.set_state("chunk", first + wanted)
        return first

    def remove(self, path: str) -> bool:
        """Remove the contents of *path*; return whether there were any. Inside `writing`."""
        row = self.connection.execute(
            "select id, first, chunks from files where path = ?", (path,)
        ).fetchone()
        if row is None:
            return False
        self._touched.add(path)
        file_id, first, chunks = row
        span = (first, first + chunks)
        old = self.connection.execute(
            "select id, heading, text from chunks where id >= ? and id < ?", span
        ).fetchall()
        self.connection.executemany(
            schema.UNINDEXED, [(i, indexed_text(heading, text)) for i, heading, text in old]
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

    def chunks(self, ids: Sequence[int], *, texts: bool = True) -> dict[int, StoredChunk]:
        """The chunks with *ids*, by id; one that is gone is left out.

        Without *texts*, their text is "".
        """
        found: dict[int, StoredChunk] = {}
        text = "text" if texts else "''"
        for start in range(0, len(ids), 500):
            part = ids[start : start + 500]
            marks = ", ".join("?" * len(part))
            rows = self.connection.execute(
                f"select id, heading, line, {text}, speaker from chunks where id in ({marks})",  # noqa: S608  # every value is bound
                tuple(part),
            )
            found.update((row[0], StoredChunk(*row)) for row in rows)
        return found

    def chunks_after(self, chunk_id: int, limit: int) -> list[StoredChunk]:
        """At most *limit* chunks with a larger id, in order."""
        rows = self.connection.execute(
            "select id, heading, line, text, speaker from chunks where id > ? order by id limit ?",
            (chunk_id, limit),
        )
        return [StoredChunk(*row) for row in rows]

    def _state(self, name: str, otherwise: int) -> int:
        row = self.connection.execute("select value from state where name = ?", (name,)).fetchone()
        return int(row[0]) if row else otherwise

    def set_state(self, name: str, value: int) -> None:
        """Keep a number under *name*; inside `writing`."""
        self.connection.execute("insert or replace into state values (?, ?)", (name, value))

    def optimize(self) -> None:
        """Merge what the full text has in parts."""
        with self.writing():
            self.connection.execute("insert into words(words) values ('optimize')")


def above_and_itself(topic: str) -> Iterator[str]:
    """*topic* and its parents: a, a.b and a.b.c of a.b.c."""
    end = topic.find(".")
    while end >= 0:
        yield topic[:end]
        end = topic.find(".", end + 1)
    yield topic


def _spoken(chunks: Sequence[tuple[int, str, int, str, str]]) -> list[tuple[str, int]]:
    """The words of each speaker's name, with the speaker's chunks."""
    return [(name, chunk[0]) for chunk in chunks if chunk[4] for name in chunk[4].lower().split()]


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
