"""Makes repeated requests from a wire safe: done once, then answered with the same answers."""

from collections.abc import Callable, Mapping, MutableMapping, Sequence

import msgspec

from ..errors import OutcomeUnknownError
from ..limits import root_of
from ..log import Receipt
from ..requests import Answer, Appended, Attempted, Done, Once, Refused, Request, Subscribed

LANES = 1_024  # receipts per client; two processes of one client rarely share one
LANE = "/~"  # precedes the lane's number in the name of its receipt
TAG_SHIFT = 32


def once(
    client: str,
    request: Once,
    staged: MutableMapping[str, Receipt],
    known: Mapping[str, Receipt],
    answer: Callable[[str, Request], Answer],
) -> Done:
    """Do what *request* holds, unless it was done before; return its answers.

    Args:
        client: Who asks.
        request: Requests, each with its source.
        staged: Receipts of the transaction.
        known: Receipts of earlier ones.
        answer: Answers one request of a source.

    Raises:
        OutcomeUnknownError: As `kept`.
    """
    done = kept(client, request, staged, known)
    if done is not None:
        return done
    answers = [answer(source, each) for source, requests in request.parts for each in requests]
    return keep(client, request, answers, staged)


def kept(
    client: str,
    request: Once,
    staged: Mapping[str, Receipt],
    known: Mapping[str, Receipt],
) -> Done | None:
    """The answers that *request* was given the first time; None if it was not done yet.

    Raises:
        OutcomeUnknownError: It was done, and newer requests of the client since; or another
            process of the client has used its lane.
    """
    lane = _lane(client, request)
    last = staged.get(lane) or known.get(lane)
    if last is None:
        return None
    if last.number == request.number:
        return Done(_READ(last.answer).answers)
    same_life = last.number >> TAG_SHIFT == request.number >> TAG_SHIFT
    # An older number of the same process comes from an abandoned connection: it was done.
    if request.number < last.number if same_life else request.repeat:
        raise OutcomeUnknownError(client)
    return None


def keep(
    client: str,
    request: Once,
    answers: Sequence[Answer],
    staged: MutableMapping[str, Receipt],
) -> Done:
    """Stage the answers in the transaction that makes them true."""
    done = Done(tuple(answers))
    lane = _lane(client, request)
    staged[lane] = Receipt(lane, request.number, _WRITE(done))
    return done


def _lane(client: str, request: Once) -> str:
    # One set of lanes for the whole client, whatever names its programs use.
    return f"{root_of(client)}{LANE}{(request.number >> TAG_SHIFT) % LANES}"


def is_lane(receipt: str) -> bool:
    """Whether a receipt of this name belongs to a lane of frames, not to a numbered publish."""
    return LANE in receipt


class _Kept(msgspec.Struct, frozen=True, array_like=True, tag="done"):
    answers: tuple[Appended | Subscribed | Attempted | Refused, ...]


_READ = msgspec.msgpack.Decoder(_Kept).decode
_WRITE = msgspec.msgpack.Encoder().encode
