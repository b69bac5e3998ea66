"""Feeds of components: generators that request events from a hub and commit the results.

Each is a generator: it yields requests (or `Idle`, or `Pause`) and is sent the answers. So a
thread and a simulator drive the same code, and a simulator can crash it between any two requests.
"""

from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, TypeVar

import msgspec

from cortex.bus import (
    LOOKED_AT,
    Answer,
    Appended,
    Attempt,
    Attempted,
    Claim,
    Claimed,
    Commit,
    CortexError,
    CursorError,
    Due,
    Fetch,
    Finish,
    Lease,
    LeaseLostError,
    Page,
    Pair,
    Recorded,
    Refused,
    Release,
    Request,
    StandingClaim,
    Subscribe,
    Subscribed,
    TailLostError,
)

from ..components.effect import Contract
from ..hosts.host import NOTHING, Effects, Host, Outcome
from ..hosts.tracebacks import Tracebacks
from .endings import Endings
from .intents import intend, left, report, settled, try_once, up_to_once
from .recall import Recall, Rest
from .retries import backoff_ns, blamed, own, parked, position_of, shown, up_to_retry

if TYPE_CHECKING:
    from ..hosts.async_host import AsyncHost

PAGE = 256  # events per fetch; the page bounds the memory of a component
QUICK_NS = 5_000_000  # faster work is claimed in batches, and committed together
SLOW_NS = 50_000_000  # slower work is claimed one by one
LAZY = 256  # positions; a cursor may lag behind this many events without results
QUIET_NS = 1_000_000_000  # after this long without an event the cursor moves anyway
IDLE_COMMIT = 10_000  # a cursor this far behind moves even without matching events


class Flush(Exception):  # noqa: N818  # thrown into a program that is idle, not an error
    """Commit what is handled, and end."""


class Quiet(Exception):  # noqa: N818  # thrown into a program that is idle, not an error
    """No wakeup came within the time of its `Idle`."""


class Idle(msgspec.Struct, frozen=True):
    """Nothing to do until the subscription wakes; every wakeup ends it at once."""

    quiet_ns: int | None = None  # after which `Quiet` is raised instead; None for never


class Pause(msgspec.Struct, frozen=True):
    """The wait after a failed event: no wakeup ends it."""

    for_ns: int


Step = Sequence[Request] | Idle | Pause
Program = Generator[Step, Sequence[Answer], None]
Kind = TypeVar("Kind", bound=Answer)


class Feeding(msgspec.Struct, frozen=True):
    """What a feed knows of its component."""

    name: str  # of the component, and of its subscription
    filter: tuple[Pair, ...]
    start: str = "now"
    max_attempts: int = 3
    lease_ns: int = 30_000_000_000
    log_epoch: int = 0  # of its cursor; the feed itself sets it
    contract: Contract | None = None  # None if everything it handles may simply be repeated
    traces: Tracebacks | None = None  # logs and stores exceptions of handlers
    claimant: str = ""  # name for standing claims, if the hub is in this process
    rest_ns: int | None = None  # time without work after which `Rest` is raised; None for never

    def claim(self, limit: int) -> Claim:
        """The request that takes up to *limit* events of a queue."""
        if self.claimant:
            held = self.name, limit, self.lease_ns, self.keyed
            return StandingClaim(*held, claimant=self.claimant)
        return Claim(self.name, limit, self.lease_ns, self.keyed)

    @property
    def keyed(self) -> bool:
        """Whether some of its effects are repeated under their key."""
        return self.contract is not None and self.contract.keyed


