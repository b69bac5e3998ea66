"""An observer: sees executions end, whoever ran them, and says how many did."""

from collections.abc import Iterator

import msgspec

from cortex.bus import Event
from cortex.bus.events import ExecutionCompleted, ExecutionFailed
from cortex.runtime.kernel import Component, Delivery, on


class Tallied(Event, frozen=True, kw_only=True, tag="x.ticker.tallied"):
    """So many executions have ended so far, as far as this plugin saw."""

    belongs = ("ticker", "")

    completed: int
    failed: int


class Tally(Component):
    """Counts, in the order of the log."""

    recalls = 1  # after a restart it goes on counting where it was

    def __init__(self) -> None:
        self._count = Tallied(completed=0, failed=0)

    def recall(self, event: Event, delivery: Delivery) -> None:
        """Count what was seen before this start."""
        done = isinstance(event, ExecutionCompleted)
        change = msgspec.structs.replace
        if done:
            self._count = change(self._count, completed=self._count.completed + 1)
        else:
            self._count = change(self._count, failed=self._count.failed + 1)

    @on(ExecutionCompleted)
    @on(ExecutionFailed)
    def ended(self, event: Event, delivery: Delivery) -> Iterator[Event]:
        """Count it, and say so."""
        self.recall(event, delivery)
        yield self._count
