"""A handler that raises: where from is shown once a kind, kept when it is given up, and masked."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import msgspec
import pytest
import structlog

from cortex.bus import LogError, Publish
from cortex.runtime.kernel import Component, Delivery, Output, on

from .bus_world import PlanWrite, draft
from .kernel_world import Fed, fed

TRACEBACKS: Any = import_module("cortex.runtime.kernel.hosts.tracebacks")
KEY = "sk-proj-4f9aT8sPqLm2Xw7RvB3nYd6K"  # of the shape of a secret


class Raises(Component):
    """Raises far down."""

    @on(PlanWrite)
    def write(self, event: PlanWrite, delivery: Delivery) -> Iterator[Output]:
        if event.plan == "endless":
            self._endless(0, 1)
        self._deep(event)
        yield from ()

    def _deep(self, event: PlanWrite) -> None:
        try:
            raise KeyError(KEY)
        except KeyError as error:
            raise ValueError(f"{event.plan} with {KEY}") from error

    def _endless(self, depth: int, other: int) -> None:
        if depth > 400:
            raise ValueError("x" * 40_000)
        (self._endless if depth % 2 else self._again)(depth + 1, other)

    def _again(self, depth: int, other: int) -> None:
        self._endless(depth + 1, other)


class Kept:
    def __init__(self) -> None:
        self.texts: list[str] = []

    def put(self, data: bytes) -> str:
        self.texts.append(data.decode())
        return f"{len(self.texts):064d}"

    def full(self, data: bytes) -> str:
        raise LogError("the disk is full")


def failing(keep: Any) -> Fed:
    made = fed(Raises)
    traces = TRACEBACKS.Tracebacks("c", keep)
    made.feeding = msgspec.structs.replace(made.feeding, traces=traces)
    return made


def finished(made: Fed, kind: str, plan: str = "one") -> Any:
    made.run(made.ordered() if kind == "ordered" else made.work())  # subscribes
    made.world.one(Publish((draft(plan),)))
    with structlog.testing.capture_logs() as logs:
        for _ in range(3):
            made.run(made.ordered() if kind == "ordered" else made.work())
            made.world.later(60)
    (failed,) = made.failures()
    return failed, [each for each in logs if each["event"] == "handler_failed"]


@pytest.mark.parametrize("kind", ["ordered", "work"])
def test_an_event_that_is_given_up_names_where_its_exception_came_from(kind: str) -> None:
    kept = Kept()

    failed, logs = finished(failing(kept.put), kind)

    (text,) = kept.texts
    assert failed.trace == f"{1:064d}"
    assert text.startswith("Traceback (most recent call last):\n")
    assert ", in _deep" in text
    assert "KeyError" in text  # its cause as well
    assert "host.py" not in text  # it begins with the handler
    assert text.splitlines()[-1].startswith("ValueError: one with")
    assert KEY not in text
    assert [each["attempt"] for each in logs] == [1, 2, 3]
    assert [each.get("exception") for each in logs] == [text, None, None]  # each try failed alike


def test_an_event_is_given_up_even_where_nothing_can_be_kept() -> None:
    failed, _ = finished(failing(Kept().full), "ordered")

    assert failed.trace == ""
    assert failed.reason.startswith("ValueError")


def test_what_is_kept_of_an_exception_is_bounded() -> None:
    kept = Kept()

    finished(failing(kept.put), "ordered", "endless")

    (text,) = kept.texts
    assert len(text) < 17_000
    assert "characters left out" in text
