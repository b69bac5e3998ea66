"""Executions as OpenTelemetry spans: one trace for each that is nobody's child. Pure.

Tokens and costs are those of the model calls, the leaves. What a span of a step or an execution
says of them is the sum over the leaves below it. Prompts, answers, arguments and results are left
out; they stay in the log.
"""

from collections.abc import Iterable, Mapping
from hashlib import sha256
from math import fsum
from typing import Any

import msgspec

from cortex.bus.events import ExecutionRequest, ExecutionStarted, ModelInvoke, StepDelegated
from cortex.runtime.executions.view import Row, Span, spans_of
from cortex.runtime.models import Usage

from . import genai

ERRORS = frozenset(("failed", "halted", "cancelled", "refused", "denied", "unclaimed"))
SINGLE = "recorded"  # the status of a span that is one event
CLIENT, INTERNAL = 3, 1  # kinds of spans, by their numbers in OTLP

Value = str | int | float | list[str]


class OtelEvent(msgspec.Struct):
    """Something that happened within a span."""

    name: str  # a topic
    time_ns: int
    position: int


class OtelSpan(msgspec.Struct, kw_only=True):
    """One span, with ids as hex digits."""

    trace_id: str
    span_id: str
    parent_id: str  # "" for the root
    name: str
    kind: int = INTERNAL
    start_ns: int
    end_ns: int
    attributes: dict[str, Value]
    events: list[OtelEvent] = []
    error: str = ""  # why it failed, if it did


class Spent(msgspec.Struct):
    """Tokens and US dollars of the leaves below a span."""

    usage: Usage = Usage()
    costs: tuple[float, ...] = ()

    def attributes(self) -> dict[str, Value]:
        """As a span has them; nothing where no model was asked."""
        if not self.costs:
            return {}
        usage = self.usage
        return {
            genai.INPUT_TOKENS: usage.input + usage.cached_read + usage.cached_write,
            genai.OUTPUT_TOKENS: usage.output,
            genai.CACHE_READ_TOKENS: usage.cached_read,
            genai.CACHE_WRITE_TOKENS: usage.cached_write,
            genai.COST: fsum(self.costs),
        }


def trace_id_of(log_id: str, execution_id: str) -> str:
    """The id of the trace of an execution: always the same, so that it may be sent again."""
    return sha256(f"cortex trace {log_id} {execution_id}".encode()).hexdigest()[:32]


class TraceBuilder:
    """Makes the spans of one trace, execution by execution, each after its parent."""

    def __init__(self, log_id: str, root: str) -> None:
        self._log_id, self._trace_id = log_id, trace_id_of(log_id, root)
        self._around: dict[str, str] = {}  # span id of the step or item around a child execution
        self.spans: list[OtelSpan] = []
        self._spent: dict[str, Spent] = {}  # by span id

    def add(self, execution_id: str, rows: list[Row]) -> list[str]:
        """Add an execution with its events; its children come back, which are to be added next."""
        found = spans_of(rows, execution_id)
        if not found:
            return []
        calls = {r.position: event for r, event in rows if isinstance(event, ModelInvoke)}
        about = _about(execution_id, rows)
        ids = {span.id: self._span_id(execution_id, span.id) for span in found}
        agents = {span.parent for span in found if span.kind == "model"}
        end_ns = max(record.time_ns for record, _ in rows)
        made: dict[str, OtelSpan] = {}
        for span in found:
            if span.status == SINGLE:
                around = made.get(span.parent)
                if around is not None:
                    around.events.append(OtelEvent(span.kind, span.started_ns, span.position))
                continue
            parent = ids.get(span.parent) or self._around.get(execution_id, "")
            one = _span(span, calls.get(span.position), agent=span.id in agents)
            one.trace_id, one.span_id, one.parent_id = self._trace_id, ids[span.id], parent
            one.attributes |= about if span.kind == "execution" else {}
            if span.status in ("open", "running"):
                one.end_ns = end_ns
            made[span.id] = one
            self.spans.append(one)
            if span.kind == "model":
                self._spent[one.span_id] = _spent(span)
        return self._children(rows, found, ids)

    def finished(self) -> list[OtelSpan]:
        """All spans; each has the sum of what the leaves below it spent."""
        by_id = {span.span_id: span for span in self.spans}
        below: dict[str, list[Spent]] = {}
        for leaf, spent in self._spent.items():
            at = leaf
            while at in by_id:
                below.setdefault(at, []).append(spent)
                at = by_id[at].parent_id
        for span_id, parts in below.items():
            if genai.OPERATION in by_id[span_id].attributes:
                by_id[span_id].attributes |= _together(parts).attributes()
        return self.spans

    def _children(self, rows: list[Row], found: list[Span], ids: Mapping[str, str]) -> list[str]:
        items = {s.attributes.get("child"): ids[s.id] for s in found if s.kind == "item"}
        steps = {s.name: ids[s.id] for s in found if s.kind == "step"}
        root = ids[found[0].id]
        children: list[str] = []
        for _, event in rows:
            if isinstance(event, StepDelegated) and event.child not in self._around:
                around = items.get(event.child) or steps.get(event.step_id, root)
                self._around[event.child] = around
                children.append(event.child)
        return children

    def _span_id(self, execution_id: str, name: str) -> str:
        text = f"cortex span {self._log_id} {execution_id} {name}"
        return sha256(text.encode()).hexdigest()[:16]


