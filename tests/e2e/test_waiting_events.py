"""What nothing answers yet waits in the log: through kills, once, and only so long."""

import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cortex.bus import Client, Event
from cortex.bus.events import (
    ComponentAnnounced,
    ComponentWithdrawn,
    ExecutionCompleted,
    ExecutionRequest,
    ExecutionStarted,
    TriggerMatched,
    TriggerReceived,
    TriggerUnmatched,
)
from cortex.runtime.serving import connected, found

from ..waiting import until
from .up_world import STUCK_S, Desk, opened

pytestmark = pytest.mark.once  # long waits, and commands that others run from the wheel

KILLS = 6
SEED = 13
GREETING = "process/greeting"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with opened(tmp_path) as desk:
        yield desk


def up(desk: Desk) -> int:
    done = desk.run("up", "--background", "--json")
    assert done.returncode == 0, done.stderr
    return int(json.loads(done.stdout)["pid"])


def kill(desk: Desk, pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    until(lambda: found(desk.home) is None)


def events(client: Client, *kinds: type[Event]) -> list[Any]:
    topics = {kind.topic_name() for kind in kinds}
    return [client.vocabulary.read(r) for r in client.read() if r.topic in topics]


def ids(desk: Desk, *kinds: type[Event]) -> Counter[str]:
    """How often there is one of *kinds*, by trigger."""
    with connected(desk.home) as client:
        return Counter(getattr(each, "trigger_id", "") for each in events(client, *kinds))


def _unmatched(desk: Desk, trigger_id: str) -> bool:
    return ids(desk, TriggerUnmatched)[trigger_id] > 0


def test_a_kill_between_an_event_and_its_process_loses_nothing_and_fires_nothing_twice(
    desk: Desk,
) -> None:
    chance, wanted = random.Random(SEED), []
    for n in range(KILLS):
        pid = up(desk)
        name = f"late{n}"
        with connected(desk.home) as client:
            client.publish(TriggerReceived(trigger_id=name, fields={"source": name}))
        until(partial(_unmatched, desk, name))
        if n % 2:
            kill(desk, pid)  # between the event and its process
        (desk.home.processes / f"{name}.yaml").write_text(
            f"process: {name}\nversion: 1\ntrigger: {{ type: event, match: {{ source: {name} }} }}"
            f"\nsteps:\n  - {{ id: say, action: shell, with: {{ run: echo one }} }}\n"
        )
        if n % 2 == 0:
            time.sleep(chance.random())  # somewhere between its process and the match
            kill(desk, pid)
        wanted.append(name)

    up(desk)
    until(lambda: len(ids(desk, TriggerMatched)) == len(wanted))

    def completed() -> bool:
        with connected(desk.home) as client:
            return len(events(client, ExecutionCompleted)) == len(wanted)

    until(completed)
    with connected(desk.home) as client:
        started = [e.process for e in events(client, ExecutionStarted)]
        asked = events(client, ExecutionRequest)
    assert ids(desk, TriggerMatched) == Counter(wanted)
    assert sorted(started) == wanted
    assert len(asked) == len(wanted)


def test_a_run_says_what_it_waits_for_and_begins_when_its_worker_comes(desk: Desk) -> None:
    up(desk)
    worker = desk.worker("steps:Greet")
    until(lambda: "greeting" in desk.run("process", "list").stdout)
    worker.send_signal(signal.SIGTERM)
    worker.wait(STUCK_S)
    until(lambda: _unlinked(desk))

    running = desk.begin("run", "greeting")
    assert running.stderr is not None
    said = ""
    while "is not there" not in said:
        said = running.stderr.readline()
        assert said, running.communicate()
    listed = json.loads(desk.run("execution", "list", "--json").stdout)
    desk.worker("steps:Greet")
    out, _ = running.communicate(timeout=STUCK_S)

    assert "greeting: action greet is not there; it waits 10 min 00 s for it to come" in said
    assert "greeting: action greet is not there" in listed[0]["waiting"]
    assert running.returncode == 0, out


def _unlinked(desk: Desk) -> bool:
    with connected(desk.home) as client:
        topics = [record.topic for record in client.read_stream(GREETING)]
    return bool(topics) and topics[-1] == "process.unlinked"


def test_ctrl_c_leaves_a_run_that_waits_for_its_process_to_the_hub(desk: Desk) -> None:
    up(desk)
    with connected(desk.home) as client:
        client.publish(ComponentAnnounced(component="Late", kind="action", name="greet"))
        until(lambda: [*client.read_stream(GREETING)])
        client.publish(ComponentWithdrawn(component="Late", kind="action", name="greet"))
    until(lambda: _unlinked(desk))

    running = desk.begin("run", "greeting")
    assert running.stderr is not None
    while "is not there" not in running.stderr.readline():
        assert running.poll() is None
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=STUCK_S)
    listed = json.loads(desk.run("execution", "list", "--json").stdout)
    cancelled = desk.run("execution", "cancel", listed[0]["id"])

    assert running.returncode == 130
    assert "waits on the hub; to look at it, or to cancel it, run" in said
    assert listed[0]["status"] == "requested"
    assert cancelled.returncode == 0, cancelled.stderr
