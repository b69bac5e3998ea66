"""One statement for many rows, as few of them as SQLite's limits allow."""

import sqlite3
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

ROWS = 256  # in one statement: more gain nothing and bloat the cache of prepared statements
SAFE_VARIABLES = 999  # every build of SQLite takes as many


def put_many(connection: sqlite3.Connection, verb: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Run *verb* (``insert into t``) with all *rows*; nothing where there are none."""
    if rows:
        _in_chunks(connection, rows, f"{verb} values", "")


def delete_many(connection: sqlite3.Connection, verb: str, keys: Sequence[tuple[Any, ...]]) -> None:
    """Run *verb* (``delete from t where (a, b)``) for all *keys*; nothing where there are none."""
    if keys:
        _in_chunks(connection, keys, f"{verb} in (values", ")")


def _in_chunks(
    connection: sqlite3.Connection, rows: Sequence[tuple[Any, ...]], verb: str, end: str
) -> None:
    width = len(rows[0])
    size = min(ROWS, SAFE_VARIABLES // width)
    for start in range(0, len(rows), size):
        chunk = rows[start : start + size]
        connection.execute(
            _statement(verb, width, len(chunk), end), tuple(chain.from_iterable(chunk))
        )


@lru_cache(maxsize=2048)
def _statement(verb: str, width: int, rows: int, end: str) -> str:
    row = f"({', '.join('?' * width)})"
    return f"{verb} {', '.join([row] * rows)}{end}"
