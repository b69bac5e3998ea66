"""Where a subscription stands once it is made, or taken up again."""

import msgspec

from .errors import SubscriptionError
from .limits import NAME_BYTES, is_too_long
from .log import Standing
from .requests import Subscribe


def check_kind(request: Subscribe) -> None:
    """Refuse what no subscription is.

    Raises:
        SubscriptionError: The message says what there is.
    """
    if request.kind not in ("ordered", "work"):
        raise SubscriptionError(request.name, f"is ordered or work, not {request.kind}")
    if request.kind == "work" and (request.start == "beginning" or not request.lasting):
        raise SubscriptionError(request.name, "is work: it lasts, and takes events from now on")


def made(request: Subscribe, head: int) -> Standing:
    """A new subscription, in a log with this *head*.

    Raises:
        SubscriptionError: Its name is too long.
    """
    name = request.name
    if is_too_long(name):
        raise SubscriptionError(f"{name[:40]}...", f"has a name of more than {NAME_BYTES} bytes")
    cursor = 0 if request.start == "beginning" else head
    return Standing(name, request.kind, request.filter, cursor, 0, head)


def taken_up(request: Subscribe, before: Standing, *, passing: bool) -> Standing:
    """The subscription that is there, as *request* wants it; *passing* says that it does not last.

    Raises:
        SubscriptionError: It cannot be had so; the message says what to do.
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
