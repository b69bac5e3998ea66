"""The answers of tools: a whole text as a blob, and a failure as one line."""

import re

from cortex.bus.events import EffectUnknown, ToolCall, ToolDenied, ToolFailed, ToolReturned
from cortex.runtime.kernel import Begun, Delivery
from cortex.runtime.log import Blobs

EXCERPT_CHARS = 2_000
SUMMARY_CHARS = 200
ERROR_CHARS = 1_000
_BREAKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def returned(event: ToolCall, text: str, blobs: Blobs, summary: str = "") -> ToolReturned:
    """The tool gave *text*; all of it is kept."""
    data = text.encode(errors="replace")  # half a character would not get into an event
    whole = data.decode()
    return ToolReturned(
        execution_id=event.execution_id,
        step_id=event.step_id,
        attempt=event.attempt,
        turn=event.turn,
        call_id=event.call_id,
        tool=event.tool,
        result=blobs.put(data),
        excerpt=whole[:EXCERPT_CHARS],
        bytes=len(data),
        lines=whole.count("\n") + (not whole.endswith("\n") and bool(whole)),
        summary=one_line(summary, SUMMARY_CHARS),
    )


def failed(event: ToolCall, error: str, kind: str = "failed") -> ToolFailed | ToolDenied:
    """The tool gave nothing, or may not be used so."""
    said = one_line(error, ERROR_CHARS)
    if kind == "denied":
        return ToolDenied(
            execution_id=event.execution_id,
            step_id=event.step_id,
            attempt=event.attempt,
            turn=event.turn,
            call_id=event.call_id,
            tool=event.tool,
            reason=said,
        )
    return ToolFailed(
        execution_id=event.execution_id,
        step_id=event.step_id,
        attempt=event.attempt,
        turn=event.turn,
        call_id=event.call_id,
        tool=event.tool,
        error=said,
        kind=kind,
    )


def late(event: ToolCall) -> ToolFailed | ToolDenied:
    """The tool did not give anything in time."""
    return failed(event, f"{event.tool} returned nothing within {event.timeout_s:g} s", "timeout")


def unknown(event: ToolCall, delivery: Delivery, reason: str) -> EffectUnknown:
    """The tool was begun and nobody can say how it ended: a person is asked."""
    begun = Begun.of(event, delivery.effect_key(), delivery.component)
    return begun.unknown(one_line(reason, ERROR_CHARS), delivery.time_ns)


def one_line(text: str, longest: int) -> str:
    """*text* in one line that any event can hold."""
    line = _BREAKS.sub(" ", text).strip().encode(errors="replace").decode()
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