def ordered(feeding: Feeding, host: Host, recall: Recall) -> Program:
    """Feed one component in order; its results are committed with its cursor.

    After a crash in the middle of a page the events are delivered one by one, with each attempt
    counted on disk, until the one that crashes the process is known and parked. Attempts that ended
    with the whole runtime are counted separately: most of those events did not cause its end.
    """
    standing = yield from _ask(
        Subscribe(feeding.name, "ordered", feeding.filter, feeding.start), Subscribed
    )
    # If the log has lost events that the fold contains, the feed fails.
    feeding = msgspec.structs.replace(feeding, log_epoch=standing.log_epoch)
    recall.load(standing.cursor)
    host.share()
    contract = feeding.contract
    cursor = seen = standing.cursor  # committed, and examined
    slow_until = standing.head if standing.attempts else 0
    ring, counted = -1, False  # ephemeral events from before this start are useless
    handled, quiet = cursor, False  # last matching position; whether it is quiet since
    while True:
        limit = 1 if seen < slow_until else PAGE
        fetch = Fetch(feeding.name, seen, limit, ring_after=ring, log_epoch=feeding.log_epoch)
        page = yield from _ask(fetch, Page)
        if page.log_epoch != feeding.log_epoch:  # another hub, whose log has everything seen
            feeding = yield from _taken_up(feeding, cursor, page.log_epoch)
        if contract is not None:
            page = up_to_once(contract, page)
        page, again = up_to_retry(page, feeding.name)
        # An empty page that examined less than the limit ends at the end of the log.
        idle = page.through - seen < LOOKED_AT
        seen, ring = page.through, page.ring_through
        if not page.records and not page.ephemeral:
            if seen - cursor >= IDLE_COMMIT or (quiet and handled > cursor):
                cursor = yield from _commit(feeding, cursor, seen, ())
                recall.arrive(cursor)
            if not idle:
                continue
            try:
                quiet = yield from _rest(QUIET_NS if handled > cursor else None)
            except Flush:
                if seen > cursor:
                    recall.arrive((yield from _commit(feeding, cursor, seen, ())))
                recall.save()
                return
            continue
        begun, quiet = _UNCOUNTED, False
        if contract is not None and page.records and contract.is_once(page.records[0]):
            recall.leave()
            cursor = yield from _handle_once(feeding, contract, host, cursor, page)
            seen = handled = cursor
            recall.arrive(cursor)
            continue
        keyed = contract is not None and contract.is_keyed(page.records)
        if page.records and (not counted or limit == 1 or keyed or again):
            host.make_ready()  # no event is in progress while it starts
            begun = yield from _begin(feeding, sync=keyed)
            counted = True
        blame = blamed(feeding.max_attempts, begun, "the process ended during it")
        if again:
            recall.leave()
            effects = yield from _handle_again(feeding, host, page.records[0], blame)
            cursor = seen = handled = yield from _commit(feeding, cursor, page.through, (effects,))
            recall.arrive(cursor)
        elif blame:
            effects = parked(feeding.name, page.records[0], blame, begun.attempts - 1)
            cursor = seen = yield from _commit(
                feeding, cursor, page.records[0].position, (effects,)
            )
        else:
            recall.leave()
            cursor, seen = yield from _handle_page(feeding, host, cursor, page, begun)
            handled = seen
            if cursor == seen:
                recall.arrive(cursor)


def _taken_up(
    feeding: Feeding, cursor: int, log_epoch: int
) -> Generator[Step, Sequence[Answer], Feeding]:
    """Continue at another hub, if the cursor there is still the committed one.

    Raises:
        CursorError: The log has lost that commit with its results, but not the handled
            events: they must be handled again.
    """
    standing = yield from _ask(
        Subscribe(feeding.name, "ordered", feeding.filter, feeding.start), Subscribed
    )
    if standing.cursor != cursor:
        raise CursorError(feeding.name, cursor, standing.cursor)
    return msgspec.structs.replace(feeding, log_epoch=log_epoch)


def _rest(quiet_ns: int | None) -> Generator[Step, Sequence[Answer], bool]:
    """Wait for a wakeup; True if none came within *quiet_ns*."""
    try:
        yield Idle(quiet_ns)
    except Quiet:
        return True
    return False


def _handle_once(
    feeding: Feeding, contract: Contract, host: Host, cursor: int, page: Page
) -> Generator[Step, Sequence[Answer], int]:
    """Handle the only event of *page*, whose effect may happen only once; returns the cursor."""
    host.make_ready()
    record = page.records[0]
    intent = yield from intend(contract, record)
    effects = try_once(contract, host, record, 1, intent, feeding.traces)
    host.handle(page.ephemeral, 1)
    return (yield from _commit(feeding, cursor, record.position, (effects,)))


def _handle_again(
    feeding: Feeding, host: Host, asked: Recorded, blame: str
) -> Generator[Step, Sequence[Answer], Effects]:
    """Handle a parked event once more; returns the results. If it fails, it is parked again.

    *blame* is the reason not to try it, if any, such as that it ended its process.
    """
    record = yield from _parked_event(feeding, asked)
    if record is None:
        return NOTHING
    if blame:
        return parked(feeding.name, record, blame, feeding.max_attempts)
    if feeding.contract is not None and feeding.contract.is_once(record):
        return parked(feeding.name, record, "it may happen only once, and may have happened", 1)
    outcome = host.handle((record,), 2)
    if outcome.failure is None:
        return outcome.done[0]
    if feeding.traces is not None:
        feeding.traces.take(record, outcome, 1)
    return _given_up(feeding, record, outcome, 1)


def _parked_event(
    feeding: Feeding, asked: Recorded
) -> Generator[Step, Sequence[Answer], Recorded | None]:
    """The event that *asked* names; None if the component does not see it, or no longer."""
    position = position_of(asked)
    if not position:
        return None
    fetch = Fetch(feeding.name, position - 1, 1, ring_after=-1, log_epoch=feeding.log_epoch)
    page = yield from _ask(fetch, Page)
    return next((record for record in page.records if record.position == position), None)


def _begin(feeding: Feeding, *, sync: bool = False) -> Generator[Step, Sequence[Answer], Attempted]:
    """Count an attempt, once no other event has to be tried alone."""
    while True:
        begun = yield from _ask(Attempt(feeding.name, sync), Attempted)
        if begun.attempts:
            return begun
        yield Idle()


