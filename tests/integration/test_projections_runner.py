"""Projections on disk: however the runner gets to the head, the same rows stand there."""

import sqlite3
import stat
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.bus import FORMAT, Batch, Log, Recorded, Row, encode
from cortex.runtime.log import EventLog, MemoryLog
from cortex.runtime.projections import (
    Changes,
    EventIndex,
    ProjectionDamagedError,
    ProjectionDiskError,
    ProjectionError,
    ProjectionMissingError,
    ProjectionsHeldError,
    RecordUnreadableError,
    Runner,
    snapshot,
)

TOPICS = ["execution.started", "execution.completed", "step.execute"]
DUMP = "select * from {} order by 1"


class Tally:
    """Events by topic, and the newest event of every stream."""

    name = "tally"
    tables = (
        "create table tally (topic text primary key, count integer not null) strict",
        "create table tally_newest (stream text primary key, position integer not null) strict",
    )

    def __init__(self, version: int = 1) -> None:
        self.version = version

    def begin(self) -> Changes:
        return TallyChanges(self.version)


class TallyChanges:
    def __init__(self, step: int) -> None:
        self.step = step
        self.counts: dict[str, int] = {}
        self.newest: dict[str, int] = {}

    def apply(self, records: Sequence[Recorded]) -> None:
        for record in records:
            self.counts[record.topic] = self.counts.get(record.topic, 0) + self.step
            self.newest[record.stream] = record.position

    def flush(self, connection: sqlite3.Connection) -> None:
        connection.executemany(
            "insert into tally values (?, ?) "
            "on conflict do update set count = count + excluded.count",
            self.counts.items(),
        )
        connection.executemany("replace into tally_newest values (?, ?)", self.newest.items())


def row(position: int, topic: str, stream: str = "s") -> Row:
    identity = position.to_bytes(16, "big")
    fields = (identity, 1_000 + position, topic, 1, stream, None, "tests", None, None, b"\x80")
    return Row(
        position, stream, position, encode(Recorded(FORMAT, position, stream, position, *fields))
    )


def filled(topics: Sequence[str], log: Log | None = None) -> Log:
    log = log or MemoryLog()
    head = log.state().head
    log.write(Batch(rows=[row(head + n, t, f"s/{n % 3}") for n, t in enumerate(topics, 1)]))
    return log


def dump(path: Path, name: str = "tally") -> list[object]:
    tables = ["tally", "tally_newest"] if name == "tally" else [name]
    with snapshot(path, name) as view:
        rows = [view.connection.execute(DUMP.format(table)).fetchall() for table in tables]
        return [view.position, *rows]


def project(path: Path, log: Log, version: int = 1) -> list[object]:
    runner = Runner.open(path, [Tally(version)])
    runner.advance(log)
    runner.close()
    return dump(path)


def test_tables_and_position_are_those_of_the_head(tmp_path: Path) -> None:
    path, log = tmp_path / "projections.db", filled(TOPICS * 5_000)

    found = project(path, log)

    assert found[:2] == [15_000, sorted((topic, 5_000) for topic in TOPICS)]


def test_a_part_of_the_way_is_kept_and_says_that_it_is_one(tmp_path: Path) -> None:
    path, log = tmp_path / "projections.db", filled(TOPICS * 5_000)
    runner = Runner.open(path, [Tally()])

    first = runner.advance(log, spans=1), runner.at_head
    kept = dump(path)[0]
    second = runner.advance(log, spans=1), runner.at_head

    runner.close()
    assert (first, kept, second) == ((10_000, False), 10_000, (15_000, True))


