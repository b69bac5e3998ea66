"""What starts by itself while a hub is up: by the calendar, whatever the clock does; by files."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from cortex.bus import Client, Draft, Due, Publish, SystemClock
from cortex.bus.events import (
    ExecutionCompleted,
    ExecutionStarted,
    TriggerReceived,
    TriggerUnmatched,
)
from cortex.runtime.kernel import Home
from cortex.runtime.processes import submit
from cortex.runtime.serving import Service, connected

from ..waiting import until

SECOND_NS = 1_000_000_000
HOUR_NS = 3_600 * SECOND_NS
LONG_S = 120.0
HOURLY = """process: {0}
version: 1
trigger: {{ type: schedule, cron: "0 * * * *", missed: {0} }}
steps:
  - {{ id: say, action: shell, with: {{ run: echo one }} }}
"""
INBOX = """process: inbox
version: 1
trigger: { type: file, paths: inbox/*.csv, changes: [added] }
inputs: { paths: list }
steps:
  - { id: say, action: shell, with: { run: echo one } }
"""


class WallClock(SystemClock):
    """A clock that the test sets."""

    ahead_ns = 0

    def now_ns(self) -> int:
        return super().now_ns() + self.ahead_ns

    def set(self, at_ns: int) -> None:
        self.ahead_ns += at_ns - self.now_ns()

    def hour(self) -> int:
        """The next full hour."""
        return (self.now_ns() // HOUR_NS + 1) * HOUR_NS


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> WallClock:
    # The clock's thread looks this often whether the clock was set.
    monkeypatch.setattr(import_module("cortex.bus.alarms"), "LONGEST_S", 0.05)
    return WallClock()


@pytest.fixture
def home() -> Iterator[Home]:
    folder = Path(tempfile.mkdtemp(prefix="cx"))  # short: a socket's path has a bound
    (folder / "inbox").mkdir()
    yield Home.create(folder / ".cortex")
    shutil.rmtree(folder)


def started(client: Client) -> list[str]:
    """The processes that were started, sorted."""
    events = [client.vocabulary.read(r) for r in client.read() if r.topic == "execution.started"]
    return sorted(event.process for event in events if isinstance(event, ExecutionStarted))


def until_ended(client: Client, count: int) -> list[str]:
    """The processes that were started, once *count* executions have ended."""
    feed = client.follow((ExecutionCompleted.topic_name(), None), after=0)
    seen = 0
    while seen < count:
        records = feed.next(LONG_S)
        assert records, (seen, started(client))
        seen += len(records)
    feed.close()
    return started(client)


def after_all_that_is_due(client: Client, clock: WallClock) -> None:
    """Wait until whatever is due now was dealt with: what is armed now comes after it."""
    head = client.head
    marker = TriggerReceived(trigger_id=f"marker-{head}", fields={"source": "nobody"})
    due = Due(f"{client.name}/marker", clock.now_ns(), Draft.of(marker))
    client.hub.ask_one(client.name, Publish((), due=(due,)))
    feed = client.follow((TriggerUnmatched.topic_name(), None), after=head)
    assert feed.next(LONG_S)
    feed.close()


def test_a_schedule_fires_once_whatever_the_clock_does_and_by_its_policy_after_a_pause(
    home: Home, clock: WallClock
) -> None:
    texts = {f"{name}.yaml": HOURLY.format(name) for name in ("once", "skip", "all")}
    with Service(home, clock=clock), connected(home) as client:
        submit(client, client.blobs, texts)

        first = clock.hour()
        clock.set(first + SECOND_NS)  # its time comes, and all three run
        while_up = until_ended(client, 3)
        clock.set(first - HOUR_NS)  # set back: what was run is not run again
        after_all_that_is_due(client, clock)
        clock.set(first + 2 * SECOND_NS)
        after_all_that_is_due(client, clock)
        again = started(client)

    clock.set(first + 3 * HOUR_NS + 10 * SECOND_NS)  # nobody is there at two of the three hours
    with Service(home, clock=clock), connected(home) as client:
        later = until_ended(client, 7)
        after_all_that_is_due(client, clock)
        missed = started(client)

    assert while_up == again == ["all", "once", "skip"]
    assert later == missed == ["all"] * 4 + ["once"] * 2 + ["skip"]


def test_files_that_change_while_a_hub_is_up_start_a_process_and_others_do_not(home: Home) -> None:
    inbox = home.workspace / "inbox"
    with Service(home), connected(home) as client:
        submit(client, client.blobs, {"inbox.yaml": INBOX})
        paths = dropped(client, inbox)
        many = len(started(client))
    (inbox / "unseen.csv").write_text("1")
    with Service(home), connected(home) as client:
        paths += dropped(client, inbox)

    assert many >= 1
    assert "inbox/unseen.csv" not in paths
    assert len(paths) == len(set(paths))  # each file once


@pytest.mark.skipif(sys.platform == "darwin", reason="its file system takes UTF-8 alone")
def test_a_name_that_is_not_utf_8_hides_no_other_file(home: Home) -> None:
    inbox = home.workspace / "inbox"
    with Service(home), connected(home) as client:
        submit(client, client.blobs, {"inbox.yaml": INBOX})
        dropped(client, inbox)
        after = client.head

        (inbox / os.fsdecode(b"caf\xe9.csv")).write_text("1")
        (inbox / "beside.csv").write_text("1")
        until(lambda: "inbox/beside.csv" in _seen(client, after))
        (inbox / os.fsdecode(b"caf\xe9")).mkdir()
        (inbox / "later.csv").write_text("1")
        until(lambda: "inbox/later.csv" in _seen(client, after))

        (inbox / os.fsdecode(b"caf\xe9.csv")).unlink()
        (inbox / os.fsdecode(b"caf\xe9")).rmdir()
        (inbox / "last.csv").write_text("1")
        until(lambda: "inbox/last.csv" in _seen(client, after))
        found = [path for path in _seen(client, after) if "-" not in path]  # not of `dropped`

    assert sorted(found) == ["inbox/beside.csv", "inbox/last.csv", "inbox/later.csv"]


@pytest.mark.skipif(sys.platform == "darwin", reason="its file system takes UTF-8 alone")
def test_a_folder_that_was_there_with_such_a_name_hides_none_either(home: Home) -> None:
    inbox = home.workspace / "inbox"
    (inbox / os.fsdecode(b"caf\xe9")).mkdir()

    with Service(home), connected(home) as client:
        submit(client, client.blobs, {"inbox.yaml": INBOX})
        dropped(client, inbox)


def dropped(client: Client, inbox: Path) -> list[str]:
    """Drop files until one was seen; all paths that triggers had since."""
    after, count = client.head, 0
    while not (found := _seen(client, after)):
        # Until it is seen: the watch begins a moment after the process is compiled.
        (inbox / f"{after}-{count}.csv").write_text("1")
        count += 1
        assert count < 200
        feed = client.follow(("trigger.received", None), after=after)
        feed.next(0.5)
        feed.close()
    until(lambda: len(started(client)) > 0)
    return found


def _seen(client: Client, after: int) -> list[str]:
    found = [r for r in client.read(after=after) if r.topic == "trigger.received"]
    events = [client.vocabulary.read(record) for record in found]
    return [path for e in events if isinstance(e, TriggerReceived) for path in e.inputs["paths"]]
