"""A trace: the events of an execution as spans within spans, each under one of five primitives.

Pure: the same events give the same trace, so that spans need no place in the log.
"""

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

import msgspec

from cortex.bus import Event, Recorded, as_map
from cortex.bus.events import (
    ContextCompile,
    ContextCompiled,
    ContextRefused,
    ExecutionCancel,
    ExecutionFinish,
    ExecutionPause,
    ExecutionRated,
    ExecutionRequest,
    ExecutionResume,
    ExecutionResumed,
    ExecutionStarted,
    GateEvaluate,
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
    StepItemChanged,
    StepReopened,
    StepSkipped,
    ToolCall,
    ToolDenied,
    ToolFailed,
    ToolReturned,
)
from cortex.runtime.access import person_of, root_of
from cortex.runtime.kernel import iso

from .. import PEOPLE, asker, is_own
from .history import Row

Primitive: TypeAlias = Literal["orchestrate", "execute", "learn", "build", "refine"]

PRIMITIVES: dict[str, Primitive] = {  # by topic, else by family
    "step": "execute",
    "model": "execute",
    "tool": "execute",
    "memory": "learn",
    "learning.action_observed": "learn",
    "execution.rated": "learn",
    "learning.process_proposed": "build",
    "package": "build",
    "learning.refinement_proposed": "refine",
    "memory.consolidated": "refine",
}
# The source of these is their author; names in their bodies have no effect.
_SAID_BY_PEOPLE = (
    ExecutionCancel,
    ExecutionFinish,
    ExecutionPause,
    ExecutionRated,
    ExecutionResume,
)
_HIDDEN = frozenset(("execution_id", "step_id", "index", "topic"))  # shown by the span's place
_ENDS_EXECUTION = frozenset(("completed", "failed", "cancelled"))
_ENDS_ITEM = frozenset(("completed", "failed", "skipped"))


class Span(msgspec.Struct, kw_only=True):
    """Something that was asked and answered, or a single event."""

    id: str  # "12": position of its first event
    parent: str  # id of the span around it; "" for the execution itself
    primitive: Primitive
    # "execution", "gate", "step", "item", "knowledge", "context", "model", "tool", or a topic.
    kind: str
    name: str  # of the gate, step, model, ...
    status: str  # "passed", "completed", ...; "open" where no answer was recorded
    position: int  # of its first event
    last_position: int
    started: str  # UTC
    started_ns: int
    duration_s: float
    attributes: dict[str, Any] = {}


def spans_of(rows: Iterable[Row], execution_id: str) -> list[Span]:
    """The spans of one execution, in the order in which they began."""
    builder = _Builder(execution_id)
    for record, event in rows:
        builder.take(record, event)
    return builder.spans


