"""The place of each node in its source: the order in which they were recorded, which never changes.

So what is beside a node is found without reading its source, however many nodes that has.
"""

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any, Final

NONE: Final = -1  # the place of a node without a source, or that a consolidation wrote
# Of a row of `memory_nodes`.
ID, POSITION, SCOPE, SUBJECT, SOURCE, CONSOLIDATION = 0, 1, 5, 6, 12, 14


def placed(
    connection: sqlite3.Connection, rows: Sequence[tuple[Any, ...]]
) -> Iterator[tuple[Any, ...]]:
    """*rows* of new nodes, in their order in the log, each with its place; sizes are kept."""
    sizes: dict[bytes, int] = {}
    for row in sorted(rows, key=lambda row: (row[POSITION], row[ID])):
        if not row[SOURCE] or row[CONSOLIDATION]:
            yield (*row, NONE)
            continue
        key = _digest(row[SCOPE], row[SUBJECT], row[SOURCE])
        if key not in sizes:
            sizes[key] = _size(connection, key)
        yield (*row, sizes[key])
        sizes[key] += 1
    connection.executemany("replace into memory_source_sizes values (?, ?)", sizes.items())


def _size(connection: sqlite3.Connection, key: bytes) -> int:
    row = connection.execute(
        "select size from memory_source_sizes where source = ?", (key,)
    ).fetchone()
    return 0 if row is None else int(row[0])


def _digest(scope: str, subject: str, source: str) -> bytes:
    return hashlib.sha256(f"{scope}\0{subject}\0{source}".encode()).digest()[:16]
