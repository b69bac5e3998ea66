"""One statement for many rows, as few of them as SQLite's limits allow."""

import sqlite3
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

# Rows of a statement: 1 to 9, or tens. Batches come in all sizes, and a statement for each would
# leave the cache of prepared statements before it came again; preparing costs as much as running.
STEP = 10
ROWS = 240  # in one statement: more gain nothing
SAFE_VARIABLES = 999  # every build of SQLite takes as many


def put_many(connection: sqlite3.Connection, verb: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Run *verb* (``insert into t``) with all *rows*; nothing where there are none."""
    if rows:
        put_flat(connection, verb, len(rows[0]), _flat(rows))


def put_flat(connection: sqlite3.Connection, verb: str, width: int, values: list[Any]) -> None:
    """The same for rows of *width* columns that stand one after the other in *values*."""
    _in_steps(connection, values, width, f"{verb} values", "")


def delete_many(connection: sqlite3.Connection, verb: str, keys: Sequence[tuple[Any, ...]]) -> None:
    """Run *verb* (``delete from t where (a, b)``) for all *keys*; nothing where there are none."""
    if keys:
        _in_steps(connection, _flat(keys), len(keys[0]), f"{verb} in (values", ")")


def _flat(rows: Iterable[tuple[Any, ...]]) -> list[Any]:
    return list(chain.from_iterable(rows))


def _in_steps(
    connection: sqlite3.Connection, values: list[Any], width: int, verb: str, end: str
) -> None:
    start, rows = 0, len(values) // width
    if 0 < rows <= STEP:  # mostly it is one or two
        connection.execute(_statement(verb, width, rows, end), values)
        return
    most = min(ROWS, SAFE_VARIABLES // width // STEP * STEP)
    while start < rows:
        size = min(rows - start, most)
        if size > STEP:
            size -= size % STEP
        chunk = values[start * width : (start + size) * width]
        connection.execute(_statement(verb, width, size, end), chunk)
        start += size


@lru_cache(maxsize=512)
def _statement(verb: str, width: int, rows: int, end: str) -> str:
    row = f"({', '.join('?' * width)})"
    return f"{verb} {', '.join([row] * rows)}{end}"
