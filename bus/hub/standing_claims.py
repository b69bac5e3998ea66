"""Standing claims: the hub leases new work to an idle worker in the transaction that appends it.

Otherwise that transaction would wake the worker, which would then claim the work in a second
transaction. With a standing claim the work is leased at once, and the next claim of the woken
worker is answered from memory. Lease, epoch and attempt are on disk like any other.
"""

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

import msgspec

from ..requests import Claimed, Lease, StandingClaim

if TYPE_CHECKING:
    from .hub_state import HubState


class Unfetched(msgspec.Struct, frozen=True):
    """Work leased to a standing claim, which the claimant has not fetched yet."""

    subscription: str
    leases: tuple[Lease, ...]


NONE = Unfetched("", ())


class StandingClaims(msgspec.Struct):
    """Waiting claimants, and the work leased to each and not fetched yet; changed after a write."""

    waiting: dict[str, dict[str, StandingClaim]] = {}  # by subscription and claimant, oldest first
    leased: dict[str, Unfetched] = {}  # by claimant

    def add(self, claim: StandingClaim) -> None:
        """Add a standing claim."""
        self.waiting.setdefault(claim.subscription, {})[claim.claimant] = claim

    def remove(self, claimant: str) -> None:
        """Remove the claim of *claimant*, and the work leased to it."""
        self.leased.pop(claimant, None)
        for claims in self.waiting.values():
            claims.pop(claimant, None)

    def drop(self, subscriptions: Iterable[str]) -> None:
        """Remove the claims on these subscriptions, which are removed."""
        for name in subscriptions:
            self.waiting.pop(name, None)


class StagedClaims:
    """The changes of standing claims in one transaction."""

    def __init__(self, standing: StandingClaims) -> None:
        self._standing = standing
        self._left: set[str] = set()  # claimants that claimed again, or withdrew
        self._made: dict[str, StandingClaim] = {}  # by claimant
        self._leased: dict[str, Unfetched] = {}  # by claimant

    def take(self, claimant: str) -> Unfetched:
        """Take the work leased to *claimant*, whose claim ends."""
        self._made.pop(claimant, None)
        if claimant in self._left:
            return NONE
        self._left.add(claimant)
        return self._standing.leased.get(claimant, NONE)

    def take_staged(self, claimant: str) -> Unfetched:
        """Take back the work that this transaction leased to *claimant*."""
        return self._leased.pop(claimant, NONE)

    def add(self, claim: StandingClaim) -> None:
        """Add *claim* once the transaction is written."""
        self._made[claim.claimant] = claim

    def for_work(self, subscription: str) -> StandingClaim | None:
        """The oldest claim on *subscription*, which gets the next work."""
        for claimant, claim in self._standing.waiting.get(subscription, {}).items():
            room = claim.limit - len(self._leased.get(claimant, NONE).leases)
            if claimant not in self._left and room > 0:
                return claim
        for claim in self._made.values():
            room = claim.limit - len(self._leased.get(claim.claimant, NONE).leases)
            if claim.subscription == subscription and room > 0:
                return claim
        return None

    def take_served(self, claimant: str) -> tuple[Lease, ...]:
        """The work that this transaction leased to a claim made in it, which is over then."""
        if claimant not in self._made or claimant not in self._leased:
            return ()
        del self._made[claimant]
        return self._leased.pop(claimant).leases

    def lease(self, claim: StandingClaim, lease: Lease) -> None:
        """Lease work to *claim* once the transaction is written."""
        before = self._leased.get(claim.claimant, NONE).leases
        self._leased[claim.claimant] = Unfetched(claim.subscription, (*before, lease))

    def settle(self, dropped: Collection[str]) -> None:
        """Apply the changes: the transaction is on disk."""
        for claimant in self._left:
            self._standing.remove(claimant)
        if dropped:
            self._standing.drop(dropped)
        for claimant, unfetched in self._leased.items():
            self._standing.remove(claimant)  # the claim is served, and the claimant claims again
            self._standing.leased[claimant] = unfetched
        for claim in self._made.values():
            if claim.claimant not in self._leased:
                self._standing.add(claim)


def fetch_leased(state: "HubState", request: StandingClaim, steady_ns: int) -> Claimed | None:
    """Take the work leased to a standing claim, if answering needs no write.

    None if nothing is leased, a lease is about to end, or the stream of an event has newer events,
    so that the work may no longer be wanted.
    """
    claims, name = state.standing_claims, request.subscription
    unfetched, queue = claims.leased.get(request.claimant), state.queues.get(name)
    if unfetched is None or unfetched.subscription != name or queue is None:
        return None
    long_enough_ns = steady_ns + request.lease_ns * 2 // 3
    for lease in unfetched.leases:
        record, work = lease.record, queue.get(lease.record.position)
        if (
            work is None
            or work.epoch != lease.epoch
            or work.not_before_ns < long_enough_ns
            or state.versions.get(record.stream) != record.version
        ):
            return None
    del claims.leased[request.claimant]
    return Claimed(unfetched.leases)
