"""The Merkle tree of a log: its leaf hashes, and inner tiles that are computed on demand.

The log stores tiles of level 0 (C2SP tlog-tiles). A tile of level *n* + 1 holds the roots of 256
whole tiles of level *n*. Those are in a separate file, which may be deleted at any time,
and each head or proof adds the new ones: no leaf is read twice for them.
"""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Protocol, Self

from . import merkle
from .durable import create_private
from .tiles import HASH_BYTES, LEAVES

_SCHEMA = """
create table if not exists tiles (
    level  integer not null,       -- 1, 2, ...: of 256 ** level leaves to each hash
    number integer not null,       -- of the hash in its level, from 0
    hash   blob    not null,
    primary key (level, number)
) strict, without rowid
"""
_PAGE = 16  # whole tiles of leaves per read


class Leaves(Protocol):
    """The part of a log that the tree uses."""

    def leaf_hashes(self, first: int, last: int) -> bytes:
        """RFC 6962 leaf hashes of positions *first* to *last*, both included."""
        ...


class LogTree:
    """The tree over the first *size* events of a log.

    Args:
        log: The source of the leaf hashes.
        size: The number of events in the tree.
        path: The file of the inner tiles; None to keep them in memory.
    """

    def __init__(self, log: Leaves, size: int, path: Path | None = None) -> None:
        self._log, self.size = log, size
        try:
            self._tiles = _opened(path)
        except sqlite3.DatabaseError:
            if path is None:
                raise
            path.unlink()  # it is damaged, and can be rebuilt
            self._tiles = _opened(path)
        if not self._fits():
            self._tiles.execute("delete from tiles")
        self._extend()

    def __enter__(self) -> Self:
        """Itself, until the block is left."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close its file."""
        self._tiles.close()

    def rebuild(self) -> None:
        """Rebuild all inner tiles, because those on disk may have been changed."""
        self._tiles.execute("delete from tiles")
        self._extend()

    def root(self) -> bytes:
        """The root over all events."""
        return merkle.root(self.size, self._subtree)

    def root_at(self, size: int) -> bytes:
        """The root when the log had *size* events."""
        return merkle.root(size, self._subtree)

    def inclusion(self, position: int) -> list[bytes]:
        """The path from the event at *position* (from 1) to the root, leaf first.

        Raises:
            ValueError: The tree has no such event.
        """
        return merkle.inclusion(position - 1, self.size, self._subtree)

    def consistency(self, old: int) -> list[bytes]:
        """The proof that the first *old* events were the whole log when it had that size.

        Raises:
            ValueError: *old* is 0, or more than the tree has.
        """
        return merkle.consistency(old, self.size, self._subtree)

    def _subtree(self, start: int, end: int) -> bytes:
        """The root over a whole subtree: its size is a power of two that divides *start*."""
        level, unit = 0, 1
        while (end - start) % (unit * LEAVES) == 0:
            level, unit = level + 1, unit * LEAVES
        return merkle.fold(self._hashes(level, start // unit, end // unit))

    def _hashes(self, level: int, first: int, end: int) -> list[bytes]:
        if level == 0:
            joined = self._log.leaf_hashes(first + 1, end)
            return [joined[at : at + HASH_BYTES] for at in range(0, len(joined), HASH_BYTES)]
        rows = self._tiles.execute(
            "select hash from tiles where level = ? and number >= ? and number < ? order by number",
            (level, first, end),
        )
        return [row[0] for row in rows]

    def _fits(self) -> bool:
        """Whether the tiles are of this log: a restored log may have continued differently."""
        (known,) = self._tiles.execute("select count(*) from tiles where level = 1").fetchone()
        if not known:
            return True
        joined = self._log.leaf_hashes((known - 1) * LEAVES + 1, known * LEAVES)
        leaves = [joined[at : at + HASH_BYTES] for at in range(0, len(joined), HASH_BYTES)]
        return len(leaves) == LEAVES and self._hashes(1, known - 1, known) == [merkle.fold(leaves)]

    def _extend(self) -> None:
        """Add the roots of tiles that are now complete, level by level."""
        level, whole = 1, self.size // LEAVES
        while whole:
            (known,) = self._tiles.execute(
                "select coalesce(max(number) + 1, 0) from tiles where level = ?", (level,)
            ).fetchone()
            for first in range(known, whole, _PAGE):
                self._add(level, first, min(first + _PAGE, whole))
            level, whole = level + 1, whole // LEAVES

    def _add(self, level: int, first: int, end: int) -> None:
        below = self._hashes(level - 1, first * LEAVES, end * LEAVES)
        rows = [
            (level, first + at, merkle.fold(below[at * LEAVES : (at + 1) * LEAVES]))
            for at in range(end - first)
        ]
        with closing(self._tiles.cursor()) as cursor:
            cursor.execute("begin immediate")
            cursor.executemany("insert or ignore into tiles values (?, ?, ?)", rows)
            cursor.execute("commit")


def _opened(path: Path | None) -> sqlite3.Connection:
    if path is not None and not path.exists():
        create_private(path)
    tiles = sqlite3.connect(str(path) if path else ":memory:", isolation_level=None)
    try:
        tiles.execute(_SCHEMA)
    except sqlite3.DatabaseError:
        tiles.close()
        raise
    return tiles