def _about(execution_id: str, rows: list[Row]) -> dict[str, Value]:
    """What the span of an execution says of it."""
    about: dict[str, Value] = {genai.EXECUTION: execution_id}
    for _, event in rows:
        if isinstance(event, ExecutionRequest | ExecutionStarted) and event.process:
            about[genai.AGENT_NAME] = event.process
            about[genai.PROCESS_VERSION] = event.process_version
    return about


def _span(span: Span, call: ModelInvoke | None, *, agent: bool) -> OtelSpan:
    said = span.attributes
    operation, about = span.kind, _common(span)
    kind = INTERNAL
    match span.kind:
        case "execution":
            operation = genai.WORKFLOW
        case "step":
            operation = genai.AGENT if agent else "step"
            about |= {genai.AGENT_NAME: span.name} if agent else {}
            about[genai.STEP] = span.name
        case "model":
            operation, kind = genai.CHAT, CLIENT
            about |= _of_call(span, call)
        case "tool":
            operation = genai.TOOL
            about |= {genai.TOOL_NAME: span.name, genai.TOOL_TYPE: genai.FUNCTION}
            about |= {genai.TOOL_CALL_ID: said["call_id"]} if said.get("call_id") else {}
    if operation in (genai.WORKFLOW, genai.AGENT, genai.CHAT, genai.TOOL):
        about[genai.OPERATION] = operation
    error = ""
    if span.status in ERRORS:
        error = str(said.get("error") or said.get("reason") or span.status)
        about[genai.ERROR_TYPE] = str(said.get("failure") or _kind_of(span) or span.status)
    return OtelSpan(
        trace_id="", span_id="", parent_id="", name=f"{operation} {span.name}".strip(),
        kind=kind, start_ns=span.started_ns, attributes=about, error=error,
        end_ns=span.started_ns + round(span.duration_s * 1e9),
    )  # fmt: skip


def _common(span: Span) -> dict[str, Value]:
    about: dict[str, Value] = {genai.STATUS: span.status, genai.POSITION: span.position}
    for name, key in (("attempt", genai.ATTEMPT), ("action", genai.ACTION), ("turn", genai.TURN)):
        if span.attributes.get(name):
            about[key] = span.attributes[name]
    if span.attributes.get("call", 1) != 1:
        about[genai.CALL] = span.attributes["call"]
    return about


def _of_call(span: Span, call: ModelInvoke | None) -> dict[str, Value]:
    """What only the span of a model call has."""
    about: dict[str, Value] = {genai.REQUEST_MODEL: span.name}
    about[genai.PROVIDER] = (call.provider if call else "") or "unknown"
    if call:
        about[genai.MAX_TOKENS] = call.max_tokens
    if span.status == "responded":
        about[genai.RESPONSE_MODEL] = str(span.attributes.get("model", span.name))
        about[genai.FINISH_REASONS] = [str(span.attributes.get("stop", "end"))]
    return about


def _kind_of(span: Span) -> str:
    return str(span.attributes.get("kind", "")) if span.kind in ("model", "tool") else ""


def _spent(span: Span) -> Spent:
    """What one call spent; counts below zero count as nothing, as in the execution itself."""
    said: Mapping[str, Any] = span.attributes
    usage = {name: max(0, int(said.get(f"{name}_tokens", 0))) for name in Usage.__struct_fields__}
    return Spent(Usage(**usage), (max(0.0, float(said.get("cost", 0.0))),))


def _together(parts: Iterable[Spent]) -> Spent:
    every = list(parts)
    usage = {
        name: sum(getattr(each.usage, name) for each in every) for name in Usage.__struct_fields__
    }
    return Spent(Usage(**usage), tuple(cost for each in every for cost in each.costs))
