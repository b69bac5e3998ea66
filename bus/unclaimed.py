"""What is said when nobody takes a request: it is recorded beside the request, and that waits."""

from collections.abc import Callable, Mapping

import msgspec

from .event import Draft, Event
from .events.model import ModelInvoke, ModelUnclaimed
from .events.step import StepExecute, StepUnclaimed

SOURCE = "hub"


def _step(draft: Draft) -> Event:
    asked = msgspec.msgpack.decode(draft.body, type=StepExecute)
    return StepUnclaimed(
        execution_id=asked.execution_id,
        step_id=asked.step_id,
        action=asked.action,
        waited_s=0.0,
    )


def _model(draft: Draft) -> Event:
    asked = msgspec.msgpack.decode(draft.body, type=ModelInvoke)
    return ModelUnclaimed(
        execution_id=asked.execution_id,
        step_id=asked.step_id,
        attempt=asked.attempt,
        turn=asked.turn,
        call=asked.call,
        model=asked.model,
        provider=asked.provider,
        reason=f"no component answers for {asked.model} as the provider {asked.provider!r}",
    )


# Topics of work that somebody waits for, and the report where no subscription takes it.
REPORTS: Mapping[str, Callable[[Draft], Event]] = {
    StepExecute.topic_name(): _step,
    ModelInvoke.topic_name(): _model,
}
