"""The processes of the chaos test: `python chaos_roles.py ROLE HOME ...`; each may die any time.

A producer appends to a stream of its own, by expected version. A subscriber moves its cursor with
the record of what it saw. A worker finishes each claimed event with one of its own. So every event
has to be there once, in order, whoever was killed when.
"""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar

from cortex.bus import Client, ConflictError, CortexError, CursorError, Event
from cortex.bus.events import VOCABULARY
from cortex.runtime.kernel import Component, Delivery, Home, on
from cortex.runtime.serving import Service, hosted, hub_of

BATCH = 50  # events of one publish
JOB_EVERY = 10  # one in so many is work, too
AWAY_S = 0.05  # before whoever lost the hub looks for it again

Held = TypeVar("Held")


class Made(Event, frozen=True, kw_only=True, tag="x.chaos.made"):
    belongs = ("chaos", "producer")
    routing = "kind"

    producer: str
    n: int
    kind: str  # "job" for work


class Saw(Event, frozen=True, kw_only=True, tag="x.chaos.saw"):
    belongs = ("chaos-saw", "subscriber")

    subscriber: str
    positions: tuple[int, ...]


class Done(Event, frozen=True, kw_only=True, tag="x.chaos.done"):
    belongs = ("chaos-done", "producer")

    producer: str
    n: int


EVENTS = VOCABULARY.extended((Made, Saw, Done))


class Job(Component):
    """Takes what is work."""

    workers = 1
    lease_s = 1.0

    @on(Made, where={"kind": "job"})
    def work(self, event: Made, delivery: Delivery) -> Iterator[Event]:
        yield Done(producer=event.producer, n=event.n)


def serve(home: Home) -> None:
    """The hub."""
    with Service(home, components=()):
        until_told()


def work(home: Home) -> None:
    """A worker."""
    with reached(lambda: hosted([Job], hub_of(home), name="jobs")):
        until_told()


def produce(home: Home, name: str, count: int) -> None:
    """Append *count* events under *name*, those that are not there yet."""
    with reached(lambda: hub_of(home).dial(name, EVENTS)) as client:
        done = None
        while done is None or done < count:
            try:
                if done is None:
                    done = client.log.stream_version(f"chaos/{name}")
                    continue
                numbers = range(done + 1, min(done + BATCH, count) + 1)
                made = [made_by(name, n) for n in numbers]
                client.publish(*made, expected_version=done)
                done = numbers[-1]
            except ConflictError:
                done = None  # what went out before the hub was lost is there after all
            except CortexError:
                done = None
                time.sleep(AWAY_S)


def subscribe(home: Home, name: str, count: int, slow_s: float) -> None:
    """See every event once, in order, and say so with the move of the cursor."""
    with reached(lambda: hub_of(home).dial(name, EVENTS)) as client:
        seen = None
        while seen is None or seen < count:
            try:
                if seen is None:
                    held = client.subscribe(name, ("x.chaos.made", None), start="beginning")
                    seen = seen_by(client, name)
                    continue
                positions = tuple(record.position for record in held.next(1.0))
                time.sleep(slow_s)
                if positions:
                    held.commit(Saw(subscriber=name, positions=positions))
                    seen += len(positions)
            except CursorError:
                seen = None  # the commit before was taken, and its answer lost
            except CortexError:
                seen = None
                time.sleep(AWAY_S)


def made_by(name: str, n: int) -> Made:
    return Made(producer=name, n=n, kind="" if n % JOB_EVERY else "job")


def seen_by(client: Client, name: str) -> int:
    """How many events the subscriber has committed."""
    said = (EVENTS.read(record) for record in client.read_stream(f"chaos-saw/{name}"))
    return sum(len(event.positions) for event in said if isinstance(event, Saw))


@contextmanager
def reached(enter: Callable[[], AbstractContextManager[Held]]) -> Iterator[Held]:
    """Enter what *enter* gives, tried until the hub is there."""
    with ExitStack() as entered:
        while True:
            try:
                held = entered.enter_context(enter())
                break
            except CortexError:
                time.sleep(AWAY_S)
        yield held


def until_told() -> None:
    told = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: told.set())
    while not told.wait(0.2):
        pass


def main(role: str, folder: str, *rest: str) -> None:
    home = Home(Path(folder))
    if role == "hub":
        serve(home)
    elif role == "worker":
        work(home)
    elif role == "producer":
        produce(home, rest[0], int(rest[1]))
    else:
        subscribe(home, rest[0], int(rest[1]), float(rest[2]))


if __name__ == "__main__":
    main(*sys.argv[1:])
