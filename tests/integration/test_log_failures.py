"""What a damaged, locked, full, foreign or forbidden log says; nothing recorded is lost."""

import os
import pickle
import resource
import sqlite3
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cortex.bus import FORMAT, Batch, LogError, Receipt, Recorded, Row, encode
from cortex.runtime.log import (
    EventLog,
    LogAccessError,
    LogClosedError,
    LogCorruptError,
    LogDiskError,
    LogFullError,
    LogLockedError,
    LogMissingError,
    LogNewerError,
    NotALogError,
)

NOBODY = 65534


def row(position: int, body: bytes = b"\x80") -> Row:
    record = Recorded(
        FORMAT,
        position,
        "planner/7",
        position,
        position.to_bytes(16, "big"),
        position,
        "step.completed",
        1,
        None,
        None,
        "tests",
        None,
        None,
        body,
    )
    return Row(position, "planner/7", position, encode(record))


def marked(position: int) -> bytes:
    return b"body-%06d-" % position * 10


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed log of 3,000 events."""
    path = tmp_path / "log.db"
    log = EventLog.open(path)
    log.write(Batch(rows=[row(n, marked(n)) for n in range(1, 3_001)]))
    log.close()
    return path


def sql(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement)
    connection.close()


@contextmanager
def unprivileged() -> Iterator[None]:
    """Root may write everything, so become somebody who may not."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that somebody else may enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
        folder.chmod(0o755)


def test_a_whole_log_verifies_up_to_its_head(path: Path) -> None:
    log = EventLog.open(path, readonly=True)

    assert log.verify() == 3_000
    log.close()


def test_one_flipped_byte_is_found_at_its_position(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[content.index(marked(1_234)) + 3] ^= 1
    path.write_bytes(content)
    log = EventLog.open(path)

    with pytest.raises(LogCorruptError, match=r"damaged at position 1234: .* leaf hash") as raised:
        log.verify()

    assert raised.value.position == 1_234
    log.close()


def test_an_overwritten_page_is_found_at_the_first_event_that_cannot_be_read(path: Path) -> None:
    content = bytearray(path.read_bytes())
    page = content.index(marked(2_000)) // 4_096 * 4_096
    content[page : page + 4_096] = b"\xff" * 4_096
    path.write_bytes(content)
    log = EventLog.open(path)

    with pytest.raises(LogCorruptError) as raised:
        log.verify()

    assert raised.value.position is not None
    assert 1_960 <= raised.value.position <= 2_000
    assert log.read(0, 10, 10_000) == [row(n, marked(n)).record for n in range(1, 11)]
    log.close()


@pytest.mark.parametrize(
    ("statement", "position"),
    [
        ("delete from events where position = 77", 77),
        ("update events set stream = 'other' where position = 1500", 1_500),
        ("update events set version = 9999 where position = 2", 2),
        ("update tiles set hashes = zeroblob(8192) where first = 769", 769),
        ("delete from tiles where first = 1025", 1_025),
    ],
)
def test_rows_that_were_tampered_with_are_found(path: Path, statement: str, position: int) -> None:
    sql(path, statement)
    log = EventLog.open(path, readonly=True)

    with pytest.raises(LogCorruptError) as raised:
        log.verify()

    assert raised.value.position == position
    log.close()


@pytest.mark.parametrize(
    "statement",
    [
        "delete from events where position = 3000",
        "delete from tiles where first = (select max(first) from tiles)",
    ],
)
def test_a_tail_that_was_cut_off_is_refused_at_the_door(path: Path, statement: str) -> None:
    sql(path, statement)

    with pytest.raises(LogCorruptError, match="leaf hashes"):
        EventLog.open(path)


def test_a_file_that_was_cut_short_is_damaged(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 3])

    with pytest.raises(LogCorruptError, match="restore"):
        EventLog.open(path)


def test_a_subscription_that_cannot_be_decoded_is_damage(path: Path) -> None:
    sql(path, "insert into subscriptions values ('p', 'ordered', '{', 0, 0, 0)")
    log = EventLog.open(path, readonly=True)  # its owner would find before that it was changed

    with pytest.raises(LogCorruptError):
        log.state()
    log.close()


def test_a_locked_log_says_so_and_goes_on_afterwards(path: Path) -> None:
    log = EventLog.open(path, busy_s=0.01)
    intruder = sqlite3.connect(path, isolation_level=None)
    intruder.execute("begin immediate")

    with pytest.raises(LogLockedError, match="close that program's transaction"):
        log.write(Batch(rows=[row(3_001)]))
    intruder.execute("rollback")
    log.write(Batch(rows=[row(3_001)]))

    assert log.verify() == 3_001
    intruder.close()
    log.close()


def test_a_full_disk_keeps_nothing_of_the_batch_and_the_log_goes_on(path: Path) -> None:
    log = EventLog.open(path)
    assert log._writer is not None
    (pages,) = log._writer.execute("pragma page_count").fetchone()
    log._writer.execute(f"pragma max_page_count = {pages + 3}")
    batch = Batch(
        rows=[row(3_001 + n, b"x" * 2_000) for n in range(50)],
        receipts={"c": Receipt("c", 1, b"never")},
    )

    with pytest.raises(LogFullError, match="the disk is full; nothing of this request"):
        log.write(batch)
    assert log.state().head == 3_000
    assert log.state().receipts == []
    log._writer.execute(f"pragma max_page_count = {pages + 3_000}")
    log.write(batch)

    assert log.verify() == 3_050
    log.close()


