"""The lines about events while an execution runs: a leading word, a text, and a colour.

Pure, except that it remembers the requests whose answers it will show.
"""

import json
from typing import Any

from cortex.bus import Event, Recorded
from cortex.bus.events import (
    ContextCompile,
    ContextCompiled,
    ContextEdit,
    ContextRefused,
    EffectSettled,
    ExecutionDeferred,
    ExecutionIgnored,
    ExecutionRefused,
    ExecutionResumed,
    GateEvaluated,
    KnowledgeRequest,
    KnowledgeRequested,
    MemoryRequest,
    MemoryRequested,
    ModelFailed,
    ModelInvoke,
    ModelResponded,
    ModelSelected,
    ModelUnclaimed,
    StepCompleted,
    StepDelegated,
    StepExecute,
    StepFailed,
    StepFanned,
    StepInherited,
    StepItemChanged,
    StepProgress,
    StepProposed,
    StepReopened,
    StepSkipped,
    StepUnclaimed,
    StepWake,
    ToolCall,
    ToolDenied,
    ToolEnabled,
    ToolFailed,
    ToolReturned,
    ToolUnclaimed,
)
from cortex.runtime.kernel import duration, many
from cortex.runtime.models import PERSON, counted, dollars

from .. import ENGINE, VERDICTS, usage_of_answer
from .edits import Change, edit_line, edit_of, unedited_line
from .item_labels import ItemLabels, OfStep
from .wording import SHORT, FinishedLine, nobody, one_line, used_tool, what_is_missing

TOPICS = 3  # of those in which a step found something
# Why a model was chosen, in a word or two.
_BECAUSE = {"the cheapest that meets the needs": "the cheapest that fits"}