class _Builder:
    def __init__(self, execution_id: str) -> None:
        self.spans: list[Span] = []
        self._execution_id = execution_id
        self._root: Span | None = None
        self._open: dict[tuple[Any, ...], Span] = {}  # by kind, step, and attempt, index or call
        self._steps: dict[str, Span] = {}  # the newest span of each step
        self._branches: dict[str, tuple[str, ...]] = {}  # of each `parallel:` step
        self._people: dict[int, str] = {}  # who asked, by the position of the request

    def take(self, record: Recorded, event: Event | None) -> None:
        """Add one event."""
        if self._root is None and record.stream == f"execution/{self._execution_id}":
            name = getattr(event, "process", "") or "ad-hoc work"
            self._root = self._begin(record, "execution", name, None, {})
        elif self._root is not None:
            self._root.status = _status_after(record, self._root.status)
            _extend(self._root, record)
            if self._root.status in _ENDS_EXECUTION:
                self._leave_items("")
        match event:
            case GateEvaluate() | GateEvaluated():
                self._gate(record, event)
            case KnowledgeRequest() | MemoryRequest():
                self._search_asked(record, event)
            case KnowledgeRequested() | MemoryRequested() if not event.call_id:
                self._search_told(record, event)
            case ContextCompile() | ContextCompiled() | ContextRefused():
                self._context(record, event)
            case ModelSelected() | ModelInvoke() | ModelResponded():
                self._model(record, event)
            case ModelFailed() | ModelUnclaimed():
                self._model(record, event)
            case ToolCall() | ToolReturned() | ToolFailed() | ToolDenied():
                self._tool(record, event)
            case StepFanned():
                self._fanned(record, event)
            case StepDelegated() if event.item:
                self._item_begun(record, event)
            case StepItemChanged():
                self._item_changed(record, event)
            case StepExecute() | StepDelegated():
                self._step_asked(record, event)
            case StepCompleted() | StepFailed() | StepSkipped():
                self._step_settled(record, event)
                self._leave_items(event.step_id)
            case StepReopened():
                self._leave_items("")
                self._single(record, event)
            case ExecutionRequest():
                pass  # it is the execution's own span
            case _:
                self._single(record, event)

    def _gate(self, record: Recorded, event: GateEvaluate | GateEvaluated) -> None:
        where = ("gate", event.step_id, event.index)
        if isinstance(event, GateEvaluate):
            around = self._steps.get(event.step_id) if event.step_id else None
            if event.step_id and around is None:
                around = self._step(record, event.step_id, "")
            said = {"parameters": event.parameters} if event.parameters else {}
            self._open[where] = self._begin(record, "gate", event.gate, around, said)
        elif (span := self._open.pop(where, None)) is not None:
            _end(span, record, event.outcome, {"reason": event.reason, "evidence": event.evidence})

    def _search_asked(self, record: Recorded, event: KnowledgeRequest | MemoryRequest) -> None:
        step = self._attempt(record, event.step_id, event.attempt, "")
        said = {k: v for k, v in _attributes(event, record).items() if k != "attempt"}
        kind = "knowledge" if isinstance(event, KnowledgeRequest) else "memory"
        where = (kind, event.step_id, event.attempt)
        self._open[where] = self._begin(record, kind, event.step_id, step, said)

    def _search_told(self, record: Recorded, event: KnowledgeRequested | MemoryRequested) -> None:
        kind = "knowledge" if isinstance(event, KnowledgeRequested) else "memory"
        span = self._open.pop((kind, event.step_id, event.attempt), None)
        if span is not None:
            said: dict[str, Any] = {"found": event.found, "notes": event.notes}
            if isinstance(event, KnowledgeRequested):
                said = {"topics": event.topics, **said}
            else:
                said = {"nodes": event.nodes, **said}
            _end(span, record, "failed" if event.problem else "found", said)
            span.attributes |= {"problem": event.problem} if event.problem else {}

    def _context(
        self, record: Recorded, event: ContextCompile | ContextCompiled | ContextRefused
    ) -> None:
        where = ("context", event.step_id, event.attempt, event.turn)
        if isinstance(event, ContextCompile):
            step = self._attempt(record, event.step_id, event.attempt, "")
            said: dict[str, Any] = {"turn": event.turn} if event.turn else {}
            if topics := [each["topic"] for each in event.knowledge if "topic" in each]:
                said["knowledge"] = topics
            self._open[where] = self._begin(record, "context", event.step_id, step, said)
        elif (span := self._open.pop(where, None)) is not None:
            status = "compiled" if isinstance(event, ContextCompiled) else "refused"
            _end(span, record, status, _attributes(event, record))

    def _model(
        self,
        record: Recorded,
        event: ModelSelected | ModelInvoke | ModelResponded | ModelFailed | ModelUnclaimed,
    ) -> None:
        if isinstance(event, ModelSelected):
            self._single(record, event)
            return
        where = ("model", event.step_id, event.attempt, event.turn, event.call)
        if isinstance(event, ModelInvoke):
            step = self._steps.get(event.step_id)
            said = {"turn": event.turn} if event.turn else {}
            said |= {"call": event.call} if event.call > 1 else {}
            self._open[where] = self._begin(record, "model", event.model, step, said)
        elif isinstance(event, ModelUnclaimed):
            if (span := self._open.get(where)) is not None:  # a provider may still take it
                _end(span, record, "unclaimed", _attributes(event, record))
        elif (span := self._open.pop(where, None)) is not None:
            said = _attributes(event, record)
            span.attributes.pop("reason", None)  # why nobody took it before
            if root_of(record.source) != PEOPLE:
                said.pop("by", None)  # only their provider can name the person who answered
            _end(span, record, record.topic.partition(".")[2], said)

    def _tool(
        self, record: Recorded, event: ToolCall | ToolReturned | ToolFailed | ToolDenied
    ) -> None:
        where = ("tool", event.step_id, event.call_id)
        if isinstance(event, ToolCall):
            step = self._steps.get(event.step_id)
            said = {"arguments": event.arguments, "provider": event.provider, "turn": event.turn}
            self._open[where] = self._begin(record, "tool", event.tool, step, said)
        elif (span := self._open.pop(where, None)) is not None:
            _end(span, record, record.topic.partition(".")[2], _attributes(event, record))
        else:  # it was refused before it was asked for
            self._single(record, event)

    def _step_asked(self, record: Recorded, event: StepExecute | StepDelegated) -> None:
        action = event.action if isinstance(event, StepExecute) else ""
        step = self._attempt(record, event.step_id, event.attempt, action)
        if isinstance(event, StepExecute):
            step.attributes |= {"action": action}
            if event.parameters:
                step.attributes |= {"parameters": event.parameters}
        else:
            step.attributes |= {"child": event.child, "purpose": event.purpose}

    def _fanned(self, record: Recorded, event: StepFanned) -> None:
        step = self._attempt(record, event.step_id, event.attempt, "")
        branches = {"branches": event.branches} if event.branches else {}
        step.attributes |= {"items": event.items, "at_once": event.at_once, **branches}
        self._branches[event.step_id] = event.branches

    def _item_begun(self, record: Recorded, event: StepDelegated) -> None:
        step = self._attempt(record, event.step_id, event.attempt, "")
        name = self._name_of(event)
        said: dict[str, Any] = {"child": event.child}
        if event.max_cost is not None:
            said["max_cost"] = event.max_cost
        key = ("item", event.step_id, event.child)
        self._open[key] = self._begin(record, "item", name, step, said)

    def _item_changed(self, record: Recorded, event: StepItemChanged) -> None:
        span = self._open.get(("item", event.step_id, event.child))
        if span is None:  # it was over before it began
            step = self._attempt(record, event.step_id, event.attempt, "")
            span = self._begin(record, "item", self._name_of(event), step, {})
        said = {"result": event.result, "reason": event.reason, "question": event.question}
        for name in said:
            span.attributes.pop(name, None)  # what it was before
        _end(span, record, event.status, {name: each for name, each in said.items() if each})

    def _name_of(self, event: StepDelegated | StepItemChanged) -> str:
        branches = self._branches.get(event.step_id, ())
        known = 0 < event.item <= len(branches)
        return branches[event.item - 1] if known else f"{event.step_id} {event.item}"

    def _leave_items(self, step_id: str) -> None:
        """Nothing more comes of the items of *step_id* that are alive; "" for those of any step."""
        for key in [k for k in self._open if k[0] == "item" and step_id in ("", k[1])]:
            span = self._open.pop(key)
            if span.status not in _ENDS_ITEM:
                span.status = "cancelled"
                around = self._steps.get(key[1])
                if around is not None and around.status == "open":
                    around.status = "cancelled"

    def _step_settled(
        self, record: Recorded, event: StepCompleted | StepFailed | StepSkipped
    ) -> None:
        step = self._steps.get(event.step_id) or self._step(record, event.step_id, "")
        match event:
            case StepCompleted():
                said: dict[str, Any] = {"summary": event.summary, "result": event.result}
                _end(step, record, "completed", said)
            case StepFailed():
                _end(step, record, "failed", {"error": event.error, "failure": event.kind})
            case StepSkipped():
                _end(step, record, "skipped", {"reason": event.reason})

    def _attempt(self, record: Recorded, step_id: str, attempt: int, action: str) -> Span:
        """The span of this attempt: the one that is open, or a new one."""
        step = self._steps.get(step_id)
        if step is None or (step.status != "open" and step.attributes.get("attempt") != attempt):
            step = self._step(record, step_id, action)
        step.attributes["attempt"] = attempt
        return step

    def _step(self, record: Recorded, step_id: str, action: str) -> Span:
        said = {"action": action} if action else {}
        self._steps[step_id] = span = self._begin(record, "step", step_id, None, said)
        return span

    def _single(self, record: Recorded, event: Event | None) -> None:
        step_id = getattr(event, "step_id", "")
        around = self._steps.get(step_id) if step_id else None
        said = _attributes(event, record)
        if isinstance(event, _SAID_BY_PEOPLE):
            self._people[record.position] = asker(record.source, getattr(event, "by", ""))
            said["by"] = self._people[record.position]
        elif isinstance(event, ExecutionResumed):
            by = self._people.get(record.causation or 0, event.by)
            said |= {"by": by} if by and is_own(record) else {"by": person_of(record.source)}
        span = self._begin(record, record.topic, record.key or step_id, around, said)
        span.status = "recorded"

    def _begin(
        self,
        record: Recorded,
        kind: str,
        name: str,
        around: Span | None,
        attributes: dict[str, Any],
    ) -> Span:
        parent = around or (self._root if kind != "execution" else None)
        span = Span(
            id=str(record.position),
            parent=parent.id if parent else "",
            primitive=_primitive(record.topic),
            kind=kind,
            name=name,
            status="open",
            position=record.position,
            last_position=record.position,
            started=iso(record.time_ns),
            started_ns=record.time_ns,
            duration_s=0.0,
            attributes=attributes,
        )
        if any(other.id == span.id for other in self.spans[-2:]):
            span.id += f".{kind}"  # a span that began with the same event as the one around it
        self.spans.append(span)
        return span