def test_a_file_that_may_not_grow_keeps_nothing_of_the_batch_and_the_log_goes_on(
    path: Path,
) -> None:
    log = EventLog.open(path)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    batch = Batch(rows=[row(3_001 + n, b"x" * 4_000) for n in range(500)])

    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, before[1]))
    try:
        with pytest.raises(LogDiskError, match="free some space"):
            log.write(batch)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert log.state().head == 3_000
    log.write(batch)

    assert log.verify() == 3_500
    log.close()


def test_a_log_from_a_newer_version_is_refused_and_not_touched(path: Path) -> None:
    sql(path, "update meta set value = '99' where name = 'format'")
    before = path.read_bytes()

    for readonly in (False, True):
        with pytest.raises(LogNewerError, match=r"format 99 .* up to 3: upgrade"):
            EventLog.open(path, readonly=readonly)

    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    path.write_text("# Notes\n" * 1_000)

    with pytest.raises(NotALogError, match="not an SQLite database"):
        EventLog.open(path)

    assert path.read_text() == "# Notes\n" * 1_000


def test_another_program_s_database_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    sql(path, "create table songs (title text)")
    before = path.read_bytes()

    with pytest.raises(NotALogError, match="without the tables of a log"):
        EventLog.open(path)

    assert path.read_bytes() == before


def test_whoever_reads_while_the_log_is_being_made_waits_for_it(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    path.touch()  # the file is there before its tables are
    maker = threading.Timer(0.05, lambda: EventLog.open(path).close())
    maker.start()

    reader = EventLog.open(path, readonly=True)

    maker.join()
    assert list(reader.read(0, 10, 1_000)) == []
    reader.close()


def test_a_log_that_nobody_makes_is_refused_to_whoever_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    path.touch()

    with pytest.raises(NotALogError, match="without the tables of a log"):
        EventLog.open(path, readonly=True, busy_s=0.05)


def test_a_log_whose_making_was_killed_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    sql(path, "pragma journal_mode = wal")

    log = EventLog.open(path)

    assert log.verify() == 0
    log.close()


def test_reading_a_log_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(LogMissingError, match="does not exist"):
        EventLog.open(tmp_path / "log.db", readonly=True)


def test_a_missing_folder_and_a_folder_in_the_file_s_place_are_named(tmp_path: Path) -> None:
    (tmp_path / "log.db").mkdir()

    for readonly in (False, True):
        with pytest.raises(NotALogError, match="it is a folder; move it away"):
            EventLog.open(tmp_path / "log.db", readonly=readonly)
    with pytest.raises(LogAccessError, match="cannot be used"):
        EventLog.open(tmp_path / "nowhere" / "log.db")


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_a_log_is_readable_by_its_owner_alone_whatever_the_umask(
    tmp_path: Path, umask: int
) -> None:
    before = os.umask(umask)
    try:
        log = EventLog.open(tmp_path / "log.db")
        log.write(Batch(rows=[row(1)]))
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    log.close()

    assert {name: mode & 0o077 for name, mode in modes.items()} == dict.fromkeys(modes, 0)
    assert {modes[name] for name in ("log.db", "log.db-wal", "log.db-shm")} == {0o600}


def test_the_mode_that_somebody_gave_a_log_stays(path: Path) -> None:
    path.chmod(0o640)

    EventLog.open(path).close()

    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_read_only_log_takes_no_events(path: Path) -> None:
    log = EventLog.open(path, readonly=True)

    with pytest.raises(LogAccessError, match="opened for reading only"):
        log.write(Batch(rows=[row(3_001)]))

    log.close()


def test_a_folder_without_write_permission_is_named_and_its_log_can_still_be_read(
    path: Path, open_folder: Path
) -> None:
    copy = open_folder / "log.db"
    copy.write_bytes(path.read_bytes())
    copy.chmod(0o444)
    open_folder.chmod(0o555)

    with unprivileged():
        with pytest.raises(LogAccessError, match="mounted read-only"):
            EventLog.open(copy)
        log = EventLog.open(copy, readonly=True)
        assert log.verify() == 3_000
        log.close()


def test_a_log_without_write_permission_in_a_writable_folder_is_named(
    path: Path, open_folder: Path
) -> None:
    copy = open_folder / "log.db"
    copy.write_bytes(path.read_bytes())
    copy.chmod(0o444)
    open_folder.chmod(0o777)

    with unprivileged(), pytest.raises(LogAccessError, match="owner and mode"):
        EventLog.open(copy)


def test_a_closed_log_says_so_and_closes_twice(path: Path) -> None:
    log = EventLog.open(path)
    log.close()
    log.close()

    with pytest.raises(LogClosedError):
        log.read(0, 1, 1)
    with pytest.raises(LogClosedError):
        log.write(Batch(rows=[row(3_001)]))


def test_every_error_survives_the_trip_between_processes() -> None:
    for error in (
        LogCorruptError("log.db", "problem", 7),
        LogLockedError("log.db", 5.0),
        LogNewerError("log.db", 2, 1),
        LogDiskError("log.db", "full"),
        LogFullError("log.db"),
    ):
        copy: LogError = pickle.loads(pickle.dumps(error))

        assert (type(copy), str(copy)) == (type(error), str(error))
