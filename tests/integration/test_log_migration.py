"""A log of an older format opens, is brought to the newest in one transaction, and keeps all."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from cortex.bus import Batch, Epoch, Row, SubscriptionState, Work
from cortex.runtime.log import LOG_FORMAT, EventLog

ROW = Row(1, "a", 1, b"\x9e\x01\x01\xa1a\x01\xc4\x00\x00\xa1t\x01\xc0\xc0\xa1s\xc0\xc0\xc4\x01\x80")

KILLED = """
import os, signal, sqlite3, sys
from pathlib import Path
from cortex.runtime.log import EventLog, schema

def die(statement):
    if "update meta" in statement:
        os.kill(os.getpid(), signal.SIGKILL)

def slow(connection):
    connection.set_trace_callback(die)
    migrate(connection)

migrate, schema._migrate = schema._migrate, slow
EventLog.open(Path(sys.argv[1]))
"""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A log of format 1: what later formats added is taken away again."""
    path = tmp_path / "log.db"
    with closing(EventLog.open(path)) as log:
        standing = SubscriptionState("w", "work", (("*", None),))
        log.write(Batch(rows=[ROW], standings={"w": standing}, work={("w", 1): Work("w", 1, 3, 2)}))
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for table in ("segments", "sealed", "epochs"):
            db.execute(f"drop table {table}")
        db.execute("alter table work drop column log_epoch")
        db.execute("update meta set value = '1' where name = 'format'")
    return path


def format_of(path: Path) -> int:
    with closing(EventLog.open(path, readonly=True)) as log:
        return log.meta().format


def test_a_log_of_the_first_format_is_read_as_it_is(old: Path) -> None:
    with closing(EventLog.open(old, readonly=True)) as log:
        state = log.state()

        assert log.meta().format == 1
        assert (state.head, state.work, state.epochs) == (1, [Work("w", 1, 3, 2)], ())


def test_opening_it_for_writing_brings_it_to_the_newest(old: Path) -> None:
    with closing(EventLog.open(old)) as log:
        state = log.state()

    assert format_of(old) == LOG_FORMAT
    assert (state.head, state.work, state.unclean) == (1, [Work("w", 1, 3, 2)], False)
    assert [epoch.start for epoch in state.epochs] == [1]
    with closing(EventLog.open(old)) as log:
        assert log.verify() == 1
        assert [type(epoch) for epoch in log.state().epochs] == [Epoch, Epoch]


def test_a_kill_in_the_middle_leaves_the_old_format_and_the_next_opening_mends_it(
    old: Path,
) -> None:
    done = subprocess.run([sys.executable, "-I", "-c", KILLED, str(old)], check=False)

    assert done.returncode == -9
    assert format_of(old) == 1
    with closing(EventLog.open(old)) as log:
        assert log.state().work == [Work("w", 1, 3, 2)]
    assert format_of(old) == LOG_FORMAT
