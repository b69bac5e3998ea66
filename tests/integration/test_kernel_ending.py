"""A runtime ends at once, whatever its components are still to read of the log."""

import threading
import time
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import pykka
import pytest
from structlog.testing import capture_logs

from cortex.bus import Event
from cortex.runtime.kernel import Component, Delivery, Home, Runtime, on

from .kernel_staff import PATIENCE_S, JobAsked, Vocal

EVENTS = 4_000
PAGE = 50
EACH_S = 0.005  # 20 s for all of them, four times what a runtime waits for its components


class Slow(Component):
    recalls = 1
    began: ClassVar[threading.Event] = threading.Event()
    seen: ClassVar[list[int]] = []

    @on(JobAsked)
    def work(self, event: JobAsked, delivery: Delivery) -> None:
        pass

    def recall(self, event: Event, delivery: Delivery) -> None:
        Slow.seen.append(delivery.position)
        Slow.began.set()
        time.sleep(EACH_S)


def test_a_component_on_its_way_back_holds_up_no_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cortex.runtime.kernel.shells.recall.PAGE", PAGE)
    home = Home.create(tmp_path / ".cortex")
    with Runtime(home, components=[Vocal]) as runtime:
        me = runtime.client("me")
        for _ in range(EVENTS // 500):
            me.publish(*[JobAsked() for _ in range(500)])

    with capture_logs() as said, Runtime(home, components=[Vocal, Slow]):
        assert Slow.began.wait(PATIENCE_S)

    assert [each["event"] for each in said if each["log_level"] != "info"] == []
    assert len(Slow.seen) < EVENTS


class Stoppable:
    """The host of a component that fails, and what became of it."""

    def __init__(self) -> None:
        self.stops = 0
        self.stopped = threading.Event()

    def start(self) -> None:
        pass

    def share(self) -> None:
        pass

    def answer(self, query: Event) -> Event:
        raise AssertionError(query)

    def is_kept(self) -> bool:
        return False

    def stop(self) -> None:
        self.stops += 1
        self.stopped.set()


class Unwritable:
    """A log whose output is closed."""

    def warning(self, event: str, **fields: Any) -> None:
        raise ValueError("I/O operation on closed file")


def test_a_host_is_stopped_whoever_ends_its_shell(tmp_path: Path) -> None:
    host = Stoppable()
    with Runtime(Home.create(tmp_path / ".cortex"), components=[]) as runtime:
        shell(runtime, host, None).stop()  # as whoever stops all actors of the process does

        assert host.stopped.wait(PATIENCE_S)
        assert host.stops == 1


def test_a_host_is_stopped_although_its_failure_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = Stoppable()
    shells = import_module("cortex.runtime.kernel.shells.shell")
    monkeypatch.setattr(shells, "log", Unwritable())
    with Runtime(Home.create(tmp_path / ".cortex"), components=[]) as runtime:
        failing = shell(runtime, host, (1 / 0 for _ in (1,)))

        assert host.stopped.wait(PATIENCE_S)
        assert failing.actor_stopped.wait(PATIENCE_S)
        assert host.stops == 1


def shell(runtime: Runtime, host: Any, program: Any) -> pykka.ActorRef[Any]:
    shells = import_module("cortex.runtime.kernel.shells.shell")
    leases = import_module("cortex.runtime.kernel.shells.leases")
    hooks = shells.Hooks(lambda: None, lambda _: None, lambda: None, lambda _: True)
    held = leases.Leases(runtime.hub)
    started: pykka.ActorRef[Any] = shells.Shell.start(
        "Stopped", runtime.hub, host, program, hooks, held, shells.Pulse()
    )
    return started
