"""Whether a log is what was written: every record against its columns, its stream and its leaf."""

import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec

from cortex.bus import FORMAT, decode

from .errors import LogCorruptError
from .tiles import HASH_BYTES, LEAVES, join, leaf_hash, tile_start

PAGE = 4 * LEAVES  # events in one short read transaction; whole tiles

Page = Callable[[], AbstractContextManager[sqlite3.Connection]]  # lends the reader, briefly
Columns = tuple[int, str, int, bytes]  # position, stream, version, record


class Checker:
    """A fold over the rows of a log in order, which says what is wrong with one, if anything."""

    def __init__(self) -> None:
        self.position = 0  # up to here the log is whole
        self._versions: dict[str, int] = {}

    def check(self, row: Columns, leaf: bytes) -> str | None:
        """What is wrong with *row*, the next one, whose stored leaf hash is *leaf*."""
        position, stream, version, record = row
        if position != self.position + 1:
            return "the event is missing"
        if leaf_hash(record) != leaf:
            return "the record does not have its leaf hash"
        try:
            known = decode(record)
        except msgspec.MsgspecError as error:
            return f"the record cannot be decoded ({error})"
        if known.format != FORMAT:
            return f"the record has format {known.format}, not {FORMAT}"
        if (known.position, known.stream, known.version) != (position, stream, version):
            return f"its columns say {stream} version {version}, its record says otherwise"
        if version != self._versions.get(stream, 0) + 1:
            return f"{stream} goes from version {self._versions.get(stream, 0)} to {version}"
        self.position, self._versions[stream] = position, version
        return None


def verify(path: Path, page: Page) -> int:
    """Check the log at *path*; the position of its last event comes back.

    Raises:
        LogCorruptError: With the first position that is damaged, where it has one.
    """
    checker = Checker()
    with page() as reader:
        head, leaves = ends(reader)
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


def _check_page(path: Path, page: Page, checker: Checker, last: int) -> None:
    first = checker.position + 1
    try:
        rows, hashes = _load(page, first, last)
    except LogCorruptError as error:
        if last == first:
            raise LogCorruptError(str(path), error.problem, first) from error
        # SQLite cannot read this page: halve it until the first unreadable event stands alone.
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
    start = tile_start(first - 1)
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
