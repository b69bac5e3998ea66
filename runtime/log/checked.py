"""Compares records with their leaf hashes on reading, so that no forged one is shown.

The bytes of a page are hashed as they are. The hashes of the whole
page are compared at once with those in the tiles; nothing is decoded for that.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path

import msgspec

from cortex.bus import ENCRYPTED, FORMAT, LogError, decode

from .errors import LogCorruptError, LogNewerError
from .tiles import HASH_BYTES, LEAF, LEAVES, join

FORGED = "the record does not have its leaf hash, so it is not what was recorded"
# The rows of tiles with the leaves from one position to another, and no others.
RUNS = (
    "select first, hashes from tiles where first <= ? and first >= coalesce("
    "(select max(first) from tiles where first <= ?), 0) order by first"
)

_ENCODE = msgspec.msgpack.Encoder().encode
FORMATS = (bytes((FORMAT,)), bytes((ENCRYPTED,)))  # the second byte of a record

Row = tuple[int, bytes]  # position, record


def check_page(reader: sqlite3.Connection, path: Path, after: int, rows: Sequence[Row]) -> None:
    """Check a page of records, which must follow position *after* without a gap.

    Raises:
        LogCorruptError: With the first position that is not what was recorded.
    """
    if rows and rows[-1][0] != after + len(rows):
        at = next(at for at, row in enumerate(rows, after + 1) if row[0] != at)
        raise LogCorruptError(str(path), "the event is missing", at)
    _check(path, rows, leaves_between(reader, after + 1, after + len(rows)))


def check_stream(reader: sqlite3.Connection, path: Path, stream: str, rows: Sequence[Row]) -> None:
    """Check records of *stream*: they must be complete and unchanged.

    Raises:
        LogCorruptError: With the first position that is changed or missing.
        LogNewerError: A record has a format that this version does not know.
    """
    for near in _clusters(rows):
        first, last = near[0][0], near[-1][0]
        hashes = leaves_between(reader, first, last)
        if last - first + 1 != len(near):  # events of other streams are between them
            at = [HASH_BYTES * (position - first) for position, _ in near]
            hashes = b"".join([hashes[start : start + HASH_BYTES] for start in at])
        _check(path, near, hashes)
    for position, record in rows:
        # The first bytes of each record: enough to check its position without decoding the rest.
        begins = _ENCODE((position, stream))[1:]
        if record[1:2] not in FORMATS or record[2 : 2 + len(begins)] != begins:
            raise _misplaced(path, record, stream, position)


def leaves_between(reader: sqlite3.Connection, first: int, last: int) -> bytes:
    """The stored leaf hashes of positions *first* to *last*; zeros for one that is missing."""
    runs = reader.execute(RUNS, (last, first)).fetchall()
    start = min(runs[0][0], first) if runs else first
    hashes = join(start - 1, runs)
    return hashes[(first - start) * HASH_BYTES : (last - start + 1) * HASH_BYTES]


def _check(path: Path, rows: Sequence[Row], leaves: bytes) -> None:
    made = [sha256(LEAF + record).digest() for _, record in rows]
    if b"".join(made) == leaves:
        return
    for number, digest in enumerate(made):
        if digest != leaves[number * HASH_BYTES : (number + 1) * HASH_BYTES]:
            raise LogCorruptError(str(path), FORGED, rows[number][0])


def _clusters(rows: Sequence[Row]) -> Iterable[Sequence[Row]]:
    """*rows* in order, split where the distance is more than a tile."""
    start = 0
    if rows and len(rows) <= rows[-1][0] - rows[0][0] + 1 <= LEAVES:
        yield rows
        return
    for at in range(1, len(rows) + 1):
        if at == len(rows) or not 0 < rows[at][0] - rows[at - 1][0] <= LEAVES:
            yield rows[start:at]
            start = at


def _misplaced(path: Path, record: bytes, stream: str, position: int) -> LogError:
    try:
        known = decode(record)
    except msgspec.MsgspecError as error:
        return LogCorruptError(str(path), f"the record cannot be decoded ({error})", position)
    if known.format > ENCRYPTED:
        return LogNewerError(f"position {position} of {path}", known.format, ENCRYPTED)
    problem = f"its columns say {stream}, its record says {known.stream}"
    return LogCorruptError(str(path), problem, position)
