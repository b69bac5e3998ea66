"""What is on disk keeps its names and its form, and the file is opened as its owner asked."""

import sqlite3
from pathlib import Path

import pytest

from cortex.runtime.log import LOG_FORMAT, Durability, EventLog

COLUMNS = {
    "events": [
        ("position", "INTEGER"),
        ("stream", "TEXT"),
        ("version", "INTEGER"),
        ("record", "BLOB"),
    ],
    "tiles": [("first", "INTEGER"), ("hashes", "BLOB")],
    "subscriptions": [
        ("name", "TEXT"),
        ("kind", "TEXT"),
        ("filter", "TEXT"),
        ("cursor", "INTEGER"),
        ("attempts", "INTEGER"),
        ("created", "INTEGER"),
    ],
    "work": [
        ("subscription", "TEXT"),
        ("position", "INTEGER"),
        ("epoch", "INTEGER"),
        ("attempts", "INTEGER"),
        ("not_before_ns", "INTEGER"),
        ("log_epoch", "INTEGER"),
    ],
    "deadlines": [("name", "TEXT"), ("due_ns", "INTEGER"), ("draft", "BLOB"), ("source", "TEXT")],
    "receipts": [("client", "TEXT"), ("number", "INTEGER"), ("answer", "BLOB")],
    "meta": [("name", "TEXT"), ("value", "TEXT")],
    "epochs": [
        ("number", "INTEGER"),
        ("id", "INTEGER"),
        ("start", "INTEGER"),
        ("began_ns", "INTEGER"),
        ("ended", "INTEGER"),
        ("state", "BLOB"),
    ],
    "segments": [
        ("first", "INTEGER"),
        ("last", "INTEGER"),
        ("digest", "TEXT"),
        ("file_bytes", "INTEGER"),
    ],
    "sealed": [
        ("stream", "TEXT"),
        ("version", "INTEGER"),
        ("segment", "INTEGER"),
        ("places", "BLOB"),
    ],
}


def test_tables_and_columns_do_not_change_within_a_format(tmp_path: Path) -> None:
    EventLog.open(tmp_path / "log.db").close()
    connection = sqlite3.connect(tmp_path / "log.db")

    found = {
        table: [
            (name, kind) for _, name, kind, *_ in connection.execute(f"pragma table_info({table})")
        ]
        for (table,) in connection.execute("select name from sqlite_master where type = 'table'")
    }
    strict = connection.execute(
        "select min(strict) from pragma_table_list where type = 'table' and "
        "name not like 'sqlite_%'"
    ).fetchone()
    connection.close()

    assert LOG_FORMAT == 3
    assert found == COLUMNS
    assert strict == (1,)


@pytest.mark.parametrize(("durability", "synchronous"), [("normal", 1), ("full", 2)])
def test_durability_is_what_sqlite_is_told(
    tmp_path: Path, durability: Durability, synchronous: int
) -> None:
    log = EventLog.open(tmp_path / "log.db", durability=durability)
    assert log._writer is not None

    told = [
        log._writer.execute(f"pragma {name}").fetchone()[0]
        for name in ("journal_mode", "synchronous", "wal_autocheckpoint")
    ]
    log.close()

    assert told == ["wal", synchronous, 16_000]
