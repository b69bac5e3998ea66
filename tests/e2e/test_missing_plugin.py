"""A run whose plugin or worker is gone says at once what it waits for, and how to get it back."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from cortex.plugins.host import unavailable

from .up_world import STUCK_S, Desk, opened

UNCONFINED = () if not unavailable() else ("--unconfined",)
CODE = """
from cortex.bus.events import StepCompleted, StepExecute
from cortex.plugins import Manifest
from cortex.runtime.kernel import Component, Serves, on


class Plugged(Component):
    workers = 1
    serves = (Serves("action", "plugged", effect="none"),)

    @on(StepExecute, where={"action": "plugged"})
    def take(self, event, delivery):
        yield StepCompleted(
            execution_id=event.execution_id, step_id=event.step_id, result={"text": "done"}
        )


PLUGIN = Manifest(
    name="sockets", version="1.0.0", cortex=">=0.1", components=("sockets:Plugged",),
    subscribes=("step.execute=plugged",), publishes=("step.completed",),
)
"""
PROCESS = "process: plugs\nversion: 1\nsteps:\n  - { id: a, action: plugged }\n"
LOAD = ("plugin", "load", "sockets", "--yes", *UNCONFINED)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A home on which a hub is up, whose plugin was loaded, used and unloaded."""
    with opened(tmp_path_factory.mktemp("missing")) as desk:
        desk.install("sockets", CODE)
        desk.serve()
        loaded = desk.run(*LOAD)
        assert loaded.returncode == 0, loaded.stderr
        (desk.home.processes / "plugs.yaml").write_text(PROCESS)
        assert desk.run("run", "plugs").returncode == 0
        assert desk.run("plugin", "unload", "sockets").returncode == 0
        yield desk


def said_by(process: Any, word: str) -> str:
    """What stands on its standard error once *word* does."""
    said = ""
    while word not in said:
        line = process.stderr.readline()
        assert line, said
        said += line
    return said


@pytest.mark.parametrize("more", [(), ("--json",), ("--quiet",)])
def test_a_run_says_at_once_what_it_waits_for_and_goes_on_when_that_is_back(
    more: tuple[str, ...], desk: Desk
) -> None:
    running = desk.begin("run", "plugs", *more)
    said = said_by(running, "--wait")
    ((_, (row, *_), _), (_, shown, _)) = desk.many(("execution", "list"), ("status",))
    assert desk.run(*LOAD).returncode == 0
    out, _ = running.communicate(timeout=STUCK_S)
    assert desk.run("plugin", "unload", "sockets").returncode == 0

    assert "plugs: action plugged is not there" in said
    assert "10 min" in said
    assert "--wait" in said
    assert "cortex plugin load sockets" in said
    assert "plugs: action plugged is not there" in row["waiting"]
    assert (running.returncode, "completed" in out) == (0, True)
    assert shown["up"]


def test_a_run_that_is_not_to_wait_fails_at_once_with_what_is_missing(desk: Desk) -> None:
    began = time.monotonic()
    done = desk.run("run", "plugs", "--wait", "0", "--json")

    assert done.returncode == 1
    assert json.loads(done.stdout)["status"] == "failed"
    assert "action plugged is not there" in json.loads(done.stdout)["reason"]
    assert time.monotonic() - began < STUCK_S / 2
    assert desk.run("run", "plugs", "--wait", "-1").returncode == 2


def test_a_run_that_is_left_while_it_waits_names_what_can_be_done_with_it(desk: Desk) -> None:
    running = desk.begin("run", "plugs", "--json")
    said_by(running, "plugin load")
    running.terminate()
    out, err = running.communicate(timeout=STUCK_S)
    left = json.loads(out)
    cancelled = desk.run("execution", "cancel", left["id"])

    assert "plugs: action plugged is not there" in left["waiting"]
    assert f"cortex execution cancel {left['id']}" in err
    assert "execution pause" not in err
    assert cancelled.returncode == 0


def test_what_a_worker_served_names_its_component(desk: Desk) -> None:
    worker = desk.worker("steps:Greet")
    assert desk.run("run", "greeting").returncode == 0
    worker.terminate()
    worker.communicate()
    running = desk.begin("run", "greeting")

    said = said_by(running, "cortex worker")
    running.terminate()
    running.communicate(timeout=STUCK_S)

    assert "start the worker that hosts Greet" in said


def test_a_worker_is_said_to_need_a_hub_where_none_is_up(desk: Desk) -> None:
    worker = desk.worker("steps:Greet")
    assert desk.run("run", "greeting").returncode == 0
    worker.terminate()
    worker.communicate()
    with_a_hub = desk.run("run", "greeting", "--wait", "0.1")
    assert desk.run("down").returncode == 0
    alone = desk.run("run", "greeting", "--wait", "0.1")
    desk.serve()

    hint = "no hub is up that a worker could connect to: `cortex up --background`, then start it"
    assert "start the worker that hosts Greet: cortex worker MODULE:NAME" in alone.stderr
    assert hint in alone.stderr
    assert hint not in with_a_hub.stderr
