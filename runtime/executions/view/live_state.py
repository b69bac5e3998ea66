"""What happens in an execution now and what it has used so far: the state of a live view.

Pure: a fold of events, including ephemeral ones; the caller passes its clock in.
"""

from typing import Any, NamedTuple

from cortex.bus import Event
from cortex.bus.events import (
    ContextCompile,
    ContextCompiled,
    ContextRefused,
    ExecutionCancelled,
    ExecutionCompleted,
    ExecutionFailed,
    ExecutionHalted,
    ExecutionPaused,
    ExecutionRequest,
    ExecutionStarted,
    GateEvaluate,
    GateEvaluated,
    KnowledgeRequest,
    KnowledgeRequested,
    MemoryRequest,
    MemoryRequested,
    ModelDelta,
    ModelFailed,
    ModelInvoke,
    ModelResponded,
    ModelUnclaimed,
    StepCompleted,
    StepExecute,
    StepFailed,
    StepFanned,
    StepItemChanged,
    StepProgress,
    StepSkipped,
    ToolCall,
    ToolDenied,
    ToolFailed,
    ToolReturned,
)
from cortex.runtime.models import Usage, plus

from .. import usage_of_answer
from .wording import used_tool

NOTHING = Usage()
TAIL = 2_000  # characters to keep of an unfinished line
_OVER = (
    ExecutionCancelled, ExecutionCompleted, ExecutionFailed, ExecutionHalted, ExecutionPaused,
)  # fmt: skip


class Activity(NamedTuple):
    """Something that was asked and not answered."""

    text: str
    since_s: float


class ItemCount(NamedTuple):
    """How far a step has come with its items."""

    step_id: str
    items: int
    since_s: float
    ended: int = 0
    failed: int = 0
    waiting: frozenset[str] = frozenset()  # executions
    halted: frozenset[str] = frozenset()  # likewise
    noun: str = "items"

    def activity(self) -> Activity:
        """The same as something that goes on."""
        failed = f", {self.failed:,} failed" if self.failed else ""
        waiting = f", {len(self.waiting):,} waiting" if self.waiting else ""
        halted = f", {len(self.halted):,} halted" if self.halted else ""
        many = f"{self.ended:,} of {self.items:,} {self.noun}"
        told = f"{self.step_id}: {many}{failed}{halted}{waiting}"
        return Activity(told, self.since_s)


class StreamedLines:
    """An answer as it comes, taken apart into lines."""

    def __init__(self, *, shown: bool) -> None:
        self.tail = ""  # of the line that is not finished
        self._shown = shown  # whether its finished lines are for people
        self._number = 0

    def take(self, delta: ModelDelta) -> list[str]:
        """Add a piece; the lines that are finished with it come back."""
        missed = "…" if delta.number > self._number else ""  # pieces may get lost
        self._number = delta.number + 1
        *finished, rest = f"{self.tail}{missed}{delta.text}".split("\n")
        self.tail = rest[-TAIL:]
        return finished if self._shown else []

    def rest(self) -> list[str]:
        """The line that was not finished, once nothing follows."""
        return [self.tail] if self._shown and self.tail.strip() else []


