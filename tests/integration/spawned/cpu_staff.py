"""Components that run in spawned processes; imported by name, as a plugin's would be."""

import os
import signal
import sys
import time
from collections.abc import Iterator

import msgspec

from cortex.bus import Ephemeral, Event, Query
from cortex.runtime.kernel import Component, Delivery, Output, on


class SumAsked(Event, frozen=True, kw_only=True, tag="sum.asked"):
    of: tuple[int, ...]
    do: str = ""
    timeout_s: float | None = None


class SumTold(Event, frozen=True, kw_only=True, tag="sum.told"):
    total: int
    so_far: int
    pid: int
    attempt: int = 1


class SumSeen(Ephemeral, frozen=True, kw_only=True, tag="sum.seen"):
    of: tuple[int, ...]


class SumTotal(Query, frozen=True, kw_only=True, tag="sum.total"):
    fail: bool = False


class SumAnswer(Query, frozen=True, kw_only=True, tag="sum.answer"):
    so_far: int
    settings: dict[str, int]


class Listener(Component):
    """Knows every word; runs beside the hub."""

    @on(SumTold)
    @on(SumSeen)
    @on(SumAsked)
    def hear(self, event: Event, delivery: Delivery) -> None: ...

    @on(SumAnswer)
    def answer(self, event: SumAnswer, delivery: Delivery) -> None: ...


class Adder(Component):
    """Adds, and remembers the sum of all that it added."""

    cpu = True
    recalls = 1

    def __init__(self, settings: dict[str, int]) -> None:
        self._settings = settings
        self._so_far = 0

    @on(SumAsked)
    def add(self, event: SumAsked, delivery: Delivery) -> Iterator[Output]:
        print("this must not end up among the frames")  # noqa: T201
        yield SumSeen(of=event.of)
        misbehave(event, delivery)
        self._so_far += sum(event.of)
        yield SumTold(
            total=sum(event.of), so_far=self._so_far, pid=os.getpid(), attempt=delivery.attempt
        )

    @on(SumTotal)
    def total(self, event: SumTotal, delivery: Delivery) -> Iterator[Output]:
        if event.fail:
            raise ValueError("no total today")
        yield SumAnswer(so_far=self._so_far, settings=self._settings)

    def recall(self, event: Event, delivery: Delivery) -> None:
        assert isinstance(event, SumAsked)
        if event.do == "unrecallable":
            raise ValueError("cannot recall this")
        self._so_far += sum(event.of)

    def snapshot(self) -> bytes:
        return msgspec.msgpack.encode(self._so_far)

    def restore(self, snapshot: bytes) -> None:
        self._so_far = msgspec.msgpack.decode(snapshot, type=int)


class Adders(Adder):
    """The same as workers."""

    recalls = 0
    workers = 2
    lease_s = 0.3


class RestingAdder(Component):
    """One worker, which rests while it has nothing to add."""

    cpu = True
    workers = 1
    rests = True

    @on(SumAsked)
    def add(self, event: SumAsked, delivery: Delivery) -> Iterator[Output]:
        yield SumTold(total=sum(event.of), so_far=0, pid=os.getpid())


class NotStarting(Adder):
    def on_start(self) -> None:
        raise OSError("no such device")


def misbehave(event: SumAsked, delivery: Delivery) -> None:
    if event.do and "pytest" in sys.modules:
        raise AssertionError("this runs in the process of the tests, which it would end")
    if event.do == "bad":
        raise ValueError("a bad sum")
    if event.do == "exit":
        sys.exit(3)
    if event.do == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if event.do == "kill once" and delivery.attempt == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    if event.do == "hang once" and delivery.attempt == 1:
        while True:
            time.sleep(60)