class Teller:
    """Turns events into lines."""

    def __init__(self) -> None:
        self._asked_ns: dict[tuple[Any, ...], int] = {}
        self._calls: dict[tuple[str, str], ToolCall] = {}
        self._models: dict[tuple[str, str], str] = {}  # last shown for a step
        self._held: set[tuple[str, str]] = set()  # steps that wait for tools
        self._labels = ItemLabels()
        self._errors: dict[str, str] = {}  # last shown for an execution
        self._edits: set[int] = set()  # positions of what asked for a change of a prompt
        self._refused: dict[tuple[str, str], str] = {}  # why a step has no prompt, as last shown

    def tell(self, record: Recorded, event: Event) -> FinishedLine | None:
        """What to say of an event, if anything."""
        match event:
            case (
                KnowledgeRequest()
                | MemoryRequest()
                | ContextCompile()
                | StepExecute()
                | StepDelegated()
            ):
                self._began(record, event.execution_id, event.step_id, event.attempt)
                if isinstance(event, StepDelegated):
                    self._labels.delegated(event)
            case ModelInvoke():
                return self._invoked(record, event)
            case ModelSelected() | ContextCompiled() | ContextRefused():
                return self._prompt(event)
            case ModelResponded() | ModelFailed() | ModelUnclaimed():
                return self._answered(record, event)
            case ToolCall():
                self._began(record, event.execution_id, event.call_id)
                self._calls[event.execution_id, event.call_id] = event
            case ToolReturned() | ToolFailed() | ToolDenied() | ToolEnabled():
                return self._tool(record, event)
            case KnowledgeRequested() | MemoryRequested():
                return self._looked_up(event)
            case GateEvaluated():
                return self._gate(event)
            case ExecutionRefused():
                return FinishedLine("refused", one_line(event.reason), "red")
            case EffectSettled():
                what = "it happened" if event.outcome == "happened" else "it is done again"
                return FinishedLine("settled", f"{event.step_id}: {what}, says {event.by}")
            case ContextEdit():
                self._edits.add(record.position)
            case ExecutionResumed() if record.causation in self._edits:
                return None  # the prompt is made again and shown; nothing continues
            case ExecutionResumed():
                return FinishedLine("resumed", _resumed(record, event))
            case _:
                return self._step(record, event)
        return None

    def is_many(self, execution_id: str, step_id: str) -> bool:
        """Whether a step has too many items to show the progress of each."""
        return self._labels.is_many(execution_id, step_id)

    def _label(self, event: OfStep) -> str:
        return self._labels.step(event)

    def _gate(self, event: GateEvaluated) -> FinishedLine | None:
        gate = self._labels.gate(event)
        if event.outcome == "failed":
            return FinishedLine("gate", f"{gate} failed: {event.reason}", "red")
        if event.outcome == "passed":
            return FinishedLine("gate", f"{gate} passed", "green")
        return None

    def _looked_up(self, event: KnowledgeRequested | MemoryRequested) -> FinishedLine | None:
        if event.call_id or event.problem:
            return None
        if isinstance(event, KnowledgeRequested):
            return _found(event, self._label(event))
        found = many(len(event.nodes), "memory", "memories") if event.nodes else "nothing"
        return FinishedLine("recalled", f"{self._label(event)}: {found}", "cyan")

    def _step(self, record: Recorded, event: Event) -> FinishedLine | None:
        match event:
            case StepFanned():
                return self._labels.fanned(event)
            case StepItemChanged():
                same = self._errors.get(event.child) == event.reason
                is_told = same and event.status in ("failed", "halted")
                return self._labels.changed(event, is_told=is_told)
            case StepProgress():
                return FinishedLine("at work", f"{self._label(event)}: {event.note}", "dim")
            case StepCompleted():
                took = self._took(record, event.execution_id, event.step_id, event.attempt)
                told = f": {event.summary}" if event.summary else ""
                return FinishedLine("done", f"{self._label(event)}{took}{told}", "green")
            case StepFailed():
                self._errors[event.execution_id] = event.error
                again = f" (attempt {event.attempt})" if event.attempt > 1 else ""
                told = self._refused.pop((event.execution_id, event.step_id), "")
                why = "" if told == event.error else f": {event.error}"
                return FinishedLine("failed", f"{self._label(event)}{again}{why}", "red")
            case StepProposed():
                given = json.dumps(event.parameters) if event.parameters else ""
                by = f", by {event.by}" if event.by and not event.call_id else ""
                told = f"{self._label(event)}: {event.action} {one_line(given, SHORT)}".rstrip()
                return FinishedLine("chosen", f"{told}{by}", "cyan")
            case StepInherited():
                told = f"{self._label(event)}: {event.status}, as in {event.fork_of}"
                return FinishedLine("taken", told, "dim")
            case StepSkipped():
                return FinishedLine("skipped", f"{self._label(event)}: {event.reason}", "dim")
            case StepReopened():
                why = f": {event.reason}" if event.reason else ""
                return FinishedLine("back", f"to {self._label(event)}{why}", "yellow")
            case _ if isinstance(event, Change):
                return FinishedLine("changed", one_line(edit_line(edit_of(event))), "yellow")
            case ExecutionIgnored():
                said = f"{event.answer} by {event.by}, who was not asked: {event.asked} was"
                return FinishedLine("ignored", said, "yellow")
        return self._waits(event)

    def _waits(self, event: Event) -> FinishedLine | None:
        """What is said of a step or an execution that waits for something to come."""
        match event:
            case StepUnclaimed():
                return FinishedLine("waiting", f"{self._label(event)}: {nobody(event)}", "yellow")
            case ExecutionDeferred():
                return FinishedLine("waiting", what_is_missing(event), "yellow")
            case ToolUnclaimed():
                self._held.add((event.execution_id, event.step_id))
                because = f" ({'; '.join(event.reasons)})" if event.reasons else ""
                missing = f"no component or server offers {', '.join(event.tools)}{because}"
                told = f"{self._label(event)}: {missing}: it waits for {event.wait_s:g} s at most"
                return FinishedLine("waiting", told, "yellow")
            case StepWake(what="offers", index=1):
                if (event.execution_id, event.step_id) in self._held:
                    return None
                told = f"{self._label(event)}: a server of its tools has not listed them yet"
                return FinishedLine("waiting", told, "yellow")
        return None

    def _prompt(
        self, event: ModelSelected | ContextCompiled | ContextRefused
    ) -> FinishedLine | None:
        step = f"{self._label(event)}{_turn(event.turn)}"
        if isinstance(event, ContextRefused):
            self._refused[event.execution_id, event.step_id] = event.reason
            return FinishedLine("refused", f"{step}: {event.reason}", "red")
        if isinstance(event, ContextCompiled):
            told = f"{step}: {many(event.tokens, 'token')} for {event.model}"
            if not event.unedited:
                return FinishedLine("context", told, "cyan")
            return FinishedLine("context", f"{told}; {unedited_line(event.unedited)}", "yellow")
        where = event.execution_id, event.step_id
        if self._models.get(where) == event.model:
            return None  # kept from turn to turn
        self._models[where] = event.model
        because = _BECAUSE.get(event.because, event.because)
        return FinishedLine("model", f"{step}: {event.model}, {because}", "cyan")

    def _invoked(self, record: Recorded, event: ModelInvoke) -> FinishedLine | None:
        self._began(record, *_call(event))
        step = self._label(event)
        if event.provider == PERSON:
            return FinishedLine("asked", f"{step}: {event.model} is to answer", "yellow")
        if event.call > 1:
            return FinishedLine("again", f"{step}: {event.model}, call {event.call}", "yellow")
        return None

    def _answered(
        self, record: Recorded, event: ModelResponded | ModelFailed | ModelUnclaimed
    ) -> FinishedLine | None:
        step = f"{self._label(event)}{_turn(event.turn)}"
        if isinstance(event, ModelUnclaimed):
            return FinishedLine(
                "waiting", f"{step}: no component answers for {event.model}", "yellow"
            )
        took = " (on record)" if event.recorded else self._took(record, *_call(event))
        if isinstance(event, ModelFailed):
            said = event.error if event.kind == "failed" else f"{event.kind}: {event.error}"
            return FinishedLine("model", f"{step}: {event.model}{took}: {one_line(said)}", "red")
        cost = f", {dollars(event.cost)}" if event.cost else ""
        stop = {"length": ", cut off by its limit", "refused": ", refused"}.get(event.stop, "")
        told = f"{step}: {event.model}{took}, {counted(usage_of_answer(event))}{cost}{stop}"
        return FinishedLine("answered", told, "green" if not stop else "yellow")

    def _tool(
        self, record: Recorded, event: ToolReturned | ToolFailed | ToolDenied | ToolEnabled
    ) -> FinishedLine:
        if isinstance(event, ToolEnabled):
            return FinishedLine("enabled", f"{event.pack}, by the {event.by}", "cyan")
        call = self._calls.pop((event.execution_id, event.call_id), None)
        used = used_tool(call) if call else one_line(event.tool)
        took = self._took(record, event.execution_id, event.call_id)
        if isinstance(event, ToolReturned):
            said = event.summary or event.excerpt.strip() or many(event.lines, "line")
            return FinishedLine("tool", f"{used}{took}: {one_line(said)}", "cyan")
        said = event.error if isinstance(event, ToolFailed) else event.reason
        return FinishedLine(
            "denied" if isinstance(event, ToolDenied) else "tool",
            f"{used}{took}: {one_line(said)}",
            "red",
        )

    def _began(self, record: Recorded, *where: Any) -> None:
        self._asked_ns.setdefault(where, record.time_ns)

    def _took(self, record: Recorded, *where: Any) -> str:
        asked_ns = self._asked_ns.get(where)
        return f" ({duration((record.time_ns - asked_ns) / 1e9)})" if asked_ns else ""


def _found(event: KnowledgeRequested, step: str) -> FinishedLine:
    named = ", ".join(event.topics[:TOPICS])
    more = f" and {len(event.topics) - TOPICS} more" if len(event.topics) > TOPICS else ""
    return FinishedLine("found", f"{step}: {named or 'nothing'}{more}", "cyan")


def _resumed(record: Recorded, event: ExecutionResumed) -> str:
    """The person named by the engine, as authenticated by the hub."""
    said = (
        event.answer if event.answer in VERDICTS else "",
        f"from {event.from_step}" if event.from_step else "",
        "by one step," if event.stepping else "",
        f"by {event.by}" if event.by and record.source == ENGINE else "",
    )
    return one_line(" ".join(filter(None, said)))


def _turn(turn: int) -> str:
    return f", turn {turn}" if turn else ""


def _call(event: ModelInvoke | ModelResponded | ModelFailed) -> tuple[Any, ...]:
    return event.execution_id, event.step_id, event.attempt, event.turn, event.call
