"""A gate: `even_minute`."""

from collections.abc import Iterator

from cortex.bus import Event
from cortex.bus.events import GateEvaluate, GateEvaluated
from cortex.runtime.kernel import Component, Delivery, Serves, on

MINUTE_NS = 60_000_000_000


class EvenMinute(Component):
    """Passes in every other minute."""

    workers = 1
    serves = (Serves("gate", "even_minute", traits={"read_only": True}),)

    @on(GateEvaluate, where={"gate": "even_minute"})
    def evaluate(self, event: GateEvaluate, delivery: Delivery) -> Iterator[Event]:
        """Look at when the question was recorded: a replay gets the same answer."""
        minute = delivery.time_ns // MINUTE_NS
        even = minute % 2 == 0
        yield GateEvaluated(
            execution_id=event.execution_id,
            gate=event.gate,
            index=event.index,
            step_id=event.step_id,
            attempt=event.attempt,
            outcome="passed" if even else "failed",
            reason="" if even else "this minute is odd: resume in the next",
            evidence={"minute": minute % 60},
        )
