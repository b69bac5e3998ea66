"""Projections that are far behind: nobody waits for them, and no stop loses what is made."""

import threading
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cortex.actors.accessors import ExecutionRecordAccessor
from cortex.bus import FORMAT, Batch, Recorded, Row, encode
from cortex.bus.events import VOCABULARY, ExecutionAnswer, ExecutionGet, ExecutionList
from cortex.runtime.executions import ExecutionRecords
from cortex.runtime.kernel import Home, Runtime
from cortex.runtime.log import EventLog
from cortex.runtime.projections import EventIndex, RecordUnreadableError, Runner, snapshot

from ..staff_world import QUICK

# An inner part of the room: it is not shown at the front door.
Following: Any = import_module("cortex.actors.accessors.following").Following

SPAN = 10_000  # what one step projects
EVENTS = 3 * SPAN + 500
FOR_EVER_S = 3_600.0
PATIENCE_S = 120.0  # nothing takes as long; what is lost does


class Reading:
    """A log that counts what is read of it, and says when its end was reached."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self.count = 0
        self.ended = threading.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    def read(self, after: int, limit: int, limit_bytes: int) -> Sequence[bytes]:
        page = self._log.read(after, limit, limit_bytes)
        self.count += len(page)
        if not page:
            self.ended.set()
        return page


def row(position: int) -> Row:
    """Requests of executions, each a stream of its own."""
    body = {"execution_id": f"k{position}", "process": "lint"}
    stream, packed = f"execution/k{position}", msgspec.msgpack.encode(body)
    fields = (position.to_bytes(16, "big"), position, "execution.request", 1, f"k{position}", None)
    return Row(
        position,
        stream,
        1,
        encode(Recorded(FORMAT, position, stream, 1, *fields, "cli", "lint", None, packed)),
    )


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / ".cortex").open()
    log = EventLog.open(home.log_path)
    log.write(Batch(rows=[row(position) for position in range(1, EVENTS + 1)]))
    log.close()
    return home


@pytest.fixture
def log(home: Home) -> Iterator[Any]:
    opened = EventLog.open(home.log_path, readonly=True)
    yield Reading(opened)
    opened.close()


def runner(home: Home) -> Runner:
    return Runner.open(home.projections_path, [ExecutionRecords(), EventIndex()])


def projected(home: Home) -> int:
    with snapshot(home.projections_path, EventIndex.name) as view:
        return view.position


def test_a_long_way_is_made_in_pieces_that_are_kept_one_by_one(home: Home, log: Any) -> None:
    following = Following(runner(home), log, later_s=FOR_EVER_S)

    following.step()

    assert (projected(home), log.count) == (SPAN, SPAN)
    following.close()
    assert (projected(home), log.count) == (2 * SPAN, 2 * SPAN)


def test_the_next_start_goes_on_where_the_last_one_ended(home: Home, log: Any) -> None:
    for _ in range(2):
        following = Following(runner(home), log, later_s=FOR_EVER_S)
        following.step()
        following.close()

    assert (projected(home), log.count) == (EVENTS, EVENTS)


def test_the_head_is_reached_while_nobody_asks(home: Home, log: Any) -> None:
    following = Following(runner(home), log, later_s=0)
    following.step()

    assert log.ended.wait(PATIENCE_S)

    following.close()
    assert (projected(home), log.count) == (EVENTS, EVENTS)


def test_what_is_up_to_date_needs_no_thread(home: Home, log: Any) -> None:
    made = runner(home)
    made.advance(log)
    before = set(threading.enumerate())

    following = Following(made, log, later_s=FOR_EVER_S)
    following.step()

    assert set(threading.enumerate()) <= before  # those of another test may end meanwhile
    following.close()


def test_a_runtime_answers_while_its_projections_are_far_behind(home: Home) -> None:
    with Runtime(home, components=[*QUICK, ExecutionRecordAccessor]) as runtime:
        client = runtime.client("tests")
        listed = client.ask(ExecutionList(limit=1))
        got = client.ask(ExecutionGet(execution_id=f"k{EVENTS}"))

    assert isinstance(listed, ExecutionAnswer)
    assert isinstance(got, ExecutionAnswer)
    newest = min(listed.position, EVENTS)  # after them come those of the runtime
    assert [each["execution_id"] for each in listed.executions] == [f"k{newest}"]
    assert [each["execution_id"] for each in got.executions] == [f"k{EVENTS}"]
    assert got.position >= EVENTS


def test_a_start_that_fails_lets_the_projections_go(tmp_path: Path) -> None:
    home = Home(tmp_path / ".cortex").open()
    log = EventLog.open(home.log_path)
    log.write(Batch(rows=[row(1), Row(2, "s", 1, b"\xc1")]))
    accessor = ExecutionRecordAccessor(log, VOCABULARY, lambda _: iter(()), home)

    with pytest.raises(RecordUnreadableError, match="position 2"):
        accessor.on_start()

    runner(home).close()
    log.close()
