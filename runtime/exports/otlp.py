"""Spans as OTLP: a line of JSON for each trace, in the form of OpenTelemetry's file exporter."""

from collections.abc import Iterator
from typing import Any

import msgspec

from cortex.bus.events import ExecutionRequest
from cortex.runtime.executions.view import rows_of
from cortex.runtime.kernel import VERSION

from . import genai
from .otel_spans import OtelSpan, TraceBuilder, Value
from .source import Source

SCOPE = "cortex.exports"
FAILED = 2  # the code of a status, in OTLP
_ENCODE = msgspec.json.Encoder().encode


def lines_of(source: Source) -> Iterator[bytes]:
    """A line for each trace."""
    for spans in traces_of(source):
        yield _ENCODE(document_of(spans, source.meta.log_id)) + b"\n"


def traces_of(source: Source) -> Iterator[list[OtelSpan]]:
    """The spans of each execution that was requested in *source* and is nobody's child."""
    for record in source.events():
        if record.version != 1 or record.topic != ExecutionRequest.topic_name():
            continue
        event = source.history.event(record)
        if isinstance(event, ExecutionRequest) and not event.parent:
            trace = TraceBuilder(source.meta.log_id, event.execution_id)
            waiting = [event.execution_id]
            while waiting:
                each = waiting.pop(0)
                waiting += trace.add(each, rows_of(source.history, each))
            spans = trace.finished()
            source.counts.spans += len(spans)
            yield spans


def resource_of(log_id: str) -> dict[str, Value]:
    """What all spans of a log have in common."""
    return {
        "service.name": "cortex",
        "service.version": VERSION,
        "service.instance.id": log_id,
        genai.CONVENTIONS: genai.VERSION,
    }


def document_of(spans: list[OtelSpan], log_id: str) -> dict[str, Any]:
    """*spans* as OTLP's TracesData in JSON."""
    scope = {"scope": {"name": SCOPE, "version": VERSION}, "spans": list(map(_span, spans))}
    resource = {"attributes": _attributes(resource_of(log_id))}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]}


def _span(span: OtelSpan) -> dict[str, Any]:
    found: dict[str, Any] = {
        "traceId": span.trace_id,
        "spanId": span.span_id,
        "name": span.name,
        "kind": span.kind,
        "startTimeUnixNano": str(span.start_ns),
        "endTimeUnixNano": str(span.end_ns),
        "attributes": _attributes(span.attributes),
        "status": {"code": FAILED, "message": span.error} if span.error else {},
    }
    if span.parent_id:
        found["parentSpanId"] = span.parent_id
    if span.events:
        found["events"] = [
            {
                "name": each.name,
                "timeUnixNano": str(each.time_ns),
                "attributes": _attributes({genai.POSITION: each.position}),
            }
            for each in span.events
        ]
    return found


def _attributes(values: dict[str, Value]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _value(value)} for name, value in values.items()]


def _value(value: Value) -> dict[str, Any]:
    match value:
        case int():
            return {"intValue": str(value)}  # JSON has no integers of 64 bits
        case float():
            return {"doubleValue": value}
        case list():
            return {"arrayValue": {"values": [_value(each) for each in value]}}
        case _:
            return {"stringValue": value}
