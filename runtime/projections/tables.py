"""The tables of a projection: making them, taking them over, their digest and their size."""

import sqlite3
from collections.abc import Iterator
from hashlib import sha256

import msgspec

from .projection import Projection


def make(connection: sqlite3.Connection, projection: Projection) -> str:
    """Drop the tables that *projection* has, and make them anew; their names come back, as JSON."""
    _drop(connection, projection.name)
    before = _tables(connection)
    for statement in projection.tables:
        connection.execute(statement)
    return msgspec.json.encode(sorted(_tables(connection) - before)).decode()


def take_over(connection: sqlite3.Connection, projection: Projection) -> int:
    """Replace the tables of *projection* by those in the attached `beside`; the position they hold.

    The caller's transaction makes it one step for every reader.
    """
    make(connection, projection)
    for table in kept_in(connection, projection.name, "beside"):
        known = quoted(table)
        connection.execute(f"insert into main.{known} select * from beside.{known}")  # noqa: S608  # quoted
    connection.execute(
        "replace into main.checkpoints select * from beside.checkpoints where name = ?",
        (projection.name,),
    )
    (position,) = connection.execute(
        "select position from main.checkpoints where name = ?", (projection.name,)
    ).fetchone()
    return int(position)


def kept_in(connection: sqlite3.Connection, name: str, schema: str = "main") -> list[str]:
    """The tables that projection *name* writes; not those that stand behind a full-text table."""
    made = _made(connection, name, schema)
    kinds = connection.execute(
        "select name from pragma_table_list where schema = ? and type in ('table', 'virtual')",
        (schema,),
    )
    return sorted({table for (table,) in kinds} & set(made))


def rows_in(connection: sqlite3.Connection, name: str) -> int:
    """How many rows projection *name* has."""
    counts = (
        connection.execute(f"select count(*) from {quoted(table)}").fetchone()[0]  # noqa: S608  # quoted
        for table in kept_in(connection, name)
    )
    return sum(counts)


def bytes_of(connection: sqlite3.Connection, name: str) -> int | None:
    """The bytes of its tables and indexes in the file; None if this SQLite cannot say."""
    made = _made(connection, name, "main")
    marks = ", ".join("?" * len(made))
    try:
        (found,) = connection.execute(
            "select sum(pgsize) from dbstat where aggregate = true and name in "  # noqa: S608  # marks
            f"(select name from sqlite_master where tbl_name in ({marks}))",
            made,
        ).fetchone()
    except sqlite3.OperationalError:
        return None  # it was compiled without dbstat
    return int(found or 0)


def digest_of(connection: sqlite3.Connection, name: str) -> tuple[str, int]:
    """The digest of the rows of projection *name*, whatever the order of insertion; their number.

    Rows are sorted by all their columns, so that neither the spans in which they came nor the
    seed of a hash matters.
    """
    whole, count = sha256(), 0
    for table in kept_in(connection, name):
        found = connection.execute("select name from pragma_table_info(?)", (table,))
        named = ", ".join(quoted(column) for (column,) in found)
        whole.update(f"{table}({named})\n".encode())
        for row in _sorted_rows(connection, quoted(table), named):
            whole.update(msgspec.msgpack.encode(row))
            count += 1
    return whole.hexdigest(), count


def quoted(name: str) -> str:
    """*name* as an identifier of SQL.

    That of sqlite-utils would have every start of a home import numpy: 0.1 s and 15 MB.
    """
    return '"' + name.replace('"', '""') + '"'


def _sorted_rows(
    connection: sqlite3.Connection, table: str, columns: str
) -> Iterator[tuple[object, ...]]:
    yield from connection.execute(f"select {columns} from {table} order by {columns}")  # noqa: S608  # quoted


def _drop(connection: sqlite3.Connection, name: str) -> None:
    if connection.execute("select 1 from main.checkpoints where name = ?", (name,)).fetchone():
        for table in _made(connection, name, "main"):
            connection.execute(f"drop table if exists main.{quoted(table)}")


def _made(connection: sqlite3.Connection, name: str, schema: str) -> list[str]:
    (made,) = connection.execute(
        f"select tables from {schema}.checkpoints where name = ?",  # noqa: S608  # ours
        (name,),
    ).fetchone()
    return msgspec.json.decode(made, type=list[str])


def _tables(connection: sqlite3.Connection) -> set[str]:
    rows = connection.execute("select name from main.sqlite_master where type = 'table'")
    return {name for (name,) in rows}
