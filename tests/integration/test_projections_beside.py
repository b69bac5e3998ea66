"""A projection of another version is built beside its tables; readers see those until then."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from cortex.bus import FORMAT, Batch, Recorded, Row, encode
from cortex.runtime.executions import ExecutionRecords, list_executions
from cortex.runtime.log import EventLog
from cortex.runtime.projections import (
    Runner,
    bytes_of,
    checkpoints,
    digest_of,
    next_to,
    rows_in,
    snapshot,
)

from .killing import kill_until_done
from .projections_child import Streams

CHILD = Path(__file__).with_name("projections_child.py")
EVENTS = 55_000  # six spans


def row(position: int) -> Row:
    stream = f"s/{position % 700}"
    identity = position.to_bytes(16, "big")
    topic = ("step.execute", "step.completed")[position % 2]
    fields = (identity, 1_000 + position, topic, 1, stream, None, "t", None, None, b"\x80")
    version = position // 700 + 1
    return Row(
        position, stream, version, encode(Recorded(FORMAT, position, stream, version, *fields))
    )


class Folder:
    """A log, and the projection of version 1 at its head."""

    def __init__(self, folder: Path) -> None:
        self.log_path, self.path = folder / "log.db", folder / "projections.db"
        log = EventLog.open(self.log_path)
        for first in range(1, EVENTS + 1, 5_000):
            log.write(Batch(rows=[row(p) for p in range(first, first + 5_000)]))
        log.close()
        self.advance(1)

    def advance(self, version: int, spans: int | None = None) -> bool:
        log = EventLog.open(self.log_path, readonly=True)
        runner = Runner.open(self.path, [Streams(version)])
        runner.advance(log, spans)
        runner.close()
        log.close()
        return runner.at_head

    def seen(self) -> tuple[int, int, str]:
        """What a reader sees: version, position, digest of the rows."""
        with snapshot(self.path, Streams.name) as view:
            return view.version, view.position, digest_of(view.connection, Streams.name)[0]

    def command(self, version: int, *more: str) -> list[str]:
        where = (str(self.log_path), str(self.path), str(version))
        return [sys.executable, "-I", str(CHILD), *where, *more]

    def files(self) -> set[str]:
        return {each.name for each in self.path.parent.iterdir()}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_readers_see_the_old_tables_until_the_new_ones_are_at_the_head(folder: Folder) -> None:
    old = folder.seen()

    arrived, seen = False, []
    while not arrived:
        seen.append(folder.seen())
        arrived = folder.advance(2, spans=1)

    assert set(seen) == {old}
    assert len(seen) == 6
    assert folder.seen()[:2] == (2, EVENTS)
    assert not [name for name in folder.files() if ".next" in name]


def test_kills_lose_neither_the_old_tables_nor_what_was_built(folder: Folder) -> None:
    old, seen = folder.seen(), list[tuple[int, int, str]]()

    def command(said: object) -> list[str]:
        seen.append(folder.seen())
        return folder.command(2)

    # Each life builds a span or two, so that only one that continues comes to the end.
    killed = kill_until_done(command, kills=4, seed=7, lines_most=2)

    assert killed.kills == 4
    assert {each for each in seen if each[0] == 1} == {old}
    whole = folder.seen()
    assert whole[:2] == (2, EVENTS)
    folder.path.unlink()
    folder.advance(2)
    assert folder.seen() == whole


def test_a_kill_while_the_rows_are_taken_over_leaves_the_old_tables(folder: Folder) -> None:
    old = folder.seen()

    with subprocess.Popen(
        folder.command(2, "inside"), stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert any(line == "inside\n" for line in process.stdout)
        during = folder.seen()
        process.kill()

    assert process.returncode == -9
    assert (during, folder.seen()) == (old, old)
    built = {each.name: each.position for each in checkpoints(next_to(folder.path))}
    assert built == {"streams": EVENTS}
    assert folder.advance(2, spans=1)  # what was built is used
    assert folder.seen()[:2] == (2, EVENTS)


def test_a_second_file_that_a_kill_left_behind_its_switch_is_removed(folder: Folder) -> None:
    next_to(folder.path).write_bytes(b"left")

    folder.advance(1)

    assert not [name for name in folder.files() if ".next" in name]


def test_going_back_and_forth_between_versions_ends_with_the_one_that_runs(folder: Folder) -> None:
    folder.advance(2, spans=2)

    back = folder.advance(1), folder.seen()[:2]
    forth = folder.advance(2), folder.seen()[:2]

    assert back == (True, (1, EVENTS))
    assert forth == (True, (2, EVENTS))


def test_executions_are_listed_from_tables_of_an_older_version(tmp_path: Path) -> None:
    path = tmp_path / "projections.db"
    Runner.open(path, [ExecutionRecords()]).close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("alter table executions drop column item")
        connection.execute("alter table executions drop column cost")
        connection.execute(
            "insert into executions (execution_id, began_ns, changed_ns) values ('e', 1, 2)"
        )
        connection.execute("update checkpoints set version = 3")

    with snapshot(path, ExecutionRecords.name) as view:
        (found,) = list_executions(view)

    assert (found.execution_id, found.began_ns, found.cost, found.item) == ("e", 1, 0.0, 0)


def test_a_rebuild_of_the_same_version_gives_the_same_rows(folder: Folder) -> None:
    before = folder.seen()
    log = EventLog.open(folder.log_path, readonly=True)
    runner = Runner.open(folder.path, [Streams(1)])

    rebuilt = runner.rebuild(log, ["streams"])

    runner.close()
    log.close()
    assert rebuilt == ["streams"]
    assert folder.seen() == before


def test_rows_and_bytes_are_those_of_the_projection(folder: Folder) -> None:
    with snapshot(folder.path, "streams") as view:
        assert rows_in(view.connection, "streams") == 700
        size = bytes_of(view.connection, "streams")

    assert size is None or 0 < size <= folder.path.stat().st_size


def test_the_digest_depends_on_no_order(folder: Folder) -> None:
    found = set[str]()
    for seed in ("0", "1", "4242"):
        target = folder.path.with_name(f"{seed}.db")
        done = subprocess.run(
            [sys.executable, "-P", str(CHILD), str(folder.log_path), str(target), "1"],
            env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        found.add(done.stdout.splitlines()[-1])

    assert found == {folder.seen()[2]}


def test_a_name_of_a_table_is_a_name_whatever_is_in_it(folder: Folder) -> None:
    """projections.db is not among what a user reviews: somebody else may have named its tables."""
    evil = 'streams" where 0; drop table streams; --'
    name = evil.replace('"', '""')
    with closing(sqlite3.connect(folder.path)) as connection, connection:
        connection.execute(f'create table "{name}" ("a""b" integer)')
        connection.execute(f'insert into "{name}" values (7)')
        (made,) = connection.execute("select tables from checkpoints").fetchone()
        tables = [*msgspec.json.decode(made), evil]
        connection.execute(
            "update checkpoints set tables = ?", (msgspec.json.encode(tables).decode(),)
        )

    with snapshot(folder.path, Streams.name) as view:
        rows = rows_in(view.connection, Streams.name)
        digest, count = digest_of(view.connection, Streams.name)
    folder.advance(2)

    assert count == rows > 1
    assert digest
    with closing(sqlite3.connect(folder.path)) as connection:
        left = {each for (each,) in connection.execute("select name from sqlite_master")}
    assert evil not in left
