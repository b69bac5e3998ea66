"""Sends spans to a collector by OTLP over HTTP, with OpenTelemetry's own exporter.

The exporter takes its headers, certificates and time limit from the variables that OpenTelemetry
defines (`OTEL_EXPORTER_OTLP_HEADERS`, ...).
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from typing import TYPE_CHECKING

from cortex.runtime.kernel import VERSION, Home, RefusedError

from . import genai
from .export import ExportDocument
from .otel_spans import CLIENT, OtelSpan, Value
from .otlp import SCOPE, resource_of, traces_of
from .source import Source

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan

FORMAT = "otlp"
EXTRA = "cortex-runtime[otel]"
BATCH_SPANS = 512  # in one request


def send_spans(
    home: Home, endpoint: str, *, first: int = 1, last: int | None = None
) -> ExportDocument:
    """Send the spans of *home* to the collector at *endpoint*, as http://localhost:4318/v1/traces.

    A repeated call sends the same spans with the same ids.

    Args:
        home: The home; as of a position (`Home.at`), the later events are not there.
        endpoint: The URL for traces.
        first: The position from which on executions were requested.
        last: The last position; None for the newest event.

    Raises:
        RefusedError: The extra is not installed, the collector does not take them, or the home has
            no such events. What was sent before stays sent.
        LogError: The log cannot be read.
    """
    send = _sending(endpoint)
    with Source.open(home, first, last) as source, _heard() as problems:
        resource = resource_of(source.meta.log_id)
        spans = chain.from_iterable(traces_of(source))
        while batch := list(islice(spans, BATCH_SPANS)):
            if not send(batch, resource):
                why = problems[-1] if problems else "it gives no reason"
                raise RefusedError(f"{endpoint} does not take the spans: {why}")
        counts = source.counts
        return ExportDocument(
            endpoint, FORMAT, source.first, source.last, counts.events, 0, 0, "", counts.spans
        )


def _sending(endpoint: str) -> Callable[[list[OtelSpan], dict[str, Value]], bool]:
    """A function that sends spans of a resource, and returns whether the collector took them."""
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace.export import SpanExportResult
    except ImportError:
        problem = f"sending spans needs OpenTelemetry's exporter: pip install '{EXTRA}'"
        raise RefusedError(problem) from None
    exporter = OTLPSpanExporter(endpoint=endpoint)

    def send(spans: list[OtelSpan], about: dict[str, Value]) -> bool:
        resource = Resource(about)
        done = exporter.export([readable(each, resource) for each in spans])
        return done is SpanExportResult.SUCCESS

    return send


def readable(span: OtelSpan, resource: "Resource") -> "ReadableSpan":
    """*span* as the SDK has one that ended."""
    from opentelemetry.sdk.trace import Event, ReadableSpan
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

    def context(span_id: str) -> SpanContext:
        sampled = TraceFlags(TraceFlags.SAMPLED)
        return SpanContext(int(span.trace_id, 16), int(span_id, 16), False, sampled)

    return ReadableSpan(
        span.name,
        context=context(span.span_id),
        parent=context(span.parent_id) if span.parent_id else None,
        resource=resource,
        attributes=span.attributes,
        events=[
            Event(each.name, {genai.POSITION: each.position}, each.time_ns) for each in span.events
        ],
        kind=SpanKind.CLIENT if span.kind == CLIENT else SpanKind.INTERNAL,
        status=Status(StatusCode.ERROR, span.error) if span.error else Status(),
        start_time=span.start_ns,
        end_time=span.end_ns,
        instrumentation_scope=InstrumentationScope(SCOPE, VERSION),
    )


class _Kept(logging.Handler):
    """Keeps what is logged, in place of standard error."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(" ".join(record.getMessage().split()))


@contextmanager
def _heard() -> Iterator[list[str]]:
    """What the exporter logs meanwhile: its result says only that it failed."""
    logger, kept = logging.getLogger("opentelemetry"), _Kept()
    before = logger.propagate
    logger.addHandler(kept)
    logger.propagate = False
    try:
        yield kept.lines
    finally:
        logger.removeHandler(kept)
        logger.propagate = before
