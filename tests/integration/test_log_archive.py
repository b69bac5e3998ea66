"""Sealed records are read from the archive, and nobody who reads the log sees a difference."""

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cortex.bus import decode, last_before
from cortex.runtime.log import (
    SEGMENT,
    EventLog,
    LogCorruptError,
    LogTree,
    PastLog,
    Sealer,
    SegmentError,
    examine,
)

from .archive_world import STREAMS, fill, rows, seal, sealed_log

SEGMENTS: Any = import_module("cortex.runtime.log.segments")
due: Any = import_module("cortex.runtime.log.sealing").due

COUNT = 1_500
THROUGH = (512, 1_280)  # where the segments end
EVERYTHING = 1 << 40


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventLog]:
    with closing(sealed_log(tmp_path / "log.db", COUNT, *THROUGH)) as log:
        yield log


def whole(log: EventLog) -> list[bytes]:
    return [*log.read(0, EVERYTHING, EVERYTHING)]


def in_table(log: EventLog) -> list[int]:
    with closing(sqlite3.connect(log.path)) as db:
        return [position for (position,) in db.execute("select position from events order by 1")]


def test_sealed_records_leave_the_table_and_come_back_as_the_bytes_they_were(
    log: EventLog, tmp_path: Path
) -> None:
    (tmp_path / "plain").mkdir()
    with closing(EventLog.open(tmp_path / "plain" / "log.db")) as plain:
        made = [row.record for row in rows(plain, COUNT)]

    assert whole(log)[:COUNT] == made
    assert in_table(log) == [*range(THROUGH[-1] + 1, log.head + 1)]
    assert log.archive.through == THROUGH[-1]
    assert log.verify() == log.head == COUNT + len(THROUGH)


def test_a_second_process_reads_them_while_the_owner_seals(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with closing(EventLog.open(path)) as log:
        fill(log, COUNT)
        with closing(EventLog.open(path, readonly=True)) as reader:
            before, page = whole(reader), [*reader.read(600, 10, EVERYTHING)]
            versions = [reader.stream_version(f"run/{n}") for n in range(STREAMS)]

            seal(log, THROUGH[0])
            seal(log, THROUGH[1])

            assert whole(reader)[:COUNT] == before
            assert [*reader.read(600, 10, EVERYTHING)] == page
            assert [reader.stream_version(f"run/{n}") for n in range(STREAMS)] == versions


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.integers(0, COUNT + 3), st.integers(1, 700), st.integers(1, 9_000))
def test_a_page_is_the_same_wherever_its_records_are(
    log: EventLog, after: int, limit: int, limit_bytes: int
) -> None:
    """Pages go over tiles, over segments, and from the archive into the table."""
    expected: list[bytes] = []
    for record in whole(log)[after : after + limit]:
        if expected and sum(map(len, (*expected, record))) > limit_bytes:
            break
        expected.append(record)

    assert [*log.read(after, limit, limit_bytes)] == expected


