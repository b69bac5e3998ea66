"""The question that a person has to answer: for a gate, or instead of a model."""

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
from cortex.runtime.context import read_text, text_of
from cortex.runtime.kernel import RefusedError
from cortex.runtime.models import PERSON

from .history import History
from .items import asking_items

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


def task_first(prompt: str) -> list[str]:
    """The lines of a prompt as a person reads them: what is to be done before what it is about."""
    blocks = read_text(prompt)
    task = [block for block in blocks if block.section == "step"]
    others = [block for block in blocks if block.section != "step"]
    return [*text_of(task).splitlines(), *text_of(others).splitlines()]


def shape_of(asked: ModelInvoke) -> str:
    """What the answer has to be."""
    return "JSON that fits the schema of the prompt" if asked.answer_schema else "text"


def open_gate(history: History, execution_id: str) -> str:
    """The "process/gate" that asks a person about an execution, in a child of it too.

    Raises:
        RefusedError: No gate asks.
    """
    state = history.execution(execution_id)
    if state.stage in ("child", "cleanup") and not state.open_gate:
        return open_gate(history, state.child)  # a log of an older version does not name it
    if asking := asking_items(state):
        first = next(iter(asking))
        each = f"answer each, as with `cortex execution resume {first} --approve`"
        if len(asking) > 1:
            raise RefusedError(f"{len(asking)} items of {state.step_id} ask: {each}")
        return open_gate(history, first)
    if not state.open_gate:
        raise RefusedError(f"no gate of execution {execution_id} asks anything: resume it without")
    return state.open_gate
