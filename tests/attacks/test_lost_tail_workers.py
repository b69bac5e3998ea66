"""Components that are fed by a hub elsewhere go back with a log that lost its tail, folds too."""

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from cortex.bus import Client, Event
from cortex.runtime.kernel import Component, Delivery, Later, Output, Worker, on
from cortex.runtime.log import EventLog, MemoryBlobs

from .lost_tail_world import LONG_S, WORDS, Machine, Said

LATER_NS = 3_000_000_000


class Counted(Event, frozen=True, kw_only=True, tag="x.tail.counted"):
    belongs = ("tail-counts", "")

    texts: tuple[str, ...]  # all that was said so far


COUNTS = WORDS.extended((Counted,))


class Counter(Component):
    """Keeps a fold of everything that was said, and says it after each."""

    start = "beginning"
    recalls = 1

    def __init__(self) -> None:
        self.texts: list[str] = []

    @on(Said)
    def count(self, event: Said, delivery: Delivery) -> Iterator[Counted]:
        self.texts.append(event.text)
        yield Counted(texts=tuple(self.texts))

    def recall(self, event: Event, delivery: Delivery) -> None:
        if isinstance(event, Said):
            self.texts.append(event.text)


class Reminder(Component):
    """Has it said in a while, by a deadline and nothing else; not before it may."""

    start = "beginning"
    begun, may = threading.Event(), threading.Event()

    @on(Said)
    def repeat(self, event: Said, delivery: Delivery) -> Iterator[Output]:
        self.begun.set()
        assert self.may.wait(LONG_S)
        yield Later("later", delivery.time_ns + LATER_NS, Counted(texts=(event.text,)))


@pytest.fixture(params=["ipc", "tls"])
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Machine]:
    made = Machine(request.param, tmp_path)
    yield made
    made.close()


def counts(client: Client) -> list[tuple[str, ...]]:
    found = (COUNTS.read(r) for r in client.read_stream("tail-counts"))
    return [event.texts for event in found if isinstance(event, Counted)]


def until_counted(client: Client, *texts: str) -> None:
    """Wait until the newest count is of *texts*."""
    over_s = time.monotonic() + LONG_S
    while counts(client)[-1:] != [texts]:
        assert time.monotonic() < over_s, counts(client)
        time.sleep(0.02)


def until_armed(machine: Machine) -> None:
    """Wait until a deadline is on the disk."""
    over_s = time.monotonic() + LONG_S
    while time.monotonic() < over_s:
        with closing(EventLog.open(machine.folder / "log.db", readonly=True)) as log:
            if log.state().deadlines:
                return
        time.sleep(0.02)
    raise AssertionError("no deadline came")


def test_a_fold_of_lost_events_is_made_anew(machine: Machine) -> None:
    client, first = machine.client("counter"), machine.client("first")
    with Worker([Counter], hub=client.hub, log=client.log, blobs=MemoryBlobs(), name="counter"):
        first.publish(Said(text="a"))
        until_counted(first, "a")
        machine.save()
        first.publish(Said(text="lost"), Said(text="lost"))
        until_counted(first, "a", "lost", "lost")

        machine.lose_tail()
        machine.start()
        other = machine.client("other")
        other.publish(Said(text="x"))
        until_counted(other, "a", "x")
        other.publish(Said(text="y"))
        until_counted(other, "a", "x", "y")

    assert counts(other) == [("a",), ("a", "x"), ("a", "x", "y")]


def test_what_came_of_an_event_comes_again_where_only_that_was_lost(machine: Machine) -> None:
    Reminder.begun.clear()
    Reminder.may.clear()
    client, first = machine.client("reminder"), machine.client("first")
    with Worker([Reminder], hub=client.hub, log=client.log, blobs=MemoryBlobs(), name="reminder"):
        first.publish(Said(text="a"))
        assert Reminder.begun.wait(LONG_S)
        machine.save()
        Reminder.may.set()
        until_armed(machine)

        machine.lose_tail()
        machine.start()
        other = machine.client("other")
        until_counted(other, "a")

    assert counts(other) == [("a",)]