class LiveState:
    """Folds what happens in an execution and its children."""

    def __init__(
        self, usage: Usage = NOTHING, cost: float = 0.0, max_cost: float | None = None
    ) -> None:
        self.usage = usage
        self.cost = cost  # US dollars
        self.max_cost = max_cost
        self.activities: dict[tuple[Any, ...], Activity] = {}
        self._answers: dict[tuple[Any, ...], StreamedLines] = {}  # those that are coming
        self.items: dict[tuple[str, str], ItemCount] = {}  # of steps that work on several at once

    @property
    def tail(self) -> str:
        """The unfinished line of the answer that came last."""
        return next((a.tail for a in reversed(self._answers.values()) if a.tail), "")

    def fold(self, event: Event, now_s: float) -> list[str]:
        """Take note of *event*; lines of an answer that are finished with it come back."""
        execution_id: str = getattr(event, "execution_id", "")
        match event:
            case GateEvaluate():
                where = (event.step_id, "gate", event.index)
                self._open(execution_id, where, f"gate {event.gate}", now_s)
            case GateEvaluated():
                self._close(execution_id, event.step_id, "gate", event.index)
            case KnowledgeRequest():
                told = f"{event.step_id}: looking into the knowledge store"
                self._open(execution_id, (event.step_id, "knowledge"), told, now_s)
            case KnowledgeRequested():
                self._close(execution_id, event.step_id, "knowledge")
            case MemoryRequest():
                told = f"{event.step_id}: looking into memory"
                self._open(execution_id, (event.step_id, "memory"), told, now_s)
            case MemoryRequested():
                self._close(execution_id, event.step_id, "memory")
            case ContextCompile():
                told = f"{event.step_id}: compiling its context"
                self._open(execution_id, (event.step_id, "context"), told, now_s)
            case ContextCompiled() | ContextRefused():
                self._close(execution_id, event.step_id, "context")
            case ModelInvoke() | ModelDelta() | ModelResponded() | ModelFailed():
                return self._model(event, now_s)
            case ModelUnclaimed():
                self._close(execution_id, event.step_id, "model")
            case ToolCall():
                told = f"{event.step_id}: {used_tool(event)}"
                self._open(execution_id, (event.step_id, "tool", event.call_id), told, now_s)
            case ToolReturned() | ToolFailed() | ToolDenied():
                self._close(execution_id, event.step_id, "tool", event.call_id)
            case _:
                self._step(event, execution_id, now_s)
        return []

    def _item(self, event: StepItemChanged) -> None:
        where = event.execution_id, event.step_id
        if (count := self.items.get(where)) is None:
            return
        one = {event.child}
        self.items[where] = count._replace(
            ended=count.ended + (event.status in ("completed", "failed", "skipped")),
            failed=count.failed + (event.status == "failed"),
            waiting=count.waiting - one | (one if event.status == "paused" else set()),
            halted=count.halted - one | (one if event.status == "halted" else set()),
        )

    def _step(self, event: Event, execution_id: str, now_s: float) -> None:
        match event:
            case StepFanned():
                noun = "branches" if event.branches else "items"
                count = ItemCount(event.step_id, event.items, now_s, noun=noun)
                self.items[execution_id, event.step_id] = count
            case StepItemChanged():
                self._item(event)
            case StepExecute():
                told = f"{event.step_id}: {event.action}"
                self._open(execution_id, (event.step_id, "step"), told, now_s)
            case StepProgress():
                since = self.activities.get((execution_id, event.step_id, "step"))
                told = f"{event.step_id}: {event.note}"
                begun_s = since.since_s if since else now_s
                self._open(execution_id, (event.step_id, "step"), told, begun_s)
            case StepCompleted() | StepFailed() | StepSkipped():
                self._drop(execution_id, event.step_id)
            case ExecutionRequest() | ExecutionStarted() if not event.parent:
                self.max_cost = event.max_cost if event.max_cost is not None else self.max_cost
            case _ if isinstance(event, _OVER):
                self._drop(execution_id)

    def _model(
        self, event: ModelInvoke | ModelDelta | ModelResponded | ModelFailed, now_s: float
    ) -> list[str]:
        where = event.execution_id, event.step_id, event.attempt, event.turn, event.call
        if isinstance(event, ModelInvoke):
            call = f", call {event.call}" if event.call > 1 else ""
            told = f"{event.step_id}: {event.model}{call}"
            self._open(event.execution_id, (event.step_id, "model"), told, now_s)
            # What follows a schema is for the handler of the step.
            self._answers[where] = StreamedLines(shown=not event.answer_schema)
            return []
        answer = self._answers.get(where)
        if isinstance(event, ModelDelta):
            return answer.take(event) if answer else []  # it may come after the end
        self._answers.pop(where, None)
        self._close(event.execution_id, event.step_id, "model")
        if isinstance(event, ModelResponded):
            self.usage, self.cost = plus(self.usage, usage_of_answer(event)), self.cost + event.cost
        return answer.rest() if answer else []

    def _open(self, execution_id: str, where: tuple[Any, ...], text: str, now_s: float) -> None:
        self.activities[execution_id, *where] = Activity(text, now_s)

    def _close(self, execution_id: str, *where: Any) -> None:
        self.activities.pop((execution_id, *where), None)

    def _drop(self, execution_id: str, step_id: str | None = None) -> None:
        for held in (self.activities, self._answers, self.items):
            for key in [k for k in held if k[0] == execution_id and step_id in (None, k[1])]:
                del held[key]
