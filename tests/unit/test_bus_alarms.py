"""The thread of a clock: what it calls, when, and that it ends."""

import threading
from importlib import import_module
from typing import Any

import pytest

# An inner part of the bus: it is not shown at its front door.
alarms: Any = import_module("cortex.bus.alarms")


class Gate(threading.Condition):
    """A condition at which one thread stands until it is let in."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: threading.Thread | None = None
        self.arrived, self.opened = threading.Event(), threading.Event()

    def __enter__(self) -> bool:
        if threading.current_thread() is self.kept:
            self.arrived.set()
            self.opened.wait()
        return super().__enter__()


def test_it_ends_though_it_is_stopped_as_it_goes_to_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    # If it slept without another look at the stop, this would never end.
    monkeypatch.setattr(alarms, "LONGEST_S", 1e6)
    clock = alarms.ClockThread(lambda: 0)
    clock._changed = gate = Gate()
    gate.kept = clock._thread
    clock.begin()
    gate.arrived.wait()

    clock.stop()
    gate.opened.set()

    clock.join()


def test_calls_are_made_in_the_order_of_their_times() -> None:
    made: list[str] = []
    done = threading.Event()
    clock = alarms.ClockThread(lambda: 10)
    clock.alarm(3, done.set)
    clock.alarm(2, lambda: made.append("second"))
    clock.alarm(1, lambda: made.append("first"))

    clock.begin()
    done.wait()
    clock.stop()
    clock.join()

    assert made == ["first", "second"]


def test_what_was_stopped_before_it_began_calls_nobody() -> None:
    made: list[str] = []
    clock = alarms.ClockThread(lambda: 10)

    clock.stop()
    clock.alarm(1, lambda: made.append("called"))
    clock.begin()
    clock.join()

    assert made == []
