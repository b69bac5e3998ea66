"""A step handler: carries out the action `count_down`."""

from collections.abc import Iterator

import msgspec

from cortex.bus import Event
from cortex.bus.events import StepCompleted, StepExecute, StepFailed
from cortex.runtime.kernel import Component, Delivery, Serves, on

MOST = 1_000


class Parameters(msgspec.Struct, frozen=True):
    """What `count_down` takes."""

    start: int


class Result(msgspec.Struct, frozen=True):
    """What `count_down` gives; later steps refer to `${steps.<id>.text}`."""

    text: str


class CountDown(Component):
    """Counts down to nothing."""

    workers = 2
    serves = (Serves("action", "count_down", Parameters, Result, effect="none"),)

    @on(StepExecute, where={"action": "count_down"})
    def execute(self, event: StepExecute, delivery: Delivery) -> Iterator[Event]:
        """Count."""
        step = {n: getattr(event, n) for n in ("execution_id", "step_id", "attempt")}
        try:
            asked = msgspec.convert(event.parameters, Parameters)
        except msgspec.ValidationError as error:
            yield StepFailed(**step, error=f"count_down: {error}", retry=False)
            return
        if not 0 <= asked.start <= MOST:
            yield StepFailed(**step, error=f"count_down: start is 0 to {MOST}", retry=False)
            return
        result = Result(" ".join(str(n) for n in range(asked.start, -1, -1)))
        yield StepCompleted(**step, result=msgspec.to_builtins(result), summary=result.text)
