"""A kill at any step of sealing loses nothing, and the next sealing ends as if there was none."""

import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cortex.bus import decode
from cortex.bus.events import LogSegmentSealed
from cortex.runtime.log import EventLog, Sealer

from .archive_world import append, fill, seal

COUNT, THROUGH = 700, 512

# Ends itself before or after each step that changes a file, and before each statement of SQLite.
KILLED = """
import os, signal, sys
from contextlib import closing
from pathlib import Path

from cortex.bus import Client, Hub, LocalHub, SystemClock, system_entropy
from cortex.bus.events import VOCABULARY
from cortex.runtime.log import EventLog, Sealer
from cortex.runtime.log.segments import SegmentWriter

path, left = sys.argv[1], int(sys.argv[2])

def step(*_):
    global left
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1

def around(owner, name):
    was = getattr(owner, name)
    def call(*args, **options):
        step()
        result = was(*args, **options)
        step()
        return result
    setattr(owner, name, call)

log = EventLog.open(path)
log._writer.set_trace_callback(step)
for owner, name in (
    (os, "fsync"), (Path, "replace"), (Path, "unlink"), (Path, "mkdir"), (SegmentWriter, "tile"),
    (SegmentWriter, "end"), (EventLog, "write"), (EventLog, "note"), (EventLog, "trim"),
):
    around(owner, name)
hub = LocalHub(Hub(log, VOCABULARY, system_entropy), SystemClock(), begins=False)
Sealer(log, Client("tests", hub, log, VOCABULARY).publish).seal(512, "tests")
left = -1
hub.close()
log.close()
print("whole")
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with closing(EventLog.open(tmp_path / "log.db")) as log:
        fill(log, COUNT)
    return tmp_path / "log.db"


def ends_itself(path: Path, step: int) -> bool:
    """Seal in a process that is killed at its step of that number; False if it came to its end."""
    command = [sys.executable, "-I", "-c", KILLED, str(path), str(step)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (-9, 0), done.stderr
    assert (done.stdout == "whole\n") == (done.returncode == 0)
    return done.returncode == -9


def sealings(log: EventLog) -> list[LogSegmentSealed]:
    from cortex.bus.events import VOCABULARY

    records = map(decode, log.read_stream("log/segments", 0, 100))
    found = [VOCABULARY.read(record) for record in records]
    return [each for each in found if isinstance(each, LogSegmentSealed)]


def files(log: EventLog) -> list[str]:
    folder = log.archive.folder
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_a_kill_at_any_step_of_sealing_loses_nothing_and_leaves_one_state(path: Path) -> None:
    with closing(EventLog.open(path, readonly=True)) as log:
        before = [*log.read(0, COUNT, 1 << 40)]
    whole = path.read_bytes()
    names = set[tuple[str, ...]]()
    step, going = 0, True

    while going:
        for old in path.parent.rglob("*"):
            if old.is_file():
                old.unlink()
        path.write_bytes(whole)
        going = ends_itself(path, step)
        with closing(EventLog.open(path, readonly=True)) as log:
            assert log.verify() >= COUNT
            assert [*log.read(0, COUNT, 1 << 40)] == before
        with closing(EventLog.open(path)) as log:
            seal(log, THROUGH)
            assert log.archive.through == THROUGH
            assert log.verify() > COUNT  # the kill is recorded, too
            assert [*log.read(0, COUNT, 1 << 40)] == before
            (sealed,) = sealings(log)
            assert files(log) == [log.archive.segments[0].name]
            assert log.archive.segments[0].digest == sealed.digest
            assert log.trim(1) == 0
            names.add((*files(log), sealed.digest))
        step += 1

    assert step > 40
    assert len(names) == 1


class Killed(Exception):  # noqa: N818  # nothing is wrong
    pass


class KilledSealer(Sealer):
    """Ends after the first transaction about where the records of streams are."""

    def _in_turn(self, work: Callable[[], Any]) -> Any:
        super()._in_turn(work)
        raise Killed


def test_what_a_sealing_left_whose_file_was_lost_misleads_nobody(tmp_path: Path) -> None:
    with closing(EventLog.open(tmp_path / "log.db")) as log:
        append(log, "late")
        fill(log, 299)
        seal(log, 256)
        fill(log, 300)
        append(log, "late")
        fill(log, 300)
        with pytest.raises(Killed):
            seal(log, 768, kind=KilledSealer)
        # A backup that is made now has the rows, and not the file.
        (lost,) = log.archive.folder.glob("000000000257-*")
        lost.unlink()

        seal(log, 512)

        assert log.archive.through == 512
        late = [decode(record) for record in log.read_stream("late", 0, 10)]
        assert [each.version for each in late] == [1, 2]
        assert log.verify() == log.head
