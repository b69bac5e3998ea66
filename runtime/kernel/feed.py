"""How a component is fed: two programs that ask a hub for events and commit what comes of them.

Each is a generator: it yields requests (or `Idle`, or `Pause`) and is sent the answers, so that a
thread and a simulator drive the very same code, and a simulator can crash it between any two.
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

from .effect import Contract
from .endings import Endings
from .host import NOTHING, Effects, Host, Outcome
from .intents import intend, left, report, settled, try_once, up_to_once
from .recall import Recall, Rest
from .retries import backoff_ns, blamed, own, parked, position_of, shown, up_to_retry
from .tracebacks import Tracebacks

if TYPE_CHECKING:
    from .async_host import AsyncHost

PAGE = 256  # events one fetch hands out; the page is the bound of a component's memory
QUICK_NS = 5_000_000  # work that takes less is claimed several at a time, and committed together
SLOW_NS = 50_000_000  # work that takes more is claimed one by one
LAZY = 256  # positions; a cursor need not move at once past events that nothing came of
QUIET_NS = 1_000_000_000  # without an event, after which the cursor moves all the same
IDLE_COMMIT = 10_000  # a cursor this far behind moves although nothing was for it


class Flush(Exception):  # noqa: N818  # thrown into a program that is idle, not an error
    """Commit what is handled and come to an end."""


class Quiet(Exception):  # noqa: N818  # thrown into a program that is idle, not an error
    """No wake came within the time that its `Idle` states."""


class Idle(msgspec.Struct, frozen=True):
    """Nothing to do until the subscription wakes: every wake ends it, at once."""

    quiet_ns: int | None = None  # after which `Quiet` is thrown instead; None for never


class Pause(msgspec.Struct, frozen=True):
    """A failed event rests for so long: no wake ends it."""

    for_ns: int


Step = Sequence[Request] | Idle | Pause
Program = Generator[Step, Sequence[Answer], None]
Kind = TypeVar("Kind", bound=Answer)


class Feeding(msgspec.Struct, frozen=True):
    """What a feed must know of its component."""

    name: str  # of the component, and of its subscription
    filter: tuple[Pair, ...]
    start: str = "now"
    max_attempts: int = 3
    lease_ns: int = 30_000_000_000
    log_epoch: int = 0  # in which its cursor stands; the feed itself fills it in
    contract: Contract | None = None  # None where all that it handles may just be repeated
    traces: Tracebacks | None = None  # shows and keeps what handlers raise
    claimant: str = ""  # who claims, where the hub is in this process and lets claims stand
    rest_ns: int | None = None  # without work, after which `Rest` is raised; None for never

    def claim(self, limit: int) -> Claim:
        """What takes up to *limit* events of a queue."""
        if self.claimant:
            held = self.name, limit, self.lease_ns, self.keyed
            return StandingClaim(*held, claimant=self.claimant)
        return Claim(self.name, limit, self.lease_ns, self.keyed)

    @property
    def keyed(self) -> bool:
        """Whether some of it may be repeated under its key."""
        return self.contract is not None and self.contract.keyed


def ordered(feeding: Feeding, host: Host, recall: Recall) -> Program:
    """Feed one component in order, moving its cursor with what it yields.

    After a crash in the middle of a page the events are handed out one by one, with each try
    counted on disk, until the one that crashes the process is known and parked. Tries that ended
    with the whole runtime are counted apart: most events only were there when it was killed.
    """
    standing = yield from _ask(
        Subscribe(feeding.name, "ordered", feeding.filter, feeding.start), Subscribed
    )
    # Whatever its fold was made of is gone where the log has lost it: then the feed fails.
    feeding = msgspec.structs.replace(feeding, log_epoch=standing.log_epoch)
    recall.load(standing.cursor)
    host.share()
    contract = feeding.contract
    cursor = seen = standing.cursor  # what is committed, what was looked at
    slow_until = standing.head if standing.attempts else 0
    ring, counted = -1, False  # ephemeral events from before this start are of no use
    handled, quiet = cursor, False  # up to where something was for it; whether it is quiet since
    while True:
        limit = 1 if seen < slow_until else PAGE
        fetch = Fetch(feeding.name, seen, limit, ring_after=ring, log_epoch=feeding.log_epoch)
        page = yield from _ask(fetch, Page)
        if page.log_epoch != feeding.log_epoch:  # another hub, whose log has all that was seen
            feeding = yield from _taken_up(feeding, cursor, page.log_epoch)
        if contract is not None:
            page = up_to_once(contract, page)
        page, again = up_to_retry(page, feeding.name)
        # Of an empty page that looked at less than it may, the end is that of the log.
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
            host.make_ready()  # while it starts, no event is under way
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
    """Go on at another hub, where the cursor is still where it was committed.

    Raises:
        CursorError: The log has lost that commit, and what it said, but not the events it was
            about: they are to be handled again.
    """
    standing = yield from _ask(
        Subscribe(feeding.name, "ordered", feeding.filter, feeding.start), Subscribed
    )
    if standing.cursor != cursor:
        raise CursorError(feeding.name, cursor, standing.cursor)
    return msgspec.structs.replace(feeding, log_epoch=log_epoch)


def _rest(quiet_ns: int | None) -> Generator[Step, Sequence[Answer], bool]:
    """Wait for a wake; True where none came within *quiet_ns*."""
    try:
        yield Idle(quiet_ns)
    except Quiet:
        return True
    return False


def _handle_once(
    feeding: Feeding, contract: Contract, host: Host, cursor: int, page: Page
) -> Generator[Step, Sequence[Answer], int]:
    """Handle the one event of *page*, whose effect may happen once only; where the cursor is."""
    host.make_ready()
    record = page.records[0]
    intent = yield from intend(contract, record)
    effects = try_once(contract, host, record, 1, intent, feeding.traces)
    host.handle(page.ephemeral, 1)
    return (yield from _commit(feeding, cursor, record.position, (effects,)))


def _handle_again(
    feeding: Feeding, host: Host, asked: Recorded, blame: str
) -> Generator[Step, Sequence[Answer], Effects]:
    """Handle a parked event once more; what came of it. It is parked again where that fails.

    *blame* says why it is not to be tried, as where its process died of that.
    """
    record = yield from _parked_event(feeding, asked)
    if record is None:
        return NOTHING
    if blame:
        return parked(feeding.name, record, blame, feeding.max_attempts)
    if feeding.contract is not None and feeding.contract.is_once(record):
        return parked(feeding.name, record, "it may happen once only, and may have happened", 1)
    outcome = host.handle((record,), 2)
    if outcome.failure is None:
        return outcome.done[0]
    if feeding.traces is not None:
        feeding.traces.take(record, outcome, 1)
    return _given_up(feeding, record, outcome, 1)


def _parked_event(
    feeding: Feeding, asked: Recorded
) -> Generator[Step, Sequence[Answer], Recorded | None]:
    """The event that *asked* names; None where the component does not see it, or not any more."""
    position = position_of(asked)
    if not position:
        return None
    fetch = Fetch(feeding.name, position - 1, 1, ring_after=-1, log_epoch=feeding.log_epoch)
    page = yield from _ask(fetch, Page)
    return next((record for record in page.records if record.position == position), None)


def _begin(feeding: Feeding, *, sync: bool = False) -> Generator[Step, Sequence[Answer], Attempted]:
    """Count a try, once no other event has to be tried alone."""
    while True:
        begun = yield from _ask(Attempt(feeding.name, sync), Attempted)
        if begun.attempts:
            return begun
        yield Idle()


def _handle_page(
    feeding: Feeding, host: Host, cursor: int, page: Page, begun: Attempted
) -> Generator[Step, Sequence[Answer], tuple[int, int]]:
    """Handle a page and commit it, or leave that for later where nothing came of it.

    A failing event is tried again, then parked. *begun* is the count of the page's first event.
    Returns where the cursor stands, and what was handled.
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
    """Feed one worker from a queue; an event that fails is given back, then parked."""
    yield from _ask(Subscribe(feeding.name, "work", feeding.filter), Subscribed)
    host.share()
    contract = feeding.contract
    size = 1
    requests: list[Request] = []  # what came of the last ones; they end with the next claim
    while True:
        if not host.is_ready():  # while it starts, no event is under way
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
            if now_ns() - since_ns > QUICK_NS:  # what is done is on disk before the next begins
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
    """Feed a component that handles many events of a queue at the same time."""
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
    """Record what came of events that were handled side by side."""
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
    """Work on an event whose effect may happen once only."""
    intent = yield from intend(contract, lease.record)
    effects = try_once(contract, host, lease.record, shown(lease), intent, feeding.traces)
    yield from report(_finish(feeding, lease, effects))


