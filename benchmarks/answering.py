"""The component of `bench_hosts`, in a module that its child processes can import."""

from collections.abc import Iterator

from cortex.bus import Event
from cortex.runtime.kernel import Component, Delivery, on


class Asked(Event, frozen=True, kw_only=True, tag="x.hosts.asked"):
    """A question."""

    number: int


class Told(Event, frozen=True, kw_only=True, tag="x.hosts.told"):
    """Its answer."""

    number: int


class Here(Component):
    """Answers each question, on a thread."""

    @on(Asked)
    def hear(self, event: Asked, _: Delivery) -> Iterator[Event]:
        """Answer it."""
        yield Told(number=event.number)


class Apart(Here):
    """The same in a process of its own."""

    cpu = True
