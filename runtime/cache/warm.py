"""The second tier: artefacts in cache.db, bounded by bytes; time-aware LFU.

What leaves first, when there is no room: what was not used within the window, the longest ago
first; then what has the least heat, see `heat.py`. A value is read only with its proof.
"""

import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias

from .artefacts import CacheEntry, is_proven, proof_of
from .database import Database, transaction
from .heat import half_life_ns, heated
from .schema import bytes_of

NOTICES_KEPT: Final = 10_000
SWEPT: Final = 64  # entries in one transaction, so that others can write meanwhile
_FOUND: Final = """
select e.id, e.size, e.proof, e.key, e.kind, e.inputs, e.version, b.value
from entries e join bodies b on b.id = e.id where e.key = ?
"""
_OLD: Final = """
select e.id, e.size, e.proof, e.key, e.kind, e.inputs, e.version, b.value
from entries e join bodies b on b.id = e.id where e.used_ns < ? order by e.used_ns, e.id limit ?
"""
_COLD: Final = """
select e.id, e.size, e.proof, e.key, e.kind, e.inputs, e.version, b.value
from entries e join bodies b on b.id = e.id order by e.heat, e.id limit ?
"""
_EMPTY: Final = (
    "delete from entries",
    "delete from bodies",
    "delete from subjects",
    "delete from hints",
    "update totals set bytes = 0, entries = 0",
)
_OF_SUBJECT: Final = """
select e.id, e.key from subjects s join entries e on e.id = s.entry where s.subject = ?
"""
_SUBJECTS: Final = "select subject from subjects where entry = ?"

Archive: TypeAlias = Callable[[CacheEntry], None]
# Id, size and proof, and the fields of a CacheEntry.
Row: TypeAlias = tuple[int, int, bytes, bytes, str, bytes, int, bytes]