def _handle_page(
    feeding: Feeding, host: Host, cursor: int, page: Page, begun: Attempted
) -> Generator[Step, Sequence[Answer], tuple[int, int]]:
    """Handle a page and commit it; a page without results may be committed later.

    A failing event is tried again, then parked. *begun* is the count of the page's first event.
    Returns the cursor, and the position up to which events were handled.
    """
    outcome = host.handle((*page.records, *page.ephemeral), shown(begun))
    if outcome.failure is not None and feeding.traces is not None:
        failing = (*page.records, *page.ephemeral)[len(outcome.done)]
        feeding.traces.take(failing, outcome, max(own(begun), 1))
    if outcome.failure is None or len(outcome.done) >= len(page.records):
        lazy = not begun.attempts and page.through - cursor < LAZY
        if lazy and not any(e.events or e.due or e.forget for e in outcome.done):
            return cursor, page.through
        cursor = yield from _commit(feeding, cursor, page.through, outcome.done)
    else:
        cursor = yield from _handle_failing(feeding, host, cursor, page, outcome, begun)
    return cursor, cursor


def _handle_failing(
    feeding: Feeding, host: Host, cursor: int, page: Page, outcome: Outcome, begun: Attempted
) -> Generator[Step, Sequence[Answer], int]:
    """Commit what was handled before the failing event; try that again, then park it."""
    failing = page.records[len(outcome.done)]
    if failing.position - 1 > cursor:
        cursor = yield from _commit(feeding, cursor, failing.position - 1, outcome.done)
        begun = _UNCOUNTED
    if not begun.attempts:
        begun = yield from _begin(feeding)
    while outcome.failure is not None:
        if own(begun) >= feeding.max_attempts:
            given_up = _given_up(feeding, failing, outcome, begun.attempts)
            return (yield from _commit(feeding, cursor, failing.position, (given_up,)))
        yield Pause(backoff_ns(own(begun)))
        begun = yield from _begin(feeding)
        outcome = host.handle((failing,), shown(begun))
        if outcome.failure is not None and feeding.traces is not None:
            feeding.traces.take(failing, outcome, own(begun))
    return (yield from _commit(feeding, cursor, failing.position, outcome.done))


def work(feeding: Feeding, host: Host, now_ns: Callable[[], int]) -> Program:
    """Feed one worker from a queue; an event that fails is released, then parked."""
    yield from _ask(Subscribe(feeding.name, "work", feeding.filter), Subscribed)
    host.share()
    contract = feeding.contract
    size = 1
    requests: list[Request] = []  # results of the last events; sent with the next claim
    while True:
        if not host.is_ready():  # no event is in progress while it starts
            yield from _send(requests)
            requests = []
            found = yield from _ask(Claim(feeding.name, 0, feeding.lease_ns), Claimed)
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
    yield from _ask(Subscribe(feeding.name, "work", feeding.filter), Subscribed)
    host.share()
    under_way, contract = 0, feeding.contract
    while True:
        ended = host.ended()
        under_way -= len(ended)
        yield from _end_all(feeding, ended)
        leases: tuple[Lease, ...] = ()
        if under_way < host.concurrent:
            limit = min(PAGE, host.concurrent - under_way)
            leases = (yield from _ask(feeding.claim(limit), Claimed)).leases
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
    return _finish(feeding, lease, _given_up(feeding, lease.record, outcome, lease.attempts))


def _given_up(feeding: Feeding, record: Recorded, outcome: Outcome, attempts: int) -> Effects:
    trace = "" if feeding.traces is None else feeding.traces.kept(outcome)
    return parked(feeding.name, record, outcome.failure or "", attempts, trace)


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


def _ask(request: Request, kind: type[Kind]) -> Generator[Step, Sequence[Answer], Kind]:
    return _expected(request, (yield (request,))[0], kind)


def _expected(request: Request, answer: Answer, kind: type[Kind]) -> Kind:
    if isinstance(answer, Refused):
        raise answer.error()
    if not isinstance(answer, kind):
        raise CortexError(f"{type(request).__name__} was answered with {type(answer).__name__}")
    return answer


def _end_and_claim(
    requests: Sequence[Request], claim: Claim
) -> Generator[Step, Sequence[Answer], Claimed]:
    """Record the results of work, and claim more: in one transaction with standing claims.

    Over a wire these are separate, because a frame that is done once must not contain a claim.
    """
    if not isinstance(claim, StandingClaim):
        yield from _send(requests)
        return (yield from _ask(claim, Claimed))
    *ended, answer = yield (*requests, claim)
    _look_at(ended)
    return _expected(claim, answer, Claimed)


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


def _commit(
    feeding: Feeding, cursor: int, through: int, done: Sequence[Effects]
) -> Generator[Step, Sequence[Answer], int]:
    """Move the cursor; whole pages are one transaction."""
    due: dict[str, Due] = {}
    forget: set[str] = set()
    for effects in done:  # in order: a later event may forget a deadline of an earlier one
        for name in effects.forget:
            due.pop(name, None)
            forget.add(name)
        due.update((d.name, d) for d in effects.due)
    events = tuple(e for effects in done for e in effects.events)
    arms = tuple(due.values()), tuple(forget)
    request = Commit(feeding.name, cursor, through, events, *arms, log_epoch=feeding.log_epoch)
    yield from _ask(request, Appended)
    return through


_UNCOUNTED = Attempted(0)
