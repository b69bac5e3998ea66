"""Verifies a log: every record against its columns, its stream and its leaf hash.

Records in the archive have no columns. Of them the file's digest, and the rows that say where the
records of a stream are, are checked instead.
"""

import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from pathlib import Path

import msgspec

from cortex.bus import ENCRYPTED, FORMAT, Recorded, decode

from .archive import Archive, Places, misplaced
from .checked import FORGED, leaves_between
from .errors import LogCorruptError
from .segments import SegmentFile
from .tiles import HASH_BYTES, LEAVES, join, leaf_hash, whole_tiles

PAGE = 4 * LEAVES  # events in one short read transaction; whole tiles

Page = Callable[[], AbstractContextManager[sqlite3.Connection]]  # yields the reader, briefly
Columns = tuple[int, str, int, bytes]  # position, stream, version, record


class Checker:
    """A fold over the rows of a log in order, which reports errors of a row."""

    def __init__(self) -> None:
        self.position = 0  # up to here the log is intact
        self.newest = ("", 0)  # stream and version of the event there
        self._versions: dict[str, int] = {}

    def check(self, row: Columns, leaf: bytes) -> str | None:
        """The error of *row*, the next one, whose stored leaf hash is *leaf*."""
        problem, known = self._decoded(row[0], row[3], leaf)
        if known is None:
            return problem
        position, stream, version, _ = row
        if (known.position, known.stream, known.version) != (position, stream, version):
            return f"its columns say {stream} version {version}, its record says otherwise"
        return self._take(known)

    def check_sealed(self, position: int, record: bytes, leaf: bytes) -> str | None:
        """The same for a record without columns."""
        problem, known = self._decoded(position, record, leaf)
        if known is None:
            return problem
        if known.position != position:
            return f"the record says position {known.position}"
        return self._take(known)

    def _decoded(self, position: int, record: bytes, leaf: bytes) -> tuple[str, Recorded | None]:
        if position != self.position + 1:
            return "the event is missing", None
        if leaf_hash(record) != leaf:
            return "the record does not have its leaf hash", None
        try:
            known = decode(record)
        except msgspec.MsgspecError as error:
            return f"the record cannot be decoded ({error})", None
        if known.format not in (FORMAT, ENCRYPTED):
            problem = f"the record has format {known.format}, not {FORMAT} or {ENCRYPTED}"
            return problem, None
        return "", known

    def _take(self, known: Recorded) -> str | None:
        before = self._versions.get(known.stream, 0)
        if known.version != before + 1:
            return f"{known.stream} goes from version {before} to {known.version}"
        self.position, self._versions[known.stream] = known.position, known.version
        self.newest = known.stream, known.version
        return None


def verify(path: Path, page: Page, archive: Archive) -> int:
    """Check the log at *path*; returns the position of its last event.

    Raises:
        LogCorruptError: With the first position that is damaged, if it has one.
    """
    checker = Checker()
    with page() as reader:
        head, leaves = ends(reader)
    _check_archive(path, page, checker, archive)
    while checker.position < head:
        _check_page(path, page, checker, min(checker.position + PAGE, head))
    if leaves != head:
        raise LogCorruptError(str(path), f"{head} events have {leaves} leaf hashes")
    with page() as reader:
        (found,) = reader.execute("pragma integrity_check(1)").fetchone()
    if found != "ok":
        raise LogCorruptError(str(path), str(found))
    return checker.position


def ends(reader: sqlite3.Connection) -> tuple[int, int]:
    """Position of the newest event, and of the newest leaf hash."""
    # One statement, one snapshot: the owner may be appending.
    head, first, size_bytes = reader.execute(
        "select (select coalesce(max(position), 0) from events), first, length(hashes) "
        "from (select 1) left join (select * from tiles order by first desc limit 1)"
    ).fetchone()
    return head, 0 if first is None else first - 1 + size_bytes // HASH_BYTES


def _check_archive(path: Path, page: Page, checker: Checker, archive: Archive) -> None:
    for segment in archive.segments:
        places: Places = {}
        with closing(archive.opened(segment)) as file:
            for number in range(segment.tiles):
                _check_tile(page, checker, file, number, places)
            file.check_digest()
        with page() as reader:
            problem = misplaced(reader, segment, places)
        if problem:
            raise LogCorruptError(str(path), problem)
    with page() as reader:
        rows = reader.execute(
            "select position, record from events where position <= ?", (archive.through,)
        )
        for position, record in rows:  # they were sealed, and leave the table soon
            if leaf_hash(record) != leaves_between(reader, position, position):
                raise LogCorruptError(str(path), FORGED)


def _check_tile(
    page: Page, checker: Checker, file: SegmentFile, number: int, places: Places
) -> None:
    first, tile = checker.position + 1, file.tile(number)
    with page() as reader:
        leaves = leaves_between(reader, first, first + LEAVES - 1)
    for at in range(LEAVES):
        leaf = leaves[at * HASH_BYTES : (at + 1) * HASH_BYTES]
        problem = checker.check_sealed(first + at, tile.record(at), leaf)
        if problem:
            raise file.damaged(problem, first + at)
        stream, version = checker.newest
        places.setdefault(stream, (version, []))[1].append(first + at)


def _check_page(path: Path, page: Page, checker: Checker, last: int) -> None:
    first = checker.position + 1
    try:
        rows, hashes = _load(page, first, last)
    except LogCorruptError as error:
        if last == first:
            raise LogCorruptError(str(path), error.problem, first) from error
        # SQLite cannot read this page: halve it until only the first unreadable event is left.
        _check_page(path, page, checker, (first + last) // 2)
        return
    for row in rows:
        offset = (row[0] - first) * HASH_BYTES
        problem = checker.check(row, hashes[offset : offset + HASH_BYTES])
        if problem:
            raise LogCorruptError(str(path), problem, checker.position + 1)
    if checker.position != last:
        raise LogCorruptError(str(path), "the event is missing", checker.position + 1)


def _load(page: Page, first: int, last: int) -> tuple[list[Columns], bytes]:
    start = whole_tiles(first - 1)
    with page() as reader:
        rows = reader.execute(
            "select position, stream, version, record from events "
            "where position between ? and ? order by position",
            (first, last),
        ).fetchall()
        runs = reader.execute(
            "select first, hashes from tiles where first > ? and first <= ? order by first",
            (start, last),
        ).fetchall()
    return rows, join(start, runs)[(first - 1 - start) * HASH_BYTES :]
