"""Work of a queue in a transaction: claimed under a lease, held longer, given back, finished."""

from typing import TYPE_CHECKING

import msgspec

from ..errors import LeaseLostError
from ..event import Recorded
from ..log import Work
from ..requests import (
    Answer,
    Appended,
    Claim,
    Claimed,
    Finish,
    Lease,
    Release,
    Renew,
    StandDown,
    StandingClaim,
)
from .cancellation import drop_cancelled

if TYPE_CHECKING:
    from .transaction import Transaction


def standing_claim(transaction: "Transaction", request: StandingClaim) -> Answer:
    """Take the work leased to the claim, or the oldest free work; otherwise the claim stays."""
    transaction.standing(request.subscription, "work")
    unfetched = transaction.claims.take(request.claimant)
    fetched = tuple(each for each in unfetched.leases if _fetch(transaction, request, each))
    answer = Claimed(fetched) if fetched else claim(transaction, request)
    if not answer.leases:
        transaction.claims.add(request)
    return answer


def stand_down(transaction: "Transaction", request: StandDown) -> Answer:
    """Withdraw a standing claim; work leased for it and not fetched is free again."""
    here = transaction.claims.take_staged(request.claimant)  # leased in this very transaction
    before = transaction.claims.take(request.claimant)
    for unfetched in (before, here):
        subscription = unfetched.subscription
        queue = transaction.state.queues.get(subscription)
        for lease in unfetched.leases:
            key = (subscription, lease.record.position)
            work = transaction.batch.work.get(key) or (queue.get(key[1]) if queue else None)
            if work is None or work.epoch != lease.epoch or not work.not_before_ns:
                continue
            if key in transaction.gone or subscription in transaction.batch.dropped:
                continue
            # No worker began it: this lease does not count as an attempt.
            transaction.batch.work[key] = msgspec.structs.replace(
                work, not_before_ns=0, attempts=work.attempts - 1
            )
            transaction.woken.add(subscription)
    return Appended()


def _fetch(transaction: "Transaction", request: StandingClaim, lease: Lease) -> bool:
    """Whether work leased to a standing claim is still leased to it, and still wanted."""
    subscription = request.subscription
    queue, key = transaction.state.queues.get(subscription), (subscription, lease.record.position)
    work = queue.get(lease.record.position) if queue else None
    held = work is not None and work.epoch == lease.epoch
    if work is None or not held or work.not_before_ns <= transaction.steady_ns:
        return False
    if (
        key in transaction.batch.work
        or key in transaction.gone
        or subscription in transaction.batch.dropped
    ):
        return False
    if drop_cancelled(transaction, work, lease.record):
        return False
    # A worker renews its lease after a third of it: the remaining two thirds must be left.
    if work.not_before_ns - transaction.steady_ns < request.lease_ns * 2 // 3:
        _keep(transaction, work, transaction.steady_ns + request.lease_ns)
    return True


def claim(transaction: "Transaction", request: Claim) -> Claimed:
    """Take the oldest free work."""
    transaction.standing(request.subscription, "work")
    queue = transaction.state.queues.get(request.subscription)
    if queue is None or request.subscription in transaction.batch.dropped:
        return Claimed(())  # the subscription is new in this very batch
    if not request.limit:
        return Claimed((), queue.any_claimable(transaction.steady_ns))
    popped: list[int] = []
    left: list[int] = []  # suspects, which must be tried alone
    taken: list[tuple[Work, Recorded]] = []
    try:
        for work in queue.claimable(transaction.steady_ns):
            popped.append(work.position)
            key = (work.subscription, work.position)
            if key in transaction.batch.work or key in transaction.gone:
                continue  # claimed, renewed or finished earlier in this batch
            suspect = transaction.tries.is_suspect(key)
            if suspect and (taken or transaction.tries.must_wait(key)):
                left.append(popped.pop())
                continue
            record = transaction.record(work.position)
            if drop_cancelled(transaction, work, record):
                continue
            taken.append((work, record))
            if suspect or len(taken) >= request.limit:
                break
    except BaseException:
        for position in popped:
            queue.again(position)
        raise
    finally:
        for position in left:
            queue.again(position)
    transaction.popped += [(request.subscription, position) for position in popped]
    transaction.batch.sync |= request.sync and bool(taken)
    return Claimed(tuple(transaction.leased(*pair, request.lease_ns) for pair in taken))


def renew(transaction: "Transaction", request: Renew) -> Answer:
    """Hold one event longer."""
    work = held_work(transaction, request)
    _keep(transaction, work, transaction.steady_ns + request.lease_ns)
    return Appended()


def release(transaction: "Transaction", request: Release) -> Answer:
    """Give one event back."""
    work = held_work(transaction, request)
    _keep(transaction, work, transaction.steady_ns + request.backoff_ns)
    transaction.tries.make_room((request.subscription, request.position))
    transaction.woken.add(request.subscription)
    return Appended()


def finish(transaction: "Transaction", client: str, request: Finish) -> Answer:
    """End one event's work and append."""
    held_work(transaction, request)
    answer = transaction.take(client, request.events, request.due, request.forget)
    transaction.end((request.subscription, request.position))
    return answer


def held_work(transaction: "Transaction", request: Finish | Renew | Release) -> Work:
    """The work that *request* claims to hold."""
    name, position = request.subscription, request.position
    transaction.standing(name, "work")
    work = transaction.batch.work.get((name, position))
    if (
        work is None
        and name not in transaction.batch.dropped
        and (name, position) not in transaction.gone
    ):
        queue = transaction.state.queues.get(name)
        work = queue.get(position) if queue else None
    # A claim that the log lost may have been made again, with the same epoch.
    held = work is not None and work.epoch == request.epoch
    if work is None or not held or request.log_epoch not in (0, work.log_epoch):
        raise LeaseLostError(name, position, request.epoch)
    return work


def _keep(transaction: "Transaction", work: Work, not_before_ns: int) -> None:
    transaction.batch.work[work.subscription, work.position] = msgspec.structs.replace(
        work, not_before_ns=not_before_ns
    )


def answer(transaction: "Transaction", request: Claim | Renew | Release | StandDown) -> Answer:
    """Do what a worker asks for."""
    match request:
        case StandingClaim():
            return standing_claim(transaction, request)
        case StandDown():
            return stand_down(transaction, request)
        case Claim():
            return claim(transaction, request)
        case Renew():
            return renew(transaction, request)
        case Release():
            return release(transaction, request)
