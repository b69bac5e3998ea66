"""Requests that came over a wire and may come again: done once, answered as often as they come."""

from collections.abc import Mapping, MutableMapping, Sequence

import msgspec

from .errors import OutcomeUnknownError
from .limits import root_of
from .log import Receipt
from .requests import Answer, Appended, Attempted, Done, Once, Refused, Subscribed

LANES = 1_024  # lines a client has for this; two lives of one client seldom share one
LANE = "/~"  # before the number of a line, in the name of its receipt
TAG_SHIFT = 32


def kept(
    client: str,
    request: Once,
    staged: Mapping[str, Receipt],
    known: Mapping[str, Receipt],
) -> Done | None:
    """The answers that *request* was given the first time; None where it was not done yet.

    Raises:
        OutcomeUnknownError: It was done, and newer ones of the client since; or another life of the
            client has used its line.
    """
    lane = _lane(client, request)
    last = staged.get(lane) or known.get(lane)
    if last is None:
        return None
    if last.number == request.number:
        return Done(_READ(last.answer).answers)
    same_life = last.number >> TAG_SHIFT == request.number >> TAG_SHIFT
    # An older number of the same life was overtaken on a connection that is given up: it was done.
    if request.number < last.number if same_life else request.repeat:
        raise OutcomeUnknownError(client)
    return None


def keep(
    client: str,
    request: Once,
    answers: Sequence[Answer],
    staged: MutableMapping[str, Receipt],
) -> Done:
    """Note the answers for the transaction that makes them true."""
    done = Done(tuple(answers))
    lane = _lane(client, request)
    staged[lane] = Receipt(lane, request.number, _WRITE(done))
    return done


def _lane(client: str, request: Once) -> str:
    # Of the whole client: under however many names it comes, it has no more of them.
    return f"{root_of(client)}{LANE}{(request.number >> TAG_SHIFT) % LANES}"


def is_lane(receipt: str) -> bool:
    """Whether a receipt of this name is a line of numbered frames, and no numbered publish."""
    return LANE in receipt


class _Kept(msgspec.Struct, frozen=True, array_like=True, tag="done"):
    answers: tuple[Appended | Subscribed | Attempted | Refused, ...]


_READ = msgspec.msgpack.Decoder(_Kept).decode
_WRITE = msgspec.msgpack.Encoder().encode
