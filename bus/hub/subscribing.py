"""Subscriptions in a transaction: made, taken up again, removed."""

from collections.abc import Callable, Collection
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from ..errors import SubscriptionError
from ..filter import Filter
from ..limits import NAME_BYTES, is_too_long
from ..log import SubscriptionState, last_before
from ..requests import Answer, Appended, Subscribe, Subscribed, Unsubscribe

if TYPE_CHECKING:
    from .transaction import Transaction

POSITION_DIGITS = 19  # of the largest that a log can hold


def subscribe(transaction: "Transaction", request: Subscribe) -> Answer:
    """Make a subscription or take one up."""
    check_kind(request)
    before = transaction.find(request.name)
    passing = transaction.is_passing(request.name)
    if before is None:
        standing = made(
            request, transaction.head, partial(last_before, transaction.log, transaction.state.head)
        )
        transaction.tally.refuse_over(request.name, "subscriptions", 1)
    else:
        standing = taken_up(request, before, passing=passing)
    pairs = len(request.filter) - (len(before.filter) if before else 0)
    transaction.tally.refuse_over(request.name, "filters", pairs)
    transaction.tally.add("subscriptions", request.name, before is None)
    transaction.tally.add("filters", request.name, pairs)
    if not request.lasting:
        transaction.passing[request.name] = standing
    elif standing != before:
        transaction.batch.standings[request.name] = standing
        if standing.kind == "work":
            transaction.remade[request.name] = Filter(standing.filter)
    return Subscribed(standing.cursor, transaction.head, standing.attempts, transaction.state.epoch)


def unsubscribe(transaction: "Transaction", request: Unsubscribe) -> Answer:
    """Remove a subscription."""
    if transaction.find(request.name) is None:
        raise SubscriptionError(request.name, "is not known: nothing to remove")
    drop(transaction, (request.name,))
    return Appended()


def drop(transaction: "Transaction", names: Collection[str]) -> None:
    """Remove existing subscriptions, with their waiting work."""
    for name in names:
        standing = transaction.find(name)
        if standing is not None:
            transaction.tally.add("subscriptions", name, -1)
            transaction.tally.add("filters", name, -len(standing.filter))
        transaction.passing.pop(name, None)
        transaction.batch.standings.pop(name, None)
        transaction.tries.drop(name)
        transaction.remade[name] = None
    transaction.batch.work = {
        key: w for key, w in transaction.batch.work.items() if key[0] not in names
    }
    transaction.batch.dropped += names


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
