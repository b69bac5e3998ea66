"""Reading the parameters of a step as the Struct that its action announced."""

from typing import TypeVar

import msgspec

from cortex.bus.events import StepExecute, StepFailed

Parameters = TypeVar("Parameters", bound=msgspec.Struct)


def parameters_of(event: StepExecute, kind: type[Parameters]) -> Parameters | StepFailed:
    """The step's parameters, or the failure that says what is wrong with them.

    The compiler checked what is constant; what came from inputs and earlier steps shows only here.
    """
    try:
        return msgspec.convert(event.parameters, kind)
    except msgspec.ValidationError as error:
        return StepFailed(
            execution_id=event.execution_id,
            step_id=event.step_id,
            attempt=event.attempt,
            error=f"{event.action}: {error}",
            kind="refused",
            retry=False,
        )
