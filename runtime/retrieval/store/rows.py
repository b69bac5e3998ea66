"""Write many rows by few statements.

SQLite works without the interpreter while a statement runs, and queues for it again after each. A
statement a row would queue for as long as another thread, which reads and cuts, computes.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

# Rows by one statement: powers of two, so that few are prepared, which keep what was bound last.
MOST: Final = 4_096


def insert(
    connection: sqlite3.Connection, into: str, rows: Sequence[tuple[object, ...]], most: int = MOST
) -> None:
    """Insert *rows*, all of one width, by *into*, as in `insert into words(rowid, text)`."""
    for part in _parts(rows, most):
        marks = f"({', '.join('?' * len(part[0]))})"
        statement = f"{into} values {', '.join([marks] * len(part))}"
        connection.execute(statement, tuple(chain.from_iterable(part)))


def _parts(rows: Sequence[tuple[object, ...]], most: int) -> Iterator[Sequence[tuple[object, ...]]]:
    start, size = 0, most
    while start < len(rows):
        while size > len(rows) - start:
            size //= 2
        yield rows[start : start + size]
        start += size
