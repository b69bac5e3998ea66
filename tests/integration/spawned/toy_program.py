"""A runtime on a real home: orders are led through steps, each with an effect in the world.

`toy_program.py HOME FIRST ORDERS STEPS` publishes the orders from number FIRST on, and ends when
all of them are finished. It says a line about everything it did.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from cortex.bus import Appended, Draft, Event, Publish
from cortex.runtime.kernel import Component, Delivery, Forget, Home, Later, Output, Runtime, on

SECOND_NS = 1_000_000_000


class OrderPlaced(Event, frozen=True, kw_only=True, tag="order.placed"):
    belongs = ("order", "order")

    order: str
    steps: int


class StepAsked(Event, frozen=True, kw_only=True, tag="order.step_asked"):
    belongs = ("order", "order")

    order: str
    step: int
    steps: int


class StepDone(Event, frozen=True, kw_only=True, tag="order.step_done"):
    belongs = ("order", "order")

    order: str
    step: int
    steps: int
    effect: str


class OrderFinished(Event, frozen=True, kw_only=True, tag="order.finished"):
    belongs = ("order", "order")

    order: str


class OrderLate(Event, frozen=True, kw_only=True, tag="order.late"):
    belongs = ("order", "order")

    order: str


class Leader(Component):
    """Leads orders; that it goes on after a kill is due to its fold, which it recalls."""

    recalls = 1
    max_attempts = 1_000  # a kill is nobody's fault here

    def __init__(self) -> None:
        self._done: dict[str, int] = {}

    @on(OrderPlaced)
    @on(StepDone)
    @on(OrderLate)
    def lead(self, event: Event, delivery: Delivery) -> Iterator[Output]:
        self.recall(event, delivery)
        if isinstance(event, OrderPlaced):
            late_ns = delivery.time_ns + 3_600 * SECOND_NS
            yield Later(f"late/{event.order}", late_ns, OrderLate(order=event.order))
        if isinstance(event, OrderPlaced | StepDone):
            step = self._done[event.order] + 1
            if step <= event.steps:
                yield StepAsked(order=event.order, step=step, steps=event.steps)
            else:
                yield Forget(f"late/{event.order}")
                yield OrderFinished(order=event.order)

    def recall(self, event: Event, delivery: Delivery) -> None:
        if isinstance(event, OrderPlaced):
            self._done[event.order] = 0
        elif isinstance(event, StepDone):
            self._done[event.order] += 1


class Doer(Component):
    """Does steps: a line in a file each, unless the line is there already."""

    workers = 2
    max_attempts = 1_000

    def __init__(self, home: Home) -> None:
        self._effects = home.path / "effects.txt"

    @on(StepAsked)
    def do(self, event: StepAsked, delivery: Delivery) -> Iterator[Output]:
        key = delivery.effect_key()
        if key not in self._effects_so_far():
            with self._effects.open("a") as effects:
                effects.write(f"{key}\n")
            say("effect", key)
        yield StepDone(order=event.order, step=event.step, steps=event.steps, effect=key)

    def _effects_so_far(self) -> list[str]:
        return self._effects.read_text().splitlines() if self._effects.exists() else []


class Watcher(Component):
    """Knows the one word that nobody else handles."""

    @on(OrderFinished)
    def finished(self, event: OrderFinished, delivery: Delivery) -> None: ...


def say(*words: object) -> None:
    """One line, in one write: a kill leaves it whole or out."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def main(path: str, first: int, orders: int, steps: int) -> None:
    """Publish what was not acknowledged yet, and wait for everything to be finished."""
    with Runtime(Home.create(Path(path)), components=[Leader, Doer, Watcher]) as runtime:
        say("ready")
        for number in range(first, orders + 1):
            placed = Draft.of(OrderPlaced(order=str(number), steps=steps))
            # Numbered: whether an earlier life got it recorded is for the hub to know.
            answer = runtime.hub.ask_one("shop", Publish((placed,), number))
            if isinstance(answer, Appended):
                say("acknowledged", number, answer.first)
        feed, finished = runtime.client("shop").follow(("order.finished", None), after=0), 0
        while finished < orders:
            finished += len(feed.next(30.0))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
