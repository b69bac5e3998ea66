"""A runtime of a test: all of it in memory, on a clock that the test moves."""

import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec

from cortex.bus import Client, Event, Subscribe, lasting, steady_s
from cortex.runtime.kernel import Config, Runtime
from cortex.runtime.log import Blobs

from .calling import VirtualClock

PATIENCE_S = 30.0  # of real time; nothing in memory takes as long
LOOK_S = 0.002

Kind = TypeVar("Kind", bound=Event)


class RuntimeInMemory:
    """A started runtime and a client of it."""

    def __init__(self, runtime: Runtime, clock: VirtualClock) -> None:
        self.runtime, self.clock = runtime, clock
        self.client: Client = runtime.client("test")
        self._arrived = threading.Event()
        self._seen: dict[type[Event], int] = {}  # position of the last one that `wait_for` returned
        everything = Subscribe("test/all", "ordered", (("*", None),), lasting=False)
        runtime.hub.ask_one("test", everything)
        runtime.hub.watch("test/all", self._arrived.set)

    @property
    def blobs(self) -> Blobs:
        """Large payloads by digest."""
        return self.runtime.blobs

    def publish(self, *events: Event) -> int:
        """Append *events* together; the position of the last one."""
        return self.client.publish(*events)

    def advance(self, seconds: float) -> None:
        """Let so much time pass: what is due within it happens now."""
        self.clock.advance(seconds)
        self.runtime.look_at_clock()

    def wait_for_deadline(self, name: str) -> float:
        """How many seconds the deadline of that name (of a `Later`) is away, once it is recorded.

        Raises:
            AssertionError: Nobody records one.
        """
        until_s = steady_s() + PATIENCE_S
        while steady_s() < until_s:
            for deadline in self.runtime.log.state().deadlines:
                if deadline.name == name:
                    return (deadline.due_ns - self.clock.now_ns()) / 1e9
            time.sleep(lasting(LOOK_S))  # no event tells of it
        raise AssertionError(f"no deadline {name!r} was recorded")

    def events(self, kind: type[Kind], after: int = 0) -> list[Kind]:
        """Every event of a class so far, in the order of the log."""
        return [event for _, event in self._read(kind, after)]

    def wait_for(self, kind: type[Kind], **fields: Any) -> Kind:
        """The next event of a class, after the one that this returned last.

        Args:
            kind: The class.
            fields: What it must hold, as `step_id="a"`.

        Raises:
            AssertionError: None comes.
        """
        until_s = steady_s() + PATIENCE_S
        while True:
            self._arrived.clear()
            for position, event in self._read(kind, self._seen.get(kind, 0)):
                self._seen[kind] = position
                if all(getattr(event, name) == value for name, value in fields.items()):
                    return event
            left_s = until_s - steady_s()
            if left_s <= 0 or not self._arrived.wait(lasting(left_s)):
                there = ", ".join(record.topic for record in self.client.read())
                raise AssertionError(f"no {kind.topic_name()} came; the log holds {there}")

    def _read(self, kind: type[Kind], after: int) -> Iterator[tuple[int, Kind]]:
        for record in self.client.read(after):
            if record.topic == kind.topic_name():
                yield record.position, msgspec.msgpack.decode(record.body, type=kind)


@contextmanager
def runtime(
    *components: Any, config: Config | None = None, clock: VirtualClock | None = None
) -> Generator[RuntimeInMemory, None, None]:
    """A runtime of *components* and nothing else, until the block is left.

    Args:
        components: Decorated functions, classes, entries or import strings; none of them in a
            process of its own, since there is no home.
        config: What config.toml would say.
        clock: Where the time comes from; unless given, one that stands still until `advance`.
    """
    own = clock or VirtualClock()
    with Runtime(components=components, config=config, clock=own) as started:
        yield RuntimeInMemory(started, own)
