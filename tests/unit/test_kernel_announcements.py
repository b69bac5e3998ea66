"""What components announce is told to the log when it has changed, and only then."""

from collections.abc import Iterator

import msgspec

from cortex.bus.events import StepExecute
from cortex.runtime.kernel import Component, Delivery, Output, Runtime, Serves, on


class Parts(msgspec.Struct, frozen=True):
    lines: tuple[int, ...] = ()  # a default that comes back from the log as a list


class Reader(Component):
    serves = (Serves("action", "read", Parts, Parts, traits={"sizes": (1, 2)}),)

    @on(StepExecute, where={"action": "read"})
    def read(self, event: StepExecute, delivery: Delivery) -> Iterator[Output]:
        yield from ()


def test_defaults_and_traits_that_are_tuples_are_announced_once() -> None:
    first = Runtime(components=[Reader])
    with first:
        pass
    with Runtime(components=[Reader], log=first.log) as runtime:
        found = list(runtime.client("me").read_stream("registry"))

    assert [record.topic for record in found] == ["component.announced"]
