"""A parked event of a component that a plugin or a worker hosts: handled once more, or dropped."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from cortex.bus import as_map
from cortex.bus.events import TriggerReceived
from cortex.plugins.host import unavailable
from cortex.runtime.serving import connected

from ..waiting import until
from .up_world import STUCK_S, Desk, opened

UNCONFINED = () if not unavailable() else ("--unconfined",)
CODE = '''
import os, time
from cortex.bus import Event
from cortex.bus.events import StepExecute, TriggerReceived
from cortex.plugins import Manifest
from cortex.runtime.kernel import Component, Serves, on


class Took(Event, frozen=True, kw_only=True, tag="x.picky.took"):
    belongs = ("picky", "")
    trigger: str
    by: str


class {name}(Component):
    """Takes nothing at the first try."""

    max_attempts = 1

    @on(TriggerReceived)
    def take(self, event, delivery):
        if event.goal and event.goal != "{name}":
            return
        if delivery.attempt < 2:
            raise ValueError("{name} cannot take it")
        yield Took(trigger=event.trigger_id, by="{name}")


PLUGIN = Manifest(
    name="picky", version="1.0.0", cortex=">=0.1", components=("picky:{name}",),
    subscribes=("trigger.received",), publishes=("x.picky.took",),
)
'''
HOLDING = '''

class Holding(Component):
    """Takes nothing before a file is there; the first that does holds on to it."""

    @on(TriggerReceived)
    def take(self, event, delivery):
        if event.goal != "Holding":
            return
        if not os.path.exists("open"):
            raise ValueError("it is not open")
        try:
            with open("held", "x") as file:
                file.write(str(os.getpid()))
        except FileExistsError:
            yield Took(trigger=event.trigger_id, by="Holding")
        else:
            time.sleep(600)


class Dying(Component):
    workers = 1
    max_attempts = 1
    serves = (Serves("action", "die", effect="none"),)

    @on(StepExecute, where={"action": "die"})
    def die(self, event, delivery):
        raise ValueError("never")
'''


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A home on which a hub is up, a plugin is loaded and a worker works."""
    with opened(tmp_path_factory.mktemp("parked")) as desk:
        desk.install("picky", CODE.format(name="Plugged"))
        (desk.folder / "working.py").write_text(CODE.format(name="Working") + HOLDING)
        desk.serve()
        loaded = desk.run("plugin", "load", "picky", "--yes", *UNCONFINED)
        assert loaded.returncode == 0, loaded.stderr
        desk.worker("working:Working")
        yield desk


def parked(desk: Desk) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(desk.run("events", "parked", "--json").stdout)
    return rows


def happen(desk: Desk, trigger_id: str, component: str) -> int:
    """Let something happen that *component* gives up; its position."""
    with connected(desk.home) as client:
        event = TriggerReceived(trigger_id=trigger_id, fields={"a": 1}, goal=component, waits=False)
        position = client.publish(event)
    until(lambda: any(row["position"] == position for row in parked(desk)))
    return position


def took(desk: Desk) -> list[tuple[str, str]]:
    with connected(desk.home) as client:
        said = [as_map(r) for r in client.read() if r.topic == "x.picky.took"]
    return [(each["trigger"], each["by"]) for each in said]


@pytest.mark.parametrize("component", ["Plugged", "Working"])
def test_a_parked_event_is_handled_once_more_by_the_plugin_or_worker_that_gave_it_up(
    component: str, desk: Desk
) -> None:
    position = happen(desk, f"again-{component}", component)

    done = desk.run("events", "retry", str(position))

    assert (done.returncode, done.stderr) == (0, "")
    assert f"{component} handled event {position}" in done.stdout
    assert parked(desk) == []
    assert took(desk).count((f"again-{component}", component)) == 1


@pytest.mark.parametrize("component", ["Plugged", "Working"])
def test_a_dropped_event_of_a_plugin_or_worker_is_never_handled(component: str, desk: Desk) -> None:
    position = happen(desk, f"dropped-{component}", component)

    done = desk.run("events", "drop", str(position))

    assert (done.returncode, parked(desk)) == (0, [])
    assert (f"dropped-{component}", component) not in took(desk)


def test_what_two_gave_up_is_handled_by_the_one_that_is_asked(desk: Desk) -> None:
    position = happen(desk, "both", "")
    until(lambda: len(parked(desk)) == 2)

    refused = desk.run("events", "retry", str(position))
    done = desk.run("events", "retry", str(position), "--component", "Working")
    (left,) = parked(desk)
    dropped = desk.run("events", "drop", str(position))

    assert refused.returncode == 1
    assert "name one with --component" in refused.stderr
    assert (done.returncode, left["component"], dropped.returncode) == (0, "Plugged", 0)
    assert [by for trigger, by in took(desk) if trigger == "both"] == ["Working"]


def test_a_worker_that_is_killed_while_it_tries_again_leaves_that_to_the_next_one(
    desk: Desk,
) -> None:
    worker = desk.worker("working:Holding")
    position = happen(desk, "killed", "Holding")
    (desk.folder / "open").touch()
    asked = desk.begin("events", "retry", str(position))
    until(lambda: (desk.folder / "held").exists())

    worker.kill()
    worker.communicate()
    desk.worker("working:Holding")
    out, err = asked.communicate(timeout=STUCK_S)

    assert (asked.returncode, err) == (0, "")
    assert f"Holding handled event {position}" in out
    assert took(desk).count(("killed", "Holding")) == 1
    assert parked(desk) == []


def test_a_step_that_was_given_up_names_its_execution_until_that_has_ended(desk: Desk) -> None:
    (desk.home.processes / "dies.yaml").write_text(
        "process: dies\nversion: 1\nsteps:\n  - { id: a, action: die }\n"
    )
    desk.worker("working:Dying")
    asked = desk.run("run", "dies", "--json")
    execution = json.loads(asked.stdout)["id"]

    (halted,) = parked(desk)
    refused = desk.run("events", "retry", str(halted["position"]))
    assert desk.run("execution", "cancel", execution).returncode == 0
    (ended,) = parked(desk)
    dropped = desk.run("events", "drop", str(halted["position"]))

    assert halted["remedy"] == f"cortex execution resume {execution}"
    assert (refused.returncode, halted["remedy"] in refused.stderr) == (1, True)
    assert "is cancelled and does not wait for it" in ended["remedy"]
    assert (dropped.returncode, parked(desk)) == (0, [])
