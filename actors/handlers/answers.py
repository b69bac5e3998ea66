"""The answers of handlers, and the parameters they answer to."""

from typing import TypeVar

import msgspec

from cortex.bus.events import EffectUnknown, StepCompleted, StepExecute, StepFailed
from cortex.runtime.kernel import Begun, Delivery

from ..parameters import read_parameters

MASKED = "masked"  # the kind of failure where a text would write a mask over what it stands for
QUOTED = "no model was asked: its words are quoted from the context"
UNKEPT = "it was begun by a worker without a home, which kept no record of it"

Parameters = TypeVar("Parameters", bound=msgspec.Struct)


def parameters_of(event: StepExecute, kind: type[Parameters]) -> Parameters | StepFailed:
    """The step's parameters, or the failure that says what is wrong with them."""
    asked = read_parameters(event.parameters, kind)
    if not isinstance(asked, str):
        return asked
    return failed(event, f"{event.action}: {asked}", kind="refused", retry=False)


def completed(event: StepExecute, result: msgspec.Struct, summary: str) -> StepCompleted:
    """The step is done; *result* is the Struct that its action announced."""
    if event.answer.get("extractive"):
        summary = f"{summary}; {QUOTED}"
    return StepCompleted(
        execution_id=event.execution_id,
        step_id=event.step_id,
        attempt=event.attempt,
        result=msgspec.to_builtins(result),
        summary=summary,
    )


def failed(
    event: StepExecute, error: str, *, kind: str = "failed", retry: bool = True
) -> StepFailed:
    """This try of the step failed; *retry* is False where another cannot help."""
    return StepFailed(
        execution_id=event.execution_id,
        step_id=event.step_id,
        attempt=event.attempt,
        error=error,
        kind=kind,
        retry=retry,
    )


def unknown(event: StepExecute, delivery: Delivery, reason: str) -> EffectUnknown:
    """The step was begun and nobody can say how it ended: a person is asked."""
    begun = Begun.of(event, delivery.effect_key(), delivery.component)
    return begun.unknown(reason, delivery.time_ns)
