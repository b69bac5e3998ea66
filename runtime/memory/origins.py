"""Who said the same again: what is asked for one node, and not for many."""

import sqlite3
from typing import NamedTuple


class FurtherSource(NamedTuple):
    """One more source of a node."""

    time_ns: int
    by: str
    source: str
    quote: str
    said_by: str = ""  # who said so where it was imported from; "" if it was not imported


def further_sources(
    connection: sqlite3.Connection, node_id: str, position: int
) -> list[FurtherSource]:
    """The further sources of a node up to *position*, oldest first."""
    rows = connection.execute(
        "select time_ns, by, source, quote, said_by from memory_sources "
        "where id = ? and position <= ? order by position",
        (node_id, position),
    )
    return [FurtherSource(*row) for row in rows]
