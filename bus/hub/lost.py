"""Refuses requests about events that the log has lost; needed if an epoch is not the newest.

A request may come from before the hub's last opening. Most of it is still valid.
The hub does it if its positions, versions and numbers are from the part of the log that was kept.
"""

from collections.abc import Iterable, Mapping

import msgspec

from ..errors import TailLostError
from ..event import Draft, decode
from ..events.log import LogEpochBegan, LogTailLost
from ..log import Log, Receipt
from ..requests import (
    Appended,
    Commit,
    Fetch,
    Finish,
    Publish,
    Release,
    Renew,
    Request,
)
from .hub_state import HubState
from .transaction import Transaction

LOSSES_TOLD = 64  # per opening; clients must not be able to fill the log

_READ_ANSWER = msgspec.msgpack.Decoder(Appended).decode


class Losses:
    """Records what clients lost, once for each epoch that a client knew."""

    def __init__(self) -> None:
        self._told: set[tuple[str, int]] = set()

    def note(self, transaction: Transaction, client: str, epoch: int, error: TailLostError) -> None:
        """Stage the event, unless it was recorded before."""
        if (client, epoch) in self._told or len(self._told) >= LOSSES_TOLD:
            return
        self._told.add((client, epoch))
        lost = LogTailLost(common=error.common, seen=error.seen, epoch=f"{epoch:x}", client=client)
        transaction.tell(Draft.of(lost))


def epoch_began(state: HubState) -> list[Draft]:
    """The events to record when a log is opened; none after a clean shutdown or for a new log."""
    noted = [state.noted] if state.noted else []
    if not state.unclean and state.ended is None:
        return noted
    epoch = state.epochs[-1]
    began = LogEpochBegan(
        epoch=f"{epoch.id:x}",
        after=epoch.start,
        reason="unclean" if state.ended is None else "cut",
        ended=state.ended or 0,
    )
    return [*noted, Draft.of(began)]


def refuse_lost(
    client: str, request: Request, state: HubState, log: Log, staged: Mapping[str, Receipt]
) -> None:
    """Refuse *request*, which names an older epoch, if the log has lost what it refers to.

    Raises:
        TailLostError: What it refers to was lost.
    """
    match request:
        case Fetch(after=position):
            state.refuse_lost(request.log_epoch, position)
        case Commit(through=position) | Finish(position=position):
            state.refuse_lost(request.log_epoch, position)
            _refuse_drafts(request.events, request.log_epoch, state, log)
        case Renew(position=position) | Release(position=position):
            state.refuse_lost(request.log_epoch, position)
        case Publish():
            state.refuse_lost(request.log_epoch, request.seen)
            _refuse_receipt(client, request, state, staged)
            _refuse_drafts(request.events, request.log_epoch, state, log)
        case _:
            pass


def _refuse_receipt(
    client: str, request: Publish, state: HubState, staged: Mapping[str, Receipt]
) -> None:
    """Refuse a number that was assigned again: its receipt belongs to another publish."""
    receipt = staged.get(client) or state.receipts.get(client)
    if request.number and receipt is not None and receipt.number == request.number:
        state.refuse_lost(request.log_epoch, _READ_ANSWER(receipt.answer).last)


def _refuse_drafts(drafts: Iterable[Draft], epoch: int, state: HubState, log: Log) -> None:
    for draft in drafts:
        if draft.causation:
            state.refuse_lost(epoch, draft.causation)
        if draft.expected_version:
            page = log.read_stream(draft.stream, draft.expected_version - 1, 1)
            if page:
                state.refuse_lost(epoch, decode(page[0]).position)
            else:  # the stream is shorter than that: the rest was in the lost part
                raise TailLostError(state.head + 1, state.ends.get(epoch, 0))
