"""Records are compared with their leaf hashes as they are read, so that no forged one is shown."""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import msgspec

from cortex.bus import decode

from .errors import LogCorruptError

# The leaf hash of each event, beside its columns: looked up in SQLite, which is the cheapest.
LEAF = (
    "(select substr(hashes, (events.position - first) * 32 + 1, 32) from tiles "
    "where first <= events.position order by first desc limit 1)"
)
FORGED = "the record does not have its leaf hash, so it is not what was recorded"

_START = sha256(b"\x00")  # what every leaf starts with

Row = tuple[int, bytes, bytes]  # position, record, the leaf hash that is stored


def check_page(path: Path, after: int, rows: Sequence[Row]) -> None:
    """Refuse a page of records, which follow position *after* without a gap.

    Raises:
        LogCorruptError: With the first position that is not what was recorded.
    """
    for expected, (position, *_) in enumerate(rows, after + 1):
        if position != expected:
            raise LogCorruptError(str(path), "the event is missing", expected)
    _check(path, rows)


def check_stream(path: Path, stream: str, rows: Sequence[Row]) -> None:
    """Refuse records of *stream* that are not what was recorded, or not there.

    Raises:
        LogCorruptError: With the first position of such a record.
    """
    _check(path, rows)
    for position, record, _ in rows:
        try:
            known = decode(record)
        except msgspec.MsgspecError as error:
            problem = f"the record cannot be decoded ({error})"
            raise LogCorruptError(str(path), problem, position) from error
        if (known.position, known.stream) != (position, stream):
            problem = f"its columns say {stream}, its record says {known.stream}"
            raise LogCorruptError(str(path), problem, position)


def _check(path: Path, rows: Sequence[Row]) -> None:
    fresh = _START.copy
    for position, record, leaf in rows:
        made = fresh()
        made.update(record)
        if made.digest() != leaf:
            raise LogCorruptError(str(path), FORGED, position)
