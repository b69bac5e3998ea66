"""The initial position of a subscription that is made or taken up again."""

from collections.abc import Callable
from datetime import datetime

import msgspec

from ..errors import SubscriptionError
from ..limits import NAME_BYTES, is_too_long
from ..log import SubscriptionState
from ..requests import Subscribe

POSITION_DIGITS = 19  # of the largest that a log can hold


def check_kind(request: Subscribe) -> None:
    """Refuse a request with an invalid kind.

    Raises:
        SubscriptionError: The message says which kinds are valid.
    """
    if request.kind not in ("ordered", "work"):
        raise SubscriptionError(request.name, f"is ordered or work, not {request.kind}")
    if request.kind == "work" and (request.start != "now" or not request.lasting):
        raise SubscriptionError(request.name, "is work: it lasts, and takes events from now on")


def made(request: Subscribe, head: int, before: Callable[[int], int]) -> SubscriptionState:
    """A new subscription in a log with this *head*.

    Args:
        request: Starts now, at the beginning, at a position, or at a time.
        head: Position of the newest event.
        before: Position of the last event before a time in nanoseconds.

    Raises:
        SubscriptionError: Its name is too long, or its start is invalid.
    """
    name = request.name
    if is_too_long(name):
        raise SubscriptionError(f"{name[:40]}...", f"has a name of more than {NAME_BYTES} bytes")
    return SubscriptionState(
        name, request.kind, request.filter, _cursor(request, head, before), 0, head
    )


def check_start(start: str, head: int, name: str = "") -> None:
    """Refuse an invalid start in a log with *head* events.

    Raises:
        SubscriptionError: The message says which starts are valid.
    """
    _cursor(Subscribe(name, "ordered", (), start), head, lambda _: 0)


def _cursor(request: Subscribe, head: int, before: Callable[[int], int]) -> int:
    """Position of the last event that a new subscription does not get."""
    start = request.start
    if start in ("now", "beginning"):
        return head if start == "now" else 0
    if start.isascii() and start.isdecimal() and len(start) <= POSITION_DIGITS:
        if 0 < int(start) <= head + 1:
            return int(start) - 1
        raise SubscriptionError(request.name, f"begins at {start}; the log has 1 to {head}")
    try:
        moment = datetime.fromisoformat(start)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise SubscriptionError(
            request.name,
            f"begins at {start[:40]!r}: expected now, beginning, the position of an event, or a "
            "time with its zone, as in 2026-11-23T10:00:00+00:00",
        )
    return before(round(moment.timestamp() * 1_000_000) * 1_000)


def taken_up(request: Subscribe, before: SubscriptionState, *, passing: bool) -> SubscriptionState:
    """The existing subscription, as *request* changes it; *passing*: it does not last.

    Raises:
        SubscriptionError: The existing one does not fit; the message says what to do.
    """
    if before.kind != request.kind:
        raise SubscriptionError(
            request.name,
            f"is {before.kind} in this log and cannot become {request.kind}: give the "
            "component another name, or unsubscribe this one first",
        )
    if request.lasting == passing:
        raise SubscriptionError(request.name, "exists and lasts, or does not: take another name")
    return msgspec.structs.replace(before, filter=request.filter)
