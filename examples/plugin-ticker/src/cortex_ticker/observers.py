"""An observer: sees executions end, whoever ran them, and says how many did."""

from collections.abc import Iterator

import msgspec

import cortex
from cortex.events import ExecutionCompleted, ExecutionFailed


class Tallied(cortex.Event, frozen=True, kw_only=True, tag="x.ticker.tallied"):
    """So many executions have ended so far, as far as this plugin saw."""

    belongs = ("ticker", "")

    completed: int
    failed: int


class Tally(cortex.Component):
    """Counts, in the order of the log: a class, since it keeps the count."""

    recalls = 1  # after a restart it goes on counting where it was

    def __init__(self) -> None:
        self._count = Tallied(completed=0, failed=0)

    def recall(self, event: cortex.Event, delivery: cortex.Delivery) -> None:
        """Count what was seen before this start."""
        count = self._count
        if isinstance(event, ExecutionCompleted):
            self._count = msgspec.structs.replace(count, completed=count.completed + 1)
        else:
            self._count = msgspec.structs.replace(count, failed=count.failed + 1)

    @cortex.on(ExecutionCompleted)
    @cortex.on(ExecutionFailed)
    def ended(self, event: cortex.Event, delivery: cortex.Delivery) -> Iterator[Tallied]:
        """Count it, and say so."""
        self.recall(event, delivery)
        yield self._count
