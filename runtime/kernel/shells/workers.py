"""Feeds components from a queue: workers, which take events one by one or many at a time."""

from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING

from cortex.bus import (
    Answer,
    Claim,
    Claimed,
    Finish,
    Lease,
    LeaseLostError,
    Refused,
    Release,
    Request,
    StandingClaim,
    Subscribe,
    Subscribed,
    TailLostError,
)

from ..components.effect import Contract
from ..hosts.host import Effects, Host, Outcome
from .endings import Endings
from .feed import PAGE, Feeding, Idle, Program, Quiet, Step, ask, expected, given_up
from .intents import intend, left, report, settled, try_once
from .recall import Rest
from .retries import backoff_ns, blamed, own, parked, shown

if TYPE_CHECKING:
    from ..hosts.async_host import AsyncHost

QUICK_NS = 5_000_000  # faster work is claimed in batches, and committed together
SLOW_NS = 50_000_000  # slower work is claimed one by one


def work(feeding: Feeding, host: Host, now_ns: Callable[[], int]) -> Program:
    """Feed one worker from a queue; an event that fails is released, then parked."""
    yield from ask(Subscribe(feeding.name, "work", feeding.filter), Subscribed)
    host.share()
    contract = feeding.contract
    size = 1
    requests: list[Request] = []  # results of the last events; sent with the next claim
    while True:
        if not host.is_ready():  # no event is in progress while it starts
            yield from _send(requests)
            requests = []
            found = yield from ask(Claim(feeding.name, 0, feeding.lease_ns), Claimed)
            if not found.waiting:
                yield from _idle(feeding)
                continue
            host.make_ready()
        claimed = yield from _end_and_claim(requests, feeding.claim(size))
        requests = []
        if not claimed.leases:
            yield from _idle(feeding)
            continue
        began_ns = since_ns = now_ns()
        for lease in claimed.leases:
            if contract is not None and contract.is_once(lease.record):
                yield from _send(requests)
                yield from _work_once(feeding, contract, host, lease)
                requests, since_ns = [], now_ns()
                continue
            requests.append(_work_one(feeding, host, lease))
            if now_ns() - since_ns > QUICK_NS:  # results are on disk before the next event begins
                yield from _send(requests)
                requests, since_ns = [], now_ns()
        took_ns = now_ns() - began_ns
        if took_ns < QUICK_NS and len(claimed.leases) == size:
            size = min(2 * size, PAGE)
        elif took_ns > SLOW_NS:
            size = 1


def _idle(feeding: Feeding, under_way: int = 0) -> Generator[Step, Sequence[Answer], None]:
    try:
        yield Idle(None if under_way else feeding.rest_ns)
    except Quiet:
        raise Rest from None


def work_side_by_side(feeding: Feeding, host: "AsyncHost", endings: Endings) -> Program:
    """Feed a component that handles many events of a queue concurrently."""
    yield from ask(Subscribe(feeding.name, "work", feeding.filter), Subscribed)
    host.share()
    under_way, contract = 0, feeding.contract
    while True:
        ended = host.ended()
        under_way -= len(ended)
        yield from _end_all(feeding, ended)
        leases: tuple[Lease, ...] = ()
        if under_way < host.concurrent:
            limit = min(PAGE, host.concurrent - under_way)
            leases = (yield from ask(feeding.claim(limit), Claimed)).leases
        yield from endings.follow(leases)
        for lease in leases:
            if contract is not None and contract.is_once(lease.record):
                under_way += yield from _begin_once(feeding, contract, host, lease)
            elif untried := _untried(feeding, lease):
                yield from _send((untried,))
            else:
                host.begin(lease, shown(lease))
                under_way += 1
        yield from endings.look(host)
        if not ended and not leases:
            if not under_way:
                yield from endings.leave()
            yield from _idle(feeding, under_way)


def _end_all(
    feeding: Feeding, ended: Sequence[tuple[Lease, Outcome]]
) -> Generator[Step, Sequence[Answer], None]:
    """Record the results of events that were handled concurrently."""
    contract = feeding.contract
    plain: list[Request] = []
    for lease, outcome in ended:
        if contract is not None and contract.is_once(lease.record):
            effects = settled(contract, lease.record, outcome, feeding.traces)
            yield from report(_finish(feeding, lease, effects))
        else:
            plain.append(_settled(feeding, lease, outcome))
    yield from _send(plain)


def _work_one(feeding: Feeding, host: Host, lease: Lease) -> Request:
    untried = _untried(feeding, lease)
    if untried is not None:
        return untried
    return _settled(feeding, lease, host.handle((lease.record,), shown(lease)))


def _work_once(
    feeding: Feeding, contract: Contract, host: Host, lease: Lease
) -> Generator[Step, Sequence[Answer], None]:
    """Work on an event whose effect may happen only once."""
    intent = yield from intend(contract, lease.record)
    effects = try_once(contract, host, lease.record, shown(lease), intent, feeding.traces)
    yield from report(_finish(feeding, lease, effects))


def _begin_once(
    feeding: Feeding, contract: Contract, host: "AsyncHost", lease: Lease
) -> Generator[Step, Sequence[Answer], bool]:
    """Begin an effect that may happen only once; returns whether a handler works on it."""
    intent = yield from intend(contract, lease.record)
    if intent == "new" or (intent == "begun" and contract.recovers):
        host.begin(lease, shown(lease), begun=intent == "begun")
        return True
    yield from report(_finish(feeding, lease, left(contract, lease.record, intent)))
    return False


def _untried(feeding: Feeding, lease: Lease) -> Finish | None:
    """Park an event that was begun too often; None if it may be tried."""
    blame = blamed(feeding.max_attempts, lease, "its workers ended during it or hung")
    if not blame:
        return None
    return _finish(feeding, lease, parked(feeding.name, lease.record, blame, lease.attempts - 1))


def _settled(feeding: Feeding, lease: Lease, outcome: Outcome) -> Request:
    """The request after an attempt: record the result, retry later, or park the event."""
    if outcome.failure is None:
        return _finish(feeding, lease, outcome.done[0])
    if feeding.traces is not None:
        feeding.traces.take(lease.record, outcome, own(lease))
    if own(lease) < feeding.max_attempts:
        backoff = backoff_ns(own(lease))
        held = lease.record.position, lease.epoch
        return Release(feeding.name, *held, backoff, lease.log_epoch)
    return _finish(feeding, lease, given_up(feeding, lease.record, outcome, lease.attempts))


def _finish(feeding: Feeding, lease: Lease, effects: Effects) -> Finish:
    return Finish(
        feeding.name,
        lease.record.position,
        lease.epoch,
        effects.events,
        effects.due,
        effects.forget,
        lease.log_epoch,
    )


def _end_and_claim(
    requests: Sequence[Request], claim: Claim
) -> Generator[Step, Sequence[Answer], Claimed]:
    """Record the results of work, and claim more: in one transaction with standing claims.

    Over a wire these are separate, because a frame that is done once must not contain a claim.
    """
    if not isinstance(claim, StandingClaim):
        yield from _send(requests)
        return (yield from ask(claim, Claimed))
    *ended, answer = yield (*requests, claim)
    _look_at(ended)
    return expected(claim, answer, Claimed)


def _send(requests: Sequence[Request]) -> Generator[Step, Sequence[Answer], None]:
    if requests:
        _look_at((yield requests))


def _look_at(answers: Sequence[Answer]) -> None:
    for answer in answers:
        if isinstance(answer, Refused):
            error = answer.error()
            # Another worker has it, or it is no longer in the log: drop the result.
            if not isinstance(error, LeaseLostError | TailLostError):
                raise error
