"""Asks ordered components about events before the transaction that appends them is written.

Usually a component is woken when the events are on disk, fetches them on its own thread, and
commits what follows in a second transaction. One that is idle, has seen everything before, and
decides from its memory alone, is asked at once: its results and its cursor are written together
with the events, or none of them is.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from ..errors import CortexError
from ..event import Recorded
from ..requests import Answer, Claimed, Commit, Request, StandingClaim

if TYPE_CHECKING:
    from .transaction import Transaction

AT_ONCE = 4  # events for one component, at most: the hub does nothing else meanwhile


class EarlyDecider(Protocol):
    """An ordered component in the hub's process that may be asked at once."""

    name: str  # its subscription

    def decide(self, records: Sequence[Recorded], head: int) -> Commit | None:
        """What follows from *records*, all that it has to see up to *head*; None: not at once.

        It may neither wait nor call the hub. After a commit, `written` or `dropped` is called.
        """
        ...

    def written(self, newest: int) -> None:
        """An event for it is on disk at *newest*, and so is its commit, if there was one."""
        ...

    def dropped(self) -> None:
        """Its commit was not written."""
        ...


class Deciding:
    """The deciders of a hub, and what they add to its transactions, one after the other."""

    def __init__(self) -> None:
        self._deciders: dict[str, EarlyDecider] = {}
        self._asked: list[EarlyDecider] = []  # their commits are part of the transaction

    def begin(self, decider: EarlyDecider, head: int) -> None:
        """Ask *decider* from now on, once it has seen everything up to *head*."""
        self._deciders[decider.name] = decider
        decider.written(head)

    def end(self, name: str) -> None:
        """Ask the decider of that name no more."""
        self._deciders.pop(name, None)

    def moved(self, head: int) -> None:
        """Note that there may be events up to *head* that they were not asked about."""
        for decider in self._deciders.values():
            decider.written(head)

    def decide(
        self,
        transaction: "Transaction",
        requests: Sequence[tuple[str, Request]],
        answers: list[Answer],
    ) -> None:
        """Add to *transaction* what follows from its events, and to *answers* the work in it."""
        for decider in self._deciders.values():
            records = _seen(decider, transaction)
            if not 0 < len(records) <= AT_ONCE:
                continue
            commit = decider.decide(records, transaction.head)
            if commit is None:
                continue
            self._asked.append(decider)
            try:
                transaction.commit(decider.name, commit, transaction.head)
            except CortexError:
                self._asked.pop().dropped()
        if self._asked:
            for index, (_, request) in enumerate(requests):
                if isinstance(request, StandingClaim) and (
                    leases := transaction.claims.take_served(request.claimant)
                ):
                    answers[index] = Claimed(leases)

    def settle(self, transaction: "Transaction") -> None:
        """Note that *transaction* is on disk."""
        self._asked.clear()
        for decider in self._deciders.values():
            if records := _seen(decider, transaction):
                decider.written(records[-1].position)

    def drop(self) -> None:
        """Note that the transaction was not written."""
        for decider in self._asked:
            decider.dropped()
        self._asked.clear()


def _seen(decider: EarlyDecider, transaction: "Transaction") -> list[Recorded]:
    """The events of *transaction* that a decider has to see."""
    seen = transaction.state.filters.get(decider.name)
    if seen is None:
        return []
    return [each for each in transaction.records if seen.matches(each.topic, each.key)]
