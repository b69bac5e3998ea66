"""Statements that write: many rows with as few as SQLite allows, and through to the disk itself."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

# Rows of a statement: 1 to 9, or tens. Batches have all sizes, and a statement for each would
# leave the cache of prepared statements before its next use; preparing costs as much as running.
STEP = 10
ROWS = 240  # in one statement: more gain nothing
SAFE_VARIABLES = 999  # every build of SQLite allows as many
FULL = 2  # SQLite's number for `synchronous = full`


def put_many(connection: sqlite3.Connection, verb: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Run *verb* (``insert into t``) with all *rows*; nothing if there are none."""
    if rows:
        put_flat(connection, verb, len(rows[0]), _flat(rows))


def put_flat(connection: sqlite3.Connection, verb: str, width: int, values: list[Any]) -> None:
    """The same for rows of *width* columns, given one after the other in *values*."""
    for chunk in _chunks(values, width):
        connection.execute(_insertion(verb, width, len(chunk) // width), chunk)


def delete_many(
    connection: sqlite3.Connection, verb: str, keys: Sequence[Any], *first: Any
) -> None:
    """Run *verb* (``delete from t where a = ? and b``) for all *keys*, each a value of the column.

    Args:
        connection: Where to run it.
        verb: The statement up to the column whose value is one of *keys*.
        keys: What to delete; runs nothing if there are none.
        *first: Values of the parameters in *verb*.
    """
    for chunk in _chunks(keys, 1):
        connection.execute(_deletion(verb, len(chunk)), (*first, *chunk))


def read_each(
    connection: sqlite3.Connection, query: str, keys: Sequence[Any]
) -> Iterator[tuple[Any, ...]]:
    """Rows of *query* for all *keys*, which are the column `key` of its table `asked`."""
    for chunk in _chunks(keys, 1):
        yield from connection.execute(_asking(query, len(chunk)), chunk)


def _flat(rows: Iterable[tuple[Any, ...]]) -> list[Any]:
    return list(chain.from_iterable(rows))


def _chunks(values: Sequence[Any], width: int) -> Iterator[Sequence[Any]]:
    """*values*, split into rows of *width*, in few pieces of few different sizes."""
    start, rows = 0, len(values) // width
    if 0 < rows <= STEP:  # usually one or two
        yield values
        return
    most = min(ROWS, SAFE_VARIABLES // width // STEP * STEP)
    while start < rows:
        size = min(rows - start, most)
        if size > STEP:
            size -= size % STEP
        yield values[start * width : (start + size) * width]
        start += size


@lru_cache
def _asking(query: str, rows: int) -> str:
    return f"with asked (key) as (values {', '.join(['(?)'] * rows)}) {query}"


@lru_cache(maxsize=512)
def _insertion(verb: str, width: int, rows: int) -> str:
    row = f"({', '.join('?' * width)})"
    return f"{verb} values {', '.join([row] * rows)}"


@lru_cache(maxsize=512)
def _deletion(verb: str, rows: int) -> str:
    return f"{verb} in ({', '.join('?' * rows)})"


def sync_fully(writer: sqlite3.Connection) -> int:
    """Make commits reach the disk itself, not only the system's memory; the level before."""
    (level,) = writer.execute("pragma synchronous").fetchone()
    if level < FULL:
        writer.execute("pragma synchronous = full")
    return int(level)