@settings(max_examples=40, deadline=None)
@given(
    spans=st.lists(st.lists(st.sampled_from(TOPICS), max_size=30), min_size=1, max_size=6),
    reopen=st.lists(st.booleans(), min_size=6, max_size=6),
)
def test_a_rebuild_gives_the_rows_that_small_steps_gave(
    spans: list[list[str]], reopen: list[bool]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        path, log = Path(name) / "projections.db", MemoryLog()
        runner = Runner.open(path, [Tally(), EventIndex()])
        for topics, again in zip(spans, reopen, strict=False):
            filled(topics, log)
            runner.advance(log)
            if again:
                runner.close()
                runner = Runner.open(path, [Tally(), EventIndex()])
        runner.close()
        stepwise = [dump(path), dump(path, "event_index")]

        path.unlink()
        runner = Runner.open(path, [Tally(), EventIndex()])
        runner.advance(log)
        runner.close()

        assert [dump(path), dump(path, "event_index")] == stepwise


def test_a_new_version_is_rebuilt_and_its_neighbour_is_not(tmp_path: Path) -> None:
    path, log = tmp_path / "projections.db", filled(TOPICS * 10)
    runner = Runner.open(path, [Tally(1), EventIndex()])
    runner.advance(log)
    runner.close()

    runner = Runner.open(path, [Tally(2), EventIndex()])
    before = runner.position
    runner.advance(log)
    runner.close()

    assert before == 0
    assert dump(path)[1] == sorted((topic, 20) for topic in TOPICS)
    assert dump(path, "event_index")[0] == 30


def test_a_projection_added_later_catches_up_alone(tmp_path: Path) -> None:
    path, log = tmp_path / "projections.db", filled(TOPICS * 4_000)
    project(path, log)

    runner = Runner.open(path, [Tally(), EventIndex()])
    filled(TOPICS, log)
    runner.advance(log)
    runner.close()

    assert dump(path)[:2] == [12_003, sorted((topic, 4_001) for topic in TOPICS)]
    assert dump(path, "event_index")[0] == 12_003


@pytest.mark.parametrize("content", [b"", b"not a database at all" * 500])
def test_a_file_that_is_no_database_is_rebuilt(tmp_path: Path, content: bytes) -> None:
    path, log = tmp_path / "projections.db", filled(TOPICS)
    path.write_bytes(content)

    assert project(path, log)[0] == 3


@pytest.mark.parametrize("name", ["p.db", "p.db.lock"])
def test_a_folder_in_the_files_place_is_an_error_at_once(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()

    with pytest.raises(ProjectionDiskError, match=r"cannot be used: (it i|I)s a "):
        Runner.open(tmp_path / "p.db", [Tally()])


def test_a_folder_in_the_files_place_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "p.db").mkdir()

    with (
        pytest.raises(ProjectionDiskError, match="it is a folder"),
        snapshot(tmp_path / "p.db", "tally"),
    ):
        pass


@pytest.mark.parametrize("content", [None, b"this is a diary"])
def test_the_file_is_readable_by_its_owner_alone_even_when_made_anew(
    tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "p.db"
    if content is not None:
        path.write_bytes(content)

    runner = Runner.open(path, [Tally()])
    runner.advance(filled(TOPICS))

    modes = {found.name: stat.S_IMODE(found.stat().st_mode) for found in tmp_path.iterdir()}
    runner.close()
    assert set(modes) >= {"p.db", "p.db-wal"}
    assert set(modes.values()) == {0o600}


def test_a_damaged_file_is_rebuilt(tmp_path: Path) -> None:
    path, log = tmp_path / "projections.db", filled(TOPICS * 1_000)
    whole = project(path, log)
    content = bytearray(path.read_bytes())
    content[4_096:] = b"\xff" * (len(content) - 4_096)
    path.write_bytes(content)

    with pytest.raises(ProjectionDamagedError, match="deleted at any time"):
        dump(path)

    assert project(path, log) == whole


def test_another_log_is_noticed_and_projected_anew(tmp_path: Path) -> None:
    path = tmp_path / "projections.db"
    project(path, filled(TOPICS * 10))

    found = project(path, filled(["gate.evaluate"] * 40))
    shorter = project(path, filled(["gate.evaluate"] * 5))

    assert found[:2] == [40, [("gate.evaluate", 40)]]
    assert shorter[:2] == [5, [("gate.evaluate", 5)]]


def test_a_failed_flush_leaves_tables_and_checkpoint_where_they_were(tmp_path: Path) -> None:
    path, log = tmp_path / "projections.db", filled(TOPICS)
    before = project(path, log)
    runner = Runner.open(path, [Tally()])
    assert runner._connection is not None
    filled(TOPICS * 2_000, log)
    runner._connection.execute(
        "create trigger t before insert on tally_newest begin select raise(abort, 'no room'); end"
    )

    with pytest.raises(ProjectionDiskError, match="no room; its tables are as they were"):
        runner.advance(log)
    assert dump(path) == before
    with sqlite3.connect(path) as intruder:
        intruder.execute("drop trigger t")
    intruder.close()
    runner.advance(log)
    runner.close()

    assert dump(path)[:2] == [6_003, sorted((topic, 2_001) for topic in TOPICS)]


def test_a_runner_that_failed_lets_the_file_go_until_it_is_asked_again(tmp_path: Path) -> None:
    log = filled(TOPICS)
    bad = Recorded(FORMAT, 4, "s", 4, bytes(16), 1, "a.b", 1, None, None, "t", None, None, b"\x80")
    log.write(Batch(rows=[Row(4, "s", 4, b"\xc1" + encode(bad))]))
    failed = Runner.open(tmp_path / "p.db", [Tally()])
    with pytest.raises(RecordUnreadableError):
        failed.advance(log)

    second = Runner.open(tmp_path / "p.db", [Tally()])
    with pytest.raises(ProjectionsHeldError):
        failed.advance(filled(TOPICS))
    second.close()

    assert failed.advance(filled(TOPICS)) == 3
    failed.close()
    with pytest.raises(ProjectionError, match="is closed"):
        failed.advance(filled(TOPICS))


def test_a_record_that_cannot_be_decoded_is_named(tmp_path: Path) -> None:
    log = filled(TOPICS)
    log.write(Batch(rows=[Row(4, "s", 4, b"\xc1")]))
    runner = Runner.open(tmp_path / "projections.db", [Tally()])

    with pytest.raises(RecordUnreadableError, match="position 4"):
        runner.advance(log)
    runner.close()


def test_a_snapshot_does_not_move_while_the_runner_does(tmp_path: Path) -> None:
    path, log = tmp_path / "projections.db", filled(TOPICS)
    runner = Runner.open(path, [Tally()])
    runner.advance(log)

    with snapshot(path, "tally") as view:
        filled(TOPICS, log)
        reached = runner.advance(log)
        seen = view.connection.execute("select sum(count) from tally").fetchone()
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            view.connection.execute("delete from tally")
    runner.close()

    assert (view.position, seen) == (3, (3,))
    assert reached == 6


def test_one_file_has_one_runner(tmp_path: Path) -> None:
    path = tmp_path / "projections.db"
    runner = Runner.open(path, [Tally()])

    with pytest.raises(ProjectionsHeldError, match="read a snapshot"):
        Runner.open(path, [Tally()])

    runner.close()
    runner.close()
    with pytest.raises(ProjectionError, match="closed"):
        runner.advance(MemoryLog())


def test_what_was_never_projected_is_missing_by_name(tmp_path: Path) -> None:
    path = tmp_path / "projections.db"

    with (
        pytest.raises(ProjectionMissingError, match="no projection tally"),
        snapshot(path, "tally"),
    ):
        pass
    project(path, filled(TOPICS))
    with (
        pytest.raises(ProjectionMissingError, match="no projection other"),
        snapshot(path, "other"),
    ):
        pass


def test_a_log_on_disk_is_projected_while_it_is_written(tmp_path: Path) -> None:
    log = EventLog.open(tmp_path / "log.db")
    filled(TOPICS * 100, log)
    reader = EventLog.open(tmp_path / "log.db", readonly=True)
    runner = Runner.open(tmp_path / "projections.db", [Tally()])

    first = runner.advance(reader)
    filled(TOPICS, log)
    second = runner.advance(reader)

    assert (first, second) == (300, 303)
    for opened in (runner, reader, log):
        opened.close()