def test_streams_are_read_by_their_versions_wherever_their_records_are(log: EventLog) -> None:
    records = [decode(record) for record in whole(log)]

    for stream in {record.stream for record in records}:
        versions = [record for record in records if record.stream == stream]
        assert log.stream_version(stream) == len(versions)
        for after in (0, 1, 5, len(versions) // 2, len(versions) - 1, len(versions)):
            for limit in (1, 7, EVERYTHING):
                page = log.read_stream(stream, after, limit)
                assert [decode(each) for each in page] == versions[after : after + limit]
    assert log.stream_version("run/none") == 0
    streams = [*{record.stream for record in records}, "run/none"]
    assert log.stream_versions(streams) == {each: log.stream_version(each) for each in streams}
    assert [*log.read_stream("run/none", 0, 10)] == []


def test_versions_go_on_where_all_of_a_stream_is_sealed(tmp_path: Path) -> None:
    with closing(EventLog.open(tmp_path / "log.db")) as log:
        fill(log, 300)
        seal(log, 256)
        with closing(sqlite3.connect(log.path)) as db:
            (left,) = db.execute("select count(*) from events where stream = 'run/4'").fetchone()
            assert left > 0
        before = log.stream_version("run/4")

        fill(log, 10)

        page = [decode(each).version for each in log.read_stream("run/4", 0, EVERYTHING)]
        assert page == [*range(1, len(page) + 1)]
        assert len(page) > before


class Untrimmed(Sealer):
    """A sealing that is killed before records leave the table."""

    def trim(self) -> None:
        """Leave them."""


def test_records_that_are_in_both_places_are_read_once(tmp_path: Path) -> None:
    """They leave the table a little later than they are in the archive."""
    with closing(EventLog.open(tmp_path / "log.db")) as log:
        fill(log, COUNT)
        before = whole(log)
        assert seal(log, 1_024, kind=Untrimmed) is not None
        assert len(in_table(log)) == COUNT + 1

        for _ in range(6):
            with closing(EventLog.open(log.path, readonly=True)) as reader:
                for each in (log, reader):
                    assert whole(each)[:COUNT] == before
                    for stream in range(STREAMS):
                        page = each.read_stream(f"run/{stream}", 0, EVERYTHING)
                        assert [decode(data).version for data in page] == [
                            *range(1, each.stream_version(f"run/{stream}") + 1)
                        ]
                    assert each.verify() == COUNT + 1
            log.trim(190)
        assert in_table(log) == [*range(1_025, COUNT + 2)]


def test_a_sealing_that_ends_in_the_middle_leaves_nothing(tmp_path: Path) -> None:
    with closing(EventLog.open(tmp_path / "log.db")) as log:
        fill(log, COUNT)

        assert seal(log, 1_024, pause=lambda _: True) is None

        assert [*log.archive.folder.iterdir()] == []
        assert log.head == COUNT


def test_tree_times_past_and_state_do_not_depend_on_where_records_are(
    log: EventLog, tmp_path: Path
) -> None:
    (tmp_path / "plain").mkdir()
    with closing(EventLog.open(tmp_path / "plain" / "log.db")) as plain:
        fill(plain, COUNT)
        with LogTree(log, COUNT) as ours, LogTree(plain, COUNT) as theirs:
            assert ours.root() == theirs.root()
            assert ours.inclusion(300) == theirs.inclusion(300)

        for time_ns in (1_000, 1_257, 2_100, 9_999_999):
            assert last_before(log, COUNT, time_ns) == last_before(plain, COUNT, time_ns)
        past = PastLog(log, 700)
        assert past.state().head == 700
        assert past.state().time_ns == 1_700
        assert past.stream_version("run/0") == PastLog(plain, 700).stream_version("run/0")
    log.close()
    assert examine(log.path).fits


def test_pages_of_the_table_are_used_again_so_that_the_file_stays_as_large(tmp_path: Path) -> None:
    with closing(EventLog.open(tmp_path / "log.db")) as log:
        sizes = []
        for _ in range(6):
            fill(log, 2_048)
            seal(log, log.head)
            with closing(sqlite3.connect(log.path)) as db:
                sizes.append(db.execute("pragma page_count").fetchone()[0])

    # Each round adds leaf hashes, 64 kB, and where the records of five streams are.
    assert max(later - earlier for earlier, later in pairwise(sizes[1:])) <= 30


def test_the_policy_seals_what_is_old_enough_or_too_much(tmp_path: Path) -> None:
    with closing(EventLog.open(tmp_path / "log.db")) as log:
        fill(log, SEGMENT)
        assert due(log, 1, 1) == 0  # the newest record is not sealed

        fill(log, 500)

        assert due(log, 0, 0) == 0
        assert due(log, 500, 0) == SEGMENT
        assert due(log, 501, 0) == 0
        assert due(log, 0, 1_000_000) == SEGMENT
        assert due(log, 0, 1_000_000_000) == 0


# --- damage


def file_of(log: EventLog, number: int = 0) -> Path:
    return log.archive.folder / log.archive.segments[number].name


def reopened(log: EventLog) -> EventLog:
    log.close()
    return EventLog.open(log.path, readonly=True)


def test_a_missing_segment_is_one_error_that_names_the_file_and_the_position(
    log: EventLog,
) -> None:
    path = file_of(log, 1)
    path.rename(path.with_suffix(".away"))

    with closing(reopened(log)) as damaged:
        with pytest.raises(SegmentError, match=rf"{path.name} .* position 513: it is missing"):
            damaged.read(599, 1, 1)
        with pytest.raises(SegmentError, match="position 513: it is missing"):
            damaged.verify()
        assert decode(damaged.read(99, 1, 1)[0]).position == 100  # the rest is readable
        assert decode(damaged.read(1_399, 1, 1)[0]).position == 1_400

    path.with_suffix(".away").rename(path)
    with closing(EventLog.open(log.path)) as mended:
        assert mended.verify() == COUNT + len(THROUGH)


def test_a_segment_of_another_log_is_named_as_such(log: EventLog, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with closing(sealed_log(tmp_path / "other" / "log.db", COUNT, *THROUGH)) as other:
        log_id = other.meta().log_id
        shutil.copy(file_of(other), file_of(log))

    with closing(reopened(log)) as damaged:
        with pytest.raises(SegmentError, match=f"another log, {log_id}"):
            damaged.read(0, 1, 1)
        with pytest.raises(SegmentError, match=r"position 1: .* another log"):
            damaged.verify()


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_what_is_no_file_is_not_read(log: EventLog, make: Callable[[Path], None]) -> None:
    path = file_of(log)
    path.unlink()
    make(path)

    with (
        closing(reopened(log)) as damaged,
        pytest.raises(SegmentError, match="it is not a plain file"),
    ):
        damaged.read(0, 1, 1)


def test_a_file_that_is_cut_off_is_named_with_the_first_position_that_is_gone(
    log: EventLog,
) -> None:
    path = file_of(log)
    data = path.read_bytes()

    for size, least, most in ((len(data) - 1, 512, 512), (len(data) * 3 // 4, 257, 512), (0, 1, 1)):
        path.write_bytes(data[:size])
        with closing(reopened(log)) as damaged, pytest.raises(SegmentError) as raised:
            damaged.verify()
        assert raised.value.position is not None
        assert least <= raised.value.position <= most


def test_a_flipped_bit_is_found_on_reading_and_by_the_verifier(log: EventLog) -> None:
    path = file_of(log)
    data = path.read_bytes()
    at = len(data) // 4  # in the first tile
    path.write_bytes(data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :])

    with closing(reopened(log)) as damaged:
        with pytest.raises(SegmentError, match=path.name):
            damaged.read(0, 10, EVERYTHING)
        with pytest.raises(SegmentError, match="restore this file from a backup"):
            damaged.verify()


def test_a_forged_record_is_not_shown_even_to_the_owner_of_the_log(log: EventLog) -> None:
    (path, segment) = file_of(log), log.archive.segments[0]
    with closing(log.archive.opened(segment)) as file:
        records = [file.tile(n // 256).record(n % 256) for n in range(512)]
        header = SEGMENTS.SegmentHeader(1, log.meta().log_id, 1)
    records[299] = records[299][:-1] + bytes([records[299][-1] ^ 1])
    with path.open("wb") as made:
        writer = SEGMENTS.SegmentWriter(made, header)
        writer.tile(records[:256])
        writer.tile(records[256:])
        writer.end()
    log.close()

    with closing(EventLog.open(log.path)) as damaged:
        assert len(damaged.read(0, 256, EVERYTHING)) == 256
        with pytest.raises(SegmentError, match="position 300: the record does not have its leaf"):
            damaged.read(256, 256, EVERYTHING)
        with pytest.raises(SegmentError, match="position 300: the record does not have its leaf"):
            damaged.read_stream("run/0", 0, EVERYTHING)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("update segments set digest = '../../../etc/passwd' where first = 1", "table segments"),
        ("update segments set last = 511 where first = 1", "table segments"),
        ("delete from segments where first = 1", "table segments"),
        ("update sealed set places = x'00' where version = 1", "table sealed"),
        ("update sealed set places = x'9101' where version = 1", "table sealed"),
        ("delete from sealed where version = 1", "table sealed"),
        ("delete from sealed", "table sealed"),
        ("update segments set first = 'abc' where first = 1", "table segments"),
        ("update segments set last = 'abc' where first = 1", "table segments"),
        ("update segments set digest = x'00' where first = 1", "table segments"),
        ("update segments set file_bytes = null where first = 1", "table segments"),
        ("update sealed set places = 'abc' where version = 1", "table sealed"),
    ],
)
def test_changed_rows_about_the_archive_are_found(log: EventLog, change: str, problem: str) -> None:
    log.close()
    with closing(sqlite3.connect(log.path, isolation_level=None)) as db:
        for table in ("segments", "sealed"):  # without types
            db.execute(f"create table loose as select * from {table}")
            db.execute(f"drop table {table}")
            db.execute(f"alter table loose rename to {table}")
        db.execute(change)

    with (
        pytest.raises(LogCorruptError, match=problem),
        closing(EventLog.open(log.path, readonly=True)) as damaged,
    ):
        damaged.verify()
    with (
        pytest.raises(LogCorruptError),
        closing(EventLog.open(log.path, readonly=True)) as damaged,
    ):
        damaged.read_stream("run/0", 0, EVERYTHING)


def test_places_of_another_stream_are_not_read_as_those_of_a_stream(log: EventLog) -> None:
    path = log.path
    log.close()
    with closing(sqlite3.connect(path)) as file, file:
        (places,) = file.execute(
            "select places from sealed where stream = 'run/2' and version = 1"
        ).fetchone()
        file.execute(
            "update sealed set places = ? where stream = 'run/4' and version = 1", (places,)
        )

    with closing(EventLog.open(path, readonly=True)) as forged:
        with pytest.raises(LogCorruptError, match="says wrongly where run/4 is"):
            forged.read_stream("run/4", 0, EVERYTHING)
        assert forged.read_stream("run/2", 0, EVERYTHING)


def test_a_damaged_record_of_the_log_is_not_sealed_and_nothing_is_changed(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with closing(EventLog.open(path)) as log:
        fill(log, 600)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("update events set record = cast(record || x'00' as blob) where position = 300")

    with closing(EventLog.open(path)) as log:
        with pytest.raises(LogCorruptError, match="position 300"):
            seal(log, 512)

        assert [*log.archive.folder.iterdir()] == []
        assert log.head == 600
        assert len(in_table(log)) == 600
