"""What somebody wrote into log.db past Cortex is found, and is not shown as if it were recorded."""

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cortex.bus import (
    Draft,
    Due,
    Event,
    Hub,
    LocalHub,
    Publish,
    Subscribe,
    SystemClock,
    decode,
    encode,
    system_entropy,
)
from cortex.bus.events import VOCABULARY, ExecutionRequest
from cortex.runtime.kernel import Home
from cortex.runtime.log import EventLog, LogCorruptError

CORTEX = Path(sys.executable).parent / "cortex"


class Asked(Event, frozen=True, kw_only=True, tag="x.forged.asked"):
    belongs = ("thing", "about")

    about: str = "a"
    text: str = ""


WORDS = VOCABULARY.extended((Asked,))
SUBSCRIPTIONS = (
    Subscribe("Cursor", "ordered", (("*", None),)),
    Subscribe("Worker", "work", ((Asked.topic_name(), None),)),
)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home whose log holds a little of everything, and is closed."""
    home = Home.create(tmp_path / ".cortex")
    log = EventLog.open(home.log_path)
    hub = LocalHub(Hub(log, WORDS, system_entropy), SystemClock())
    hub.submit("me", SUBSCRIPTIONS)
    for number in range(1, 40):
        draft = Draft.of(Asked(about="ab"[number % 2], text=f"number {number}"))
        hub.ask_one("me", Publish((draft,), number=number))
    asked = ExecutionRequest(execution_id="e1", process="p", goal="run p")
    hub.ask_one("me", Publish((Draft.of(asked),), due=(Due("later", 1 << 62, Draft.of(Asked())),)))
    hub.close()
    log.close()
    return home


def sql(home: Home, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(home.log_path, isolation_level=None)) as db:
        assert db.execute(statement, values).rowcount


def forge(home: Home, position: int, change: Callable[[Any], Any]) -> None:
    """Write another record in the place of one, its leaf hash left as it is."""
    with closing(EventLog.open(home.log_path, readonly=True)) as log:
        record = decode(log.read(position - 1, 1, 1 << 20)[0])
    sql(home, "update events set record = ? where position = ?", encode(change(record)), position)


def by_somebody_else(record: Any) -> Any:
    return msgspec.structs.replace(record, source="owner")


def test_a_page_with_a_forged_record_is_refused_with_its_position(home: Home) -> None:
    forge(home, 7, by_somebody_else)

    with closing(EventLog.open(home.log_path, readonly=True)) as log:
        assert len(log.read(0, 6, 1 << 20)) == 6
        with pytest.raises(LogCorruptError, match=r"at position 7: .* not what was recorded"):
            log.read(0, 100, 1 << 20)
        assert len(log.read(7, 10, 1 << 20)) == 10


def test_a_stream_with_a_forged_record_is_refused(home: Home) -> None:
    forge(home, 8, by_somebody_else)

    with closing(EventLog.open(home.log_path, readonly=True)) as log:
        assert len(log.read_stream("thing/b", 0, 100)) == 20
        with pytest.raises(LogCorruptError, match="at position 8"):
            log.read_stream("thing/a", 0, 100)


def test_a_record_that_was_moved_to_another_stream_is_refused(home: Home) -> None:
    sql(home, "update events set stream = 'thing/c', version = 1 where position = 9")

    with (
        closing(EventLog.open(home.log_path, readonly=True)) as log,
        pytest.raises(LogCorruptError, match=r"at position 9: .* its record says thing/b"),
    ):
        log.read_stream("thing/c", 0, 100)


def test_a_record_that_was_removed_is_missed(home: Home) -> None:
    sql(home, "delete from events where position = 9")

    with (
        closing(EventLog.open(home.log_path, readonly=True)) as log,
        pytest.raises(LogCorruptError, match="at position 9: the event is missing"),
    ):
        log.read(0, 100, 1 << 20)


def cortex(home: Home, *command: str) -> "subprocess.CompletedProcess[str]":
    done = [str(CORTEX), *command, "--home", str(home.path)]
    return subprocess.run(done, text=True, check=False, capture_output=True)


@pytest.mark.parametrize(
    "command", [("events", "query"), ("events", "query", "--json"), ("trace", "e1")], ids=str
)
def test_no_command_shows_a_forged_record(home: Home, command: tuple[str, ...]) -> None:
    forge(home, 40, lambda r: msgspec.structs.replace(r, time_ns=r.time_ns + 1))

    done = cortex(home, *command)

    assert done.returncode == 4, done.stdout
    assert "at position 40" in done.stderr
    assert "not what was recorded" in done.stderr
    if "--json" in command:
        assert json.loads(done.stdout)["error"]["kind"] == "LogCorruptError"


EDITS = {
    "a cursor": "update subscriptions set cursor = 3 where name = 'Cursor'",
    "the work of a worker": "delete from work where position = 4",
    "an attempt": "update work set attempts = 9 where position = 4",
    "a deadline": "update deadlines set due_ns = 1",
    "a receipt": "update receipts set number = 7",
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_a_change_of_what_moves_with_the_events_is_found(home: Home, edit: str) -> None:
    sql(home, edit)

    with pytest.raises(LogCorruptError, match="changed, added or removed by another program"):
        EventLog.open(home.log_path)
    with closing(EventLog.open(home.log_path, readonly=True)) as log:
        with pytest.raises(LogCorruptError, match="changed, added or removed"):
            log.verify()
        assert len(log.read(0, 10, 1 << 20)) == 10  # the events are as they were
    done = cortex(home, "doctor", "--quick")
    assert done.returncode == 4
    assert "changed, added or removed by another program" in done.stdout


def test_what_cortex_itself_changes_is_no_forgery(home: Home) -> None:
    for _ in range(2):
        log = EventLog.open(home.log_path)
        hub = LocalHub(Hub(log, WORDS, system_entropy), SystemClock())
        hub.submit("me", SUBSCRIPTIONS)
        hub.ask_one("me", Publish((Draft.of(Asked()),)))
        assert log.verify()
        hub.close()
        log.close()
    with closing(EventLog.open(home.log_path, readonly=True)) as log:
        assert log.verify()