def _begin_once(
    feeding: Feeding, contract: Contract, host: "AsyncHost", lease: Lease
) -> Generator[Step, Sequence[Answer], bool]:
    """Begin an effect that may happen once only; whether a handler is at work on it."""
    intent = yield from intend(contract, lease.record)
    if intent == "new" or (intent == "begun" and contract.recovers):
        host.begin(lease, shown(lease), begun=intent == "begun")
        return True
    yield from report(_finish(feeding, lease, left(contract, lease.record, intent)))
    return False


def _untried(feeding: Feeding, lease: Lease) -> Finish | None:
    """Park an event that was begun too often; None where it may be tried."""
    blame = blamed(feeding.max_attempts, lease, "its workers ended during it or hung")
    if not blame:
        return None
    return _finish(feeding, lease, parked(feeding.name, lease.record, blame, lease.attempts - 1))


def _settled(feeding: Feeding, lease: Lease, outcome: Outcome) -> Request:
    """What came of a try: the result, another try later, or the end of trying."""
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
    """Record what came of work, and claim the next: in one transaction where claims stand.

    Elsewhere a frame that is done once keeps its answers, and a claim is none of those.
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
            # Another worker has it, or it is not in the log any more: drop the result.
            if not isinstance(error, LeaseLostError | TailLostError):
                raise error


def _commit(
    feeding: Feeding, cursor: int, through: int, done: Sequence[Effects]
) -> Generator[Step, Sequence[Answer], int]:
    """Move the cursor; whole pages are one transaction."""
    due: dict[str, Due] = {}
    forget: set[str] = set()
    for effects in done:  # in order: a later event may forget what an earlier one armed
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