class WarmTier:
    """Entries by the digest of their key; threads and processes may share the file.

    Args:
        database: The file.
        bound: Bytes that the entries never take more of.
        window_ns: What was not used for so long leaves first.
        secret: For the proofs.
        archive: Gets what is evicted.
        now_ns: The time.
    """

    def __init__(
        self,
        database: Database,
        bound: int,
        window_ns: int,
        secret: bytes,
        archive: Archive,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self.bound, self._window_ns, self._secret = bound, window_ns, secret
        self._database, self._archive, self._now_ns = database, archive, now_ns
        self._half_life_ns = half_life_ns(window_ns)
        self.hits = self.misses = self.evictions = self.broken = 0

    def get(self, key: bytes) -> CacheEntry | None:
        """The entry under *key*; None if there is none that is proven."""
        found = self._database.run(lambda connection: self._read(connection, key), None)
        if found is None:
            self.misses += 1
        else:
            self.hits += 1
        return found

    def put(self, entry: CacheEntry) -> bool:
        """Keep *entry*, which counts as used now; False if it is too large, or cannot be written.

        An artefact that was made from the data of two subjects at different times is both's.
        """
        size = bytes_of(len(entry.value))
        if size > self.bound:
            return False
        return self._database.run(lambda connection: self._write(connection, entry, size), False)

    def drop(self, keys: Iterable[bytes]) -> int:
        """Remove entries, from the memory of other processes too; returns how many were here."""
        wanted = list(keys)

        def work(connection: sqlite3.Connection) -> int:
            with transaction(connection):
                removed = 0
                for key in wanted:
                    row = connection.execute("select id from entries where key = ?", (key,))
                    removed += self._remove(connection, [id_ for (id_,) in row])
                    self._notify(connection, "drop", key)
            return removed

        return self._database.run(work, 0)

    def forget(self, subject: bytes) -> list[bytes]:
        """The same for all entries that came from *subject*; returns their keys.

        No bytes of them stay in the file.
        """

        def work(connection: sqlite3.Connection) -> list[bytes]:
            connection.execute("pragma synchronous = full")  # a loss of power must not undo this
            with transaction(connection):
                rows = connection.execute(_OF_SUBJECT, (subject,)).fetchall()
                removed = [key for _, key in rows]
                self._remove(connection, [id_ for id_, _ in rows])
                self._notify(connection, "forget", subject)
                for key in removed:  # a process may know it as somebody else's
                    self._notify(connection, "drop", key)
            with contextlib.suppress(sqlite3.OperationalError):  # while another process reads
                connection.execute("pragma wal_checkpoint(truncate)").fetchall()
            connection.execute("pragma synchronous = off")
            return removed

        return self._database.run(work, [])

    def clear(self) -> int:
        """Remove everything, and give the room back; returns how many entries were here."""

        def work(connection: sqlite3.Connection) -> int:
            with transaction(connection):
                removed = int(connection.execute("select entries from totals").fetchone()[0])
                for sql in _EMPTY:
                    connection.execute(sql)
            with contextlib.suppress(sqlite3.OperationalError):  # while another process reads
                connection.execute("vacuum")
                connection.execute("pragma wal_checkpoint(truncate)").fetchall()
            return removed

        return self._database.run(work, 0)

    def sweep(self, go_on: Callable[[], bool]) -> int:
        """Evict what was not used within the window, while *go_on*; returns how many entries."""
        removed = 0
        while self._database.is_there and go_on():
            done = self._database.run(self._sweep_some, 0)
            removed += done
            if done < SWEPT:
                break
        return removed

    def ranked(self, limit: int) -> list[tuple[bytes, bytes, int]]:
        """Key, inputs and size of what was used within the window, the hottest first."""
        sql = "select key, inputs, size from entries where used_ns >= ? order by heat desc limit ?"
        since_ns = self._now_ns() - self._window_ns
        return self._database.run(lambda db: db.execute(sql, (since_ns, limit)).fetchall(), [])

    def peek(self, key: bytes) -> CacheEntry | None:
        """The entry under *key*; it does not count as used."""
        return self._database.run(lambda connection: self._read(connection, key), None)

    def note_used(self, connection: sqlite3.Connection, used: dict[bytes, int]) -> None:
        """Record uses, within a transaction."""
        now_ns = self._now_ns()
        for key, uses in used.items():
            row = connection.execute("select id, heat from entries where key = ?", (key,))
            for id_, heat in row.fetchall():
                connection.execute(
                    "update entries set used_ns = ?, uses = uses + ?, heat = ? where id = ?",
                    (now_ns, uses, heated(heat, now_ns, uses, self._half_life_ns), id_),
                )

    def _read(self, connection: sqlite3.Connection, key: bytes) -> CacheEntry | None:
        row = connection.execute(_FOUND, (key,)).fetchone()
        if row is None:
            return None
        id_, _, proof, *_, value = row
        if not is_proven(self._secret, key, value, proof):
            self.broken += 1
            with transaction(connection):
                self._remove(connection, [id_])
            return None
        return self._entry(connection, row)

    def _write(self, connection: sqlite3.Connection, entry: CacheEntry, size: int) -> bool:
        with transaction(connection):
            old = connection.execute(
                "select id, size, uses, heat, made_ns from entries where key = ?", (entry.key,)
            ).fetchone()
            id_, old_size, uses, heat, made_ns = old or (None, 0, 0, 0.0, self._now_ns())
            self._make_room(connection, size - old_size, id_)
            now_ns = self._now_ns()
            proof = proof_of(self._secret, entry.key, entry.value)
            heat = heated(heat, now_ns, 1, self._half_life_ns)
            row = connection.execute(
                "insert or replace into entries values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (id_, *entry[:4], size, made_ns, now_ns, uses + 1, heat, proof),
            )
            id_ = row.lastrowid
            connection.execute("insert or replace into bodies values (?, ?)", (id_, entry.value))
            connection.executemany(
                "insert or ignore into subjects values (?, ?)",
                [(each, id_) for each in entry.subjects],
            )
            self._add_up(connection, size - old_size, 0 if old else 1)
        return True

    def _make_room(self, connection: sqlite3.Connection, size: int, but: int | None) -> None:
        """Evict until *size* more fits the bound; never the entry *but*."""
        held = connection.execute("select bytes from totals").fetchone()[0]
        while held + size > self.bound:
            row = self._first_to_leave(connection, but)
            if row is None:
                return
            held -= row[1]
            self._evict(connection, row)

    def _first_to_leave(self, connection: sqlite3.Connection, but: int | None) -> Row | None:
        since_ns = self._now_ns() - self._window_ns
        for sql, values in ((_OLD, (since_ns, 2)), (_COLD, (2,))):
            row: Row
            for row in connection.execute(sql, values):
                if row[0] != but:
                    return row
        return None

    def _sweep_some(self, connection: sqlite3.Connection) -> int:
        since_ns = self._now_ns() - self._window_ns
        with transaction(connection):
            rows = connection.execute(_OLD, (since_ns, SWEPT)).fetchall()
            for row in rows:
                self._evict(connection, row)
        return len(rows)

    def _evict(self, connection: sqlite3.Connection, row: Row) -> None:
        """Archive an entry if it is proven, and remove it, within a transaction."""
        _, _, proof, key, *_, value = row
        if is_proven(self._secret, key, value, proof):
            self._archive(self._entry(connection, row))
        self._remove(connection, [row[0]])
        self.evictions += 1

    def _entry(self, connection: sqlite3.Connection, row: Row) -> CacheEntry:
        id_, _, _, key, kind, inputs, version, value = row
        return CacheEntry(key, kind, inputs, version, value, self._subjects(connection, id_))

    def _remove(self, connection: sqlite3.Connection, ids: list[int]) -> int:
        """Remove entries, within a transaction; what came from a subject is overwritten."""
        for id_ in ids:
            whose = self._subjects(connection, id_)
            connection.execute(f"pragma secure_delete = {'on' if whose else 'off'}").fetchall()
            size = connection.execute("select size from entries where id = ?", (id_,)).fetchone()
            for sql in (
                "delete from entries where id = ?",
                "delete from bodies where id = ?",
                "delete from subjects where entry = ?",
            ):
                connection.execute(sql, (id_,))
            self._add_up(connection, -size[0], -1)
        return len(ids)

    @staticmethod
    def _add_up(connection: sqlite3.Connection, size: int, entries: int) -> None:
        connection.execute(
            "update totals set bytes = bytes + ?, entries = entries + ?", (size, entries)
        )

    @staticmethod
    def _subjects(connection: sqlite3.Connection, id_: int) -> tuple[bytes, ...]:
        return tuple(sorted(each for (each,) in connection.execute(_SUBJECTS, (id_,))))

    def _notify(self, connection: sqlite3.Connection, what: str, about: bytes) -> None:
        """Tell other processes what to drop from their memory."""
        connection.execute(
            "insert into notices (what, about, made_ns) values (?, ?, ?)",
            (what, about, self._now_ns()),
        )
        connection.execute(
            "delete from notices where id <= (select max(id) from notices) - ?", (NOTICES_KEPT,)
        )


def inputs_in(packed: bytes) -> Iterator[bytes]:
    """The digests of an entry's inputs."""
    return (packed[at : at + 32] for at in range(0, len(packed), 32))
