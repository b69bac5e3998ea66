"""The answers of tools: a result as a blob, some lines of a long text, a failure as one line."""

import re

from cortex.bus.events import EffectUnknown, ToolCall, ToolDenied, ToolFailed, ToolReturned
from cortex.runtime.kernel import Begun, Delivery, many
from cortex.runtime.log import Blobs

EXCERPT_CHARS = 2_000
SUMMARY_CHARS = 200
ERROR_CHARS = 1_000
_BREAKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+")
MOST_LINES = 2_000  # of a window
MOST_CHARS = 100_000
LINE_CHARS = 2_000  # of one line; the rest is generated, or data


def returned(event: ToolCall, text: str, blobs: Blobs, summary: str = "") -> ToolReturned:
    """The event of a result *text*, which is stored whole."""
    data = text.encode(errors="replace")  # an event cannot contain half a surrogate pair
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
    """The event of a failure, or of a forbidden use."""
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
    """The event of a timeout."""
    return failed(event, f"{event.tool} returned nothing within {event.timeout_s:g} s", "timeout")


def unknown(event: ToolCall, delivery: Delivery, reason: str) -> EffectUnknown:
    """The event that the tool began and its end is unknown: a person is asked."""
    begun = Begun.of(event, delivery.effect_key(), delivery.component)
    return begun.unknown(one_line(reason, ERROR_CHARS), delivery.time_ns)


def one_line(text: str, longest: int) -> str:
    """*text* in one line that fits into any event."""
    line = _BREAKS.sub(" ", text).strip().encode(errors="replace").decode()
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def window(text: str, first: int, last: int | None, *, again: str) -> str:
    """Lines *first* to *last* of *text*, both included, counted from 1, each after its number.

    Args:
        text: All of it.
        first: The first line wanted.
        last: The last one; None for as many as fit.
        again: The call that gives the rest.
    """
    lines = lines_of(text)
    end = min(len(lines), last or len(lines), first + MOST_LINES - 1)
    shown: list[str] = []
    room = MOST_CHARS
    for number in range(first, end + 1):
        line = _cut(lines[number - 1])
        room -= len(line) + 8
        if room < 0:
            break
        shown.append(f"{number}\t{line}\n")
    if not shown:
        return f"there are {many(len(lines), 'line')}\n" if lines else "it is empty\n"
    through = first + len(shown) - 1
    wanted = min(len(lines), last or len(lines))
    head = "" if (first, through) == (1, len(lines)) else _head(first, through, len(lines))
    rest = f"… more follows: {again} with first_line {through + 1}\n" if through < wanted else ""
    return f"{head}{''.join(shown)}{rest}"


def lines_of(text: str) -> list[str]:
    r"""The lines of *text* as git counts them: only `\n` ends one, and `\r\n`."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines if lines[-1] else lines[:-1]


def _head(first: int, through: int, lines: int) -> str:
    return f"lines {first}-{through} of {lines:,}\n"


def _cut(line: str) -> str:
    left = len(line) - LINE_CHARS
    return line if left <= 0 else f"{line[:LINE_CHARS]}… {left:,} characters more"