def _end(span: Span, record: Recorded, status: str, attributes: dict[str, Any]) -> None:
    span.status = status
    span.attributes |= {name: value for name, value in attributes.items() if value or value == 0}
    _extend(span, record)


def _extend(span: Span, record: Recorded) -> None:
    span.last_position = record.position
    span.duration_s = (record.time_ns - span.started_ns) / 1e9


def _attributes(event: Event | None, record: Recorded) -> dict[str, Any]:
    body = as_map(record) if event is None else msgspec.structs.asdict(event)
    if variation := body.get("variation"):
        body["variation"] = msgspec.to_builtins(variation)
    if isinstance(event, ExecutionStarted) and event.part is not None:
        body |= {"part": event.part.step_id, "item": event.part.item, **event.part.named}
    if not body.get("stepping"):
        body.pop("stepping", None)
    return {k: v for k, v in body.items() if k not in _HIDDEN and v not in ("", (), {}, [], None)}


def _status_after(record: Recorded, status: str) -> str:
    family, _, verb = record.topic.partition(".")
    if family != "execution" or status in _ENDS_EXECUTION:
        return status
    if verb in ("started", "resumed"):
        return "running"
    return verb if verb in _ENDS_EXECUTION | {"paused", "halted"} else status


def _primitive(topic: str) -> Primitive:
    family = topic.partition(".")[0]
    return PRIMITIVES.get(topic) or PRIMITIVES.get(family) or "orchestrate"
