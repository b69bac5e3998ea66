"""One writer to a log, any number of readers, and a lock that dies with its holder."""

import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from cortex.bus import FORMAT, Batch, Recorded, Row, encode
from cortex.runtime.log import EventLog, LogHeldError, LogLostError

HOLD = """
import sys
from cortex.runtime.log import EventLog

log = EventLog.open(sys.argv[1])
print("open", flush=True)
sys.stdin.read()
"""


def row(position: int) -> Row:
    fields = (position.to_bytes(16, "big"), position, "a.b", 1, None, None, "t", None, None)
    record = Recorded(FORMAT, position, "planner/7", position, *fields, b"\x80" * 50)
    return Row(position, "planner/7", position, encode(record))


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", HOLD, str(tmp_path / "log.db")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        yield process
        process.kill()


def test_a_second_writer_is_refused_and_told_who_holds_the_log(
    holder: subprocess.Popen[str], tmp_path: Path
) -> None:
    with pytest.raises(LogHeldError, match=f"held by process {holder.pid}: stop it") as raised:
        EventLog.open(tmp_path / "log.db")

    assert raised.value.pid == holder.pid


def test_a_killed_holder_lets_go_at_once(holder: subprocess.Popen[str], tmp_path: Path) -> None:
    holder.send_signal(signal.SIGKILL)
    holder.wait()

    log = EventLog.open(tmp_path / "log.db")

    assert log.verify() == 0
    log.close()


def test_the_same_process_cannot_open_a_log_twice_to_write(tmp_path: Path) -> None:
    log = EventLog.open(tmp_path / "log.db")

    with pytest.raises(LogHeldError):
        EventLog.open(tmp_path / "log.db")
    log.close()

    EventLog.open(tmp_path / "log.db").close()


def test_a_reader_beside_the_writer_sees_what_is_acknowledged(tmp_path: Path) -> None:
    log = EventLog.open(tmp_path / "log.db")
    reader = EventLog.open(tmp_path / "log.db", readonly=True)

    for n in range(1, 301):
        log.write(Batch(rows=[row(n)]))
        assert reader.state().head == n

    assert reader.verify() == 300
    assert reader.read(299, 10, 10_000) == [row(300).record]
    reader.close()
    log.close()


def test_threads_may_read_while_another_writes(tmp_path: Path) -> None:
    log = EventLog.open(tmp_path / "log.db")
    log.write(Batch(rows=[row(1)]))
    seen: list[int] = []

    def follow() -> None:
        position = 0
        while position < 2_000:
            page = log.read(position, 100, 100_000)
            assert list(page) == [row(position + n).record for n in range(1, len(page) + 1)]
            position += len(page)
        seen.append(position)

    threads = [threading.Thread(target=follow) for _ in range(3)]
    for thread in threads:
        thread.start()
    for first in range(2, 2_001, 10):
        log.write(Batch(rows=[row(n) for n in range(first, min(first + 10, 2_001))]))
    for thread in threads:
        thread.join()

    assert seen == [2_000] * 3
    log.close()


def test_a_reader_that_keeps_its_snapshot_holds_no_write_up(tmp_path: Path) -> None:
    log = EventLog.open(tmp_path / "log.db", busy_s=0.0)
    slow = sqlite3.connect(tmp_path / "log.db", isolation_level=None)
    slow.execute("begin")
    before = slow.execute("select count(*) from events").fetchone()

    log.write(Batch(rows=[row(1)]))

    assert slow.execute("select count(*) from events").fetchone() == before
    assert log.state().head == 1
    slow.close()
    log.close()


def test_closing_leaves_one_file_and_the_lock(tmp_path: Path) -> None:
    log = EventLog.open(tmp_path / "log.db")
    log.write(Batch(rows=[row(1)]))

    log.close()

    assert sorted(p.name for p in tmp_path.iterdir()) == ["log.db", "log.db.lock"]


def test_a_log_keeps_its_identity(tmp_path: Path) -> None:
    log = EventLog.open(tmp_path / "log.db")
    first = log.meta()
    log.close()

    reader = EventLog.open(tmp_path / "log.db", readonly=True)

    assert reader.meta() == first
    assert first.format == 3
    reader.close()


def test_a_lock_that_somebody_removed_ends_its_holder_before_two_write(tmp_path: Path) -> None:
    first = EventLog.open(tmp_path / "log.db")
    (tmp_path / "log.db.lock").unlink()
    second = EventLog.open(tmp_path / "log.db")
    second.write(Batch(rows=[row(1)]))

    with pytest.raises(LogLostError, match="another may own it now: nothing more is recorded"):
        first.write(Batch(rows=[row(1)]))

    second.write(Batch(rows=[row(2)]))
    assert second.verify() == 2
    first.close()
    second.close()
