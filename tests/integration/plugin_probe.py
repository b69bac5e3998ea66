"""A plugin that looks around, reaches, crashes, floods and hangs, as it is told; tests load it."""

import hashlib
import os
import resource
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from cortex.bus import CortexError, Event, Query
from cortex.bus.events import (
    ExecutionCompleted,
    StepCompleted,
    StepExecute,
    TriggerReceived,
)
from cortex.plugins import FileWant, Limits, Manifest, Wants
from cortex.runtime.kernel import Component, Delivery, Serves, on

SUBSCRIBES = ("step.execute=look", "step.execute=act", "execution.completed", "x.probe.count")
PUBLISHES = ("step.completed", "x.probe.said")

PLUGIN = Manifest(
    name="probe",
    version="1.0.0",
    cortex=">=0.1",
    components=("plugin_probe:Look", "plugin_probe:Act", "plugin_probe:Observer"),
    subscribes=SUBSCRIBES,
    publishes=PUBLISHES,
    wants=Wants(files=(FileWant("./given", "write"),), secrets=("PROBE_TOKEN",), network=True),
    limits=Limits(events_per_s=200),
)
FRAGILE = Manifest(
    name="fragile",
    version="1.0.0",
    cortex=">=0.1",
    components=("plugin_probe:Fragile",),
    subscribes=("step.execute=fragile",),
    publishes=("step.completed",),
    limits=Limits(restarts=0, events_per_s=20),
)
STURDY = msgspec.structs.replace(FRAGILE, name="sturdy", effects={"fragile": "idempotent"})
SLEEPER = msgspec.structs.replace(FRAGILE, name="sleeper", limits=Limits(restarts=0, silent_s=5.0))
ODD = Manifest(
    name="odd",
    version="1.0.0",
    cortex=">=99",
    components=("plugin_probe:Look", "plugin_probe:Nobody"),
)


class Said(Event, frozen=True, kw_only=True, tag="x.probe.said"):
    """Something of the plugin's own."""

    belongs = ("probe", "")

    number: int


class ProbeCount(Query, frozen=True, kw_only=True, tag="x.probe.count"):
    """Ask it to count on."""

    number: int


class ProbeCounted(Query, frozen=True, kw_only=True, tag="x.probe.counted"):
    """One more."""

    number: int


class Look(Component):
    """Says what it can see."""

    workers = 1
    serves = (Serves("action", "look"),)

    @on(StepExecute, where={"action": "look"})
    def look(self, event: StepExecute, delivery: Delivery) -> Iterator[Event]:
        """Look around."""
        asked: dict[str, Any] = event.parameters
        seen = {
            "environment": sorted(os.environ),
            "token": hashlib.sha256(os.environ.get("PROBE_TOKEN", "").encode()).hexdigest(),
            "there": [path for path in asked["paths"] if _readable(Path(path))],
            "written": [path for path in asked["write"] if _writable(Path(path) / "probe")],
            "network": _reaches(asked["port"]),
            "bounds": {name: _hard(name) for name in ("DATA", "NOFILE", "NPROC", "CORE")},
            "scratch": [os.statvfs(path).f_blocks for path in ("/tmp", "/dev/shm")],
            "devices": _writable(Path("/dev/probe")),
            "processes": sum(each.name.isdecimal() for each in Path("/proc").iterdir()),
        }
        yield done(event, seen)


class Act(Component):
    """Wants more than it was granted."""

    workers = 1
    lease_s = 1.0
    serves = (Serves("action", "act", effect="idempotent"),)

    def __init__(self, publish: Callable[..., int], history: Callable[[str], Any]) -> None:
        self._publish, self._history = publish, history

    @on(StepExecute, where={"action": "act"})
    def act(self, event: StepExecute, delivery: Delivery) -> Iterator[Event]:
        """Reach; the first time it may be told to crash instead."""
        if event.parameters.get("die") and delivery.attempt == 1:
            os._exit(4)
        print("the token is", os.environ.get("PROBE_TOKEN", ""))  # noqa: T201  # goes to its log
        reached = {
            "trigger": _said(lambda: self._publish(TriggerReceived(trigger_id="1", fields={}))),
            "own": _said(lambda: self._publish(Said(number=1))),
            "registry": _said(lambda: len(list(self._history("registry")))),
        }
        yield done(event, reached)


class Observer(Component):
    """Sees executions come to their end, and says so."""

    @on(ExecutionCompleted)
    def completed(self, event: ExecutionCompleted, delivery: Delivery) -> Iterator[Event]:
        """Say so."""
        yield Said(number=delivery.position)

    @on(ProbeCount)
    def count(self, event: ProbeCount, delivery: Delivery) -> Iterator[Event]:
        """Answer."""
        yield ProbeCounted(number=event.number + 1)


class Fragile(Component):
    """Ends as it is told."""

    workers = 1
    lease_s = 1.0
    serves = (Serves("action", "fragile"),)

    def __init__(self, publish: Callable[..., int]) -> None:
        self._publish = publish

    @on(StepExecute, where={"action": "fragile"})
    def end(self, event: StepExecute, delivery: Delivery) -> Iterator[Event]:
        """End."""
        how = event.parameters["how"]
        if how == "die":
            os._exit(4)
        if how == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        while how == "hang":
            time.sleep(1)
        while how == "flood":
            self._publish(*50 * [done(event, {})])
        yield done(event, {})


def _hard(name: str) -> int:
    return resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[1]


def done(event: StepExecute, result: dict[str, Any]) -> StepCompleted:
    """The answer to *event*."""
    return StepCompleted(execution_id=event.execution_id, step_id=event.step_id, result=result)


def _readable(path: Path) -> bool:
    try:
        return bool(path.read_text()) if path.is_file() else bool(list(path.iterdir()))
    except OSError:
        return False


def _writable(path: Path) -> bool:
    try:
        path.write_text("x")
    except OSError:
        return False
    return True


def _reaches(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 5).close()
    except OSError:
        return False
    return True


def _said(act: Callable[[], Any]) -> str:
    try:
        return f"{act()}"
    except CortexError as error:
        return type(error).__name__
