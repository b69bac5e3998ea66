"""Reading the parameters of a step as the Struct that its action announced."""

from typing import TypeVar

import msgspec

from cortex.bus.events import StepExecute, StepFailed

from ..parameters import read_parameters

Parameters = TypeVar("Parameters", bound=msgspec.Struct)


def parameters_of(event: StepExecute, kind: type[Parameters]) -> Parameters | StepFailed:
    """The step's parameters, or the failure that says what is wrong with them."""
    asked = read_parameters(event.parameters, kind)
    if not isinstance(asked, str):
        return asked
    return StepFailed(
        execution_id=event.execution_id,
        step_id=event.step_id,
        attempt=event.attempt,
        error=f"{event.action}: {asked}",
        kind="refused",
        retry=False,
    )
