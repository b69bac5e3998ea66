"""Compares cursors, work, deadlines and receipts of a log with their copy from the last close.

They are in no Merkle tree. A log that is closed cleanly keeps a copy of them with a digest:
the next opening compares them, and can show each changed row as it was. The
digest has no key, so that an attacker can write another.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any, Literal, TypeAlias

import msgspec
import zstandard

COLUMNS = {  # of each table, in order
    "subscriptions": ("name", "kind", "filter", "cursor", "attempts", "created"),
    "work": ("subscription", "position", "epoch", "attempts", "not_before_ns", "log_epoch"),
    "deadlines": ("name", "due_ns", "draft", "source"),
    "receipts": ("client", "number", "answer"),
}
KEYS = {"subscriptions": 1, "work": 2, "deadlines": 1, "receipts": 1}  # columns, the first ones
DIGEST_BYTES = 32
LEVEL = 3  # of zstd, its default
LARGEST_BYTES = 1 << 30  # of a copy, unpacked: a header is not trusted

Row: TypeAlias = tuple[Any, ...]
Rows: TypeAlias = dict[Row, Row]  # of one table, by key and in its order
Tables: TypeAlias = dict[str, Rows]

_ENCODE = msgspec.msgpack.Encoder().encode
_NEWEST = "select state from epochs order by number desc limit 1"


class Difference(msgspec.Struct, frozen=True):
    """One row that changed."""

    table: str
    row: str  # "Worker", or "Worker at 4" of work
    what: Literal["changed", "added", "removed"]
    was: dict[str, str] = {}  # differing columns of a changed row, all columns of others
    now: dict[str, str] = {}


def read_tables(connection: sqlite3.Connection) -> Tables:
    """The current rows."""
    return {table: _rows(table, _select(connection, table)) for table in COLUMNS}


def packed(connection: sqlite3.Connection) -> bytes:
    """A copy of the current rows, preceded by its digest."""
    rows = {table: _select(connection, table).fetchall() for table in COLUMNS}
    copy = zstandard.ZstdCompressor(LEVEL).compress(_ENCODE(rows))
    return _digest(rows) + copy


def copy_of(connection: sqlite3.Connection) -> Tables | None:
    """The rows at the last close; None if no copy of them can be read."""
    stored = _stored(connection)
    if stored is None:
        return None
    try:
        data = zstandard.ZstdDecompressor().decompress(
            stored[DIGEST_BYTES:], max_output_size=LARGEST_BYTES
        )
        rows = msgspec.msgpack.decode(data, type=dict[str, list[tuple[Any, ...]]])
    except (zstandard.ZstdError, msgspec.MsgspecError, MemoryError):
        return None
    whole = rows.keys() == COLUMNS.keys() and all(
        len(row) == len(COLUMNS[table]) for table, many in rows.items() for row in many
    )
    if not whole or _digest(rows) != stored[:DIGEST_BYTES]:
        return None
    return {table: _rows(table, iter(many)) for table, many in rows.items()}


def altered(connection: sqlite3.Connection) -> bool:
    """Whether the rows changed since the log was closed.

    False also for a log that is open, or was not closed cleanly: then this is unknown.
    """
    stored = _stored(connection)
    if stored is None:
        return False
    return stored[:DIGEST_BYTES] != _digest({t: _select(connection, t) for t in COLUMNS})


def is_closed(connection: sqlite3.Connection) -> bool:
    """Whether the log was closed cleanly, and not opened since."""
    return _stored(connection) is not None


def differences(was: Tables, now: Tables) -> list[Difference]:
    """The differences, table by table."""
    return [each for table in COLUMNS for each in _differing(table, was[table], now[table])]


def summary(found: list[Difference]) -> str:
    """A text of how many rows of which table differ: "work 1 removed, deadlines 2 changed"."""
    counts: dict[tuple[str, str], int] = {}
    for each in found:
        counts[each.table, each.what] = counts.get((each.table, each.what), 0) + 1
    return ", ".join(f"{table} {count:,} {what}" for (table, what), count in counts.items())


def name_of(table: str, key: Row) -> str:
    """The name of a row."""
    return f"{key[0]} at {key[1]}" if table == "work" else str(key[0])


def _differing(table: str, was: Rows, now: Rows) -> Iterator[Difference]:
    for key in dict.fromkeys((*was, *now)):
        before, after, name = was.get(key), now.get(key), name_of(table, key)
        if before == after:
            continue
        if before is None or after is None:
            what: Literal["added", "removed"] = "added" if before is None else "removed"
            yield Difference(table, name, what, _shown(table, before), _shown(table, after))
            continue
        other = {c for c, b, a in zip(COLUMNS[table], before, after, strict=True) if b != a}
        shown = (_only(_shown(table, row), other) for row in (before, after))
        yield Difference(table, name, "changed", *shown)


def _only(shown: Mapping[str, str], columns: set[str]) -> dict[str, str]:
    return {column: text for column, text in shown.items() if column in columns}


def _shown(table: str, row: Row | None) -> dict[str, str]:
    if row is None:
        return {}
    return {
        column: f"{len(value):,} bytes" if isinstance(value, bytes) else str(value)
        for column, value in zip(COLUMNS[table], row, strict=True)
    }


def _stored(connection: sqlite3.Connection) -> bytes | None:
    (stored,) = connection.execute(_NEWEST).fetchone() or (None,)
    return stored


def _select(connection: sqlite3.Connection, table: str) -> sqlite3.Cursor:
    columns = ", ".join(COLUMNS[table])
    order = ", ".join(COLUMNS[table][: KEYS[table]])
    return connection.execute(f"select {columns} from {table} order by {order}")  # noqa: S608  # ours


def _rows(table: str, rows: Iterator[Row]) -> Rows:
    return {row[: KEYS[table]]: row for row in map(tuple, rows)}


def _digest(rows: Mapping[str, Any]) -> bytes:
    found = blake2b(digest_size=DIGEST_BYTES)
    for table in COLUMNS:
        found.update(table.encode())
        for row in rows[table]:
            found.update(_ENCODE(tuple(row)))
    return found.digest()
