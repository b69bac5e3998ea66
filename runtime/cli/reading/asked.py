"""Which person is asked in a model's place, and has not answered."""

from collections.abc import Iterable

from cortex.bus import Event
from cortex.bus.events import (
    ExecutionCancelled,
    ExecutionCompleted,
    ExecutionFailed,
    ExecutionHalted,
    ModelFailed,
    ModelInvoke,
    ModelResponded,
    StepFailed,
)

PERSON = "human"  # the provider whose models are people

_ENDS = ExecutionCancelled | ExecutionCompleted | ExecutionFailed | ExecutionHalted


class OpenQuestions:
    """A fold: what each of some executions asks a person, by the events of those executions."""

    def __init__(self) -> None:
        self._open: dict[str, ModelInvoke] = {}

    def fold(self, event: Event | None) -> None:
        """Take note of one event."""
        if isinstance(event, ModelInvoke):
            if event.provider == PERSON:
                self._open[event.execution_id] = event
            else:
                self._open.pop(event.execution_id, None)
        elif isinstance(event, ModelResponded | ModelFailed | StepFailed | _ENDS):
            self._open.pop(event.execution_id, None)

    def of(self, execution_id: str) -> ModelInvoke | None:
        """What a person is asked in this execution."""
        return self._open.get(execution_id)


def asked_of_person(execution_id: str, events: Iterable[Event | None]) -> ModelInvoke | None:
    """The request that a person is to answer, where the last one is open."""
    questions = OpenQuestions()
    for event in events:
        questions.fold(event)
    return questions.of(execution_id)
