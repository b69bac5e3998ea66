"""How a component is fed: two programs that ask a hub for events and commit what comes of them.

Each is a generator: it yields requests (or `Idle`) and is sent the answers, so that a thread and a
simulator drive the very same code, and a simulator can crash it between any two of them.
"""

from collections.abc import Callable, Generator, Sequence
from typing import TypeVar

import msgspec

from cortex.bus import (
    Answer,
    Appended,
    Attempt,
    Attempted,
    Claim,
    Claimed,
    Commit,
    CortexError,
    Draft,
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
    Subscribe,
    Subscribed,
)
from cortex.bus.events import ComponentFailed

from .host import Effects, Host, Outcome
from .recall import Recall

PAGE = 256  # events one fetch hands out; the page is the bound of a component's memory
QUICK_NS = 5_000_000  # work that takes less is claimed several at a time, and committed together
SLOW_NS = 50_000_000  # work that takes more is claimed one by one
RETRY_NS = 100_000_000  # first backoff of an event that failed; doubles with each attempt
RETRY_MOST_NS = 30_000_000_000
LAZY = 256  # positions; a cursor need not move at once past events that nothing came of
IDLE_COMMIT = 10_000  # a cursor this far behind moves although nothing was for it


class Flush(Exception):  # noqa: N818  # thrown into a program that is idle, not an error
    """Commit what is handled and come to an end."""


class Idle(msgspec.Struct, frozen=True):
    """Nothing to do until the subscription wakes, or until *for_ns* have passed."""

    for_ns: int | None = None


Step = Sequence[Request] | Idle
Program = Generator[Step, Sequence[Answer], None]
Kind = TypeVar("Kind", bound=Answer)


class Feeding(msgspec.Struct, frozen=True):
    """What a feed must know of its component."""

    name: str  # of the component, and of its subscription
    filter: tuple[Pair, ...]
    start: str = "now"
    max_attempts: int = 3
    lease_ns: int = 30_000_000_000


def ordered(feeding: Feeding, host: Host, recall: Recall) -> Program:
    """Feed one component in order, moving its cursor with what it yields.

    After a crash in the middle of a page the events are handed out one by one, with each try
    counted on disk, until the one that crashes the process is known and parked.
    """
    standing = yield from _ask(
        Subscribe(feeding.name, "ordered", feeding.filter, feeding.start), Subscribed
    )
    recall.load(standing.cursor)
    cursor = seen = standing.cursor  # what is committed, what was looked at
    slow_until = standing.head if standing.attempts else 0
    ring, counted = -1, False  # ephemeral events from before this start are of no use
    while True:
        limit = 1 if seen < slow_until else PAGE
        page = yield from _ask(Fetch(feeding.name, seen, limit, ring_after=ring), Page)
        idle, seen, ring = page.through == seen, page.through, page.ring_through
        if not page.records and not page.ephemeral:
            if seen - cursor >= IDLE_COMMIT:
                cursor = yield from _commit(feeding, cursor, seen, ())
                recall.arrive(cursor)
            if idle and not (yield from _rest()):
                if seen > cursor:
                    recall.arrive((yield from _commit(feeding, cursor, seen, ())))
                recall.save()
                return
            continue
        attempt = 0
        if page.records and (not counted or limit == 1):
            attempt = (yield from _ask(Attempt(feeding.name), Attempted)).attempts
            counted = True
        if attempt > feeding.max_attempts:
            effects = _parked(feeding, page.records[0], "the process died of it", attempt - 1)
            cursor = seen = yield from _commit(
                feeding, cursor, page.records[0].position, (effects,)
            )
        else:
            recall.leave()
            cursor, seen = yield from _handle_page(feeding, host, cursor, page, attempt)
            if cursor == seen:
                recall.arrive(cursor)


def _rest() -> Generator[Step, Sequence[Answer], bool]:
    """Wait for more; False where none is wanted any more."""
    try:
        yield Idle()
    except Flush:
        return False
    return True


def _handle_page(
    feeding: Feeding, host: Host, cursor: int, page: Page, attempt: int
) -> Generator[Step, Sequence[Answer], tuple[int, int]]:
    """Handle a page and commit it, or leave that for later where nothing came of it.

    A failing event is tried again, then parked. *attempt* is the count on disk of the page's first
    event, 0 where none was counted. Returns where the cursor stands, and what was handled.
    """
    outcome = host.handle((*page.records, *page.ephemeral), max(attempt, 1))
    if outcome.failure is None or len(outcome.done) >= len(page.records):
        lazy = not attempt and page.through - cursor < LAZY
        if lazy and not any(e.events or e.due or e.forget for e in outcome.done):
            return cursor, page.through
        cursor = yield from _commit(feeding, cursor, page.through, outcome.done)
    else:
        cursor = yield from _handle_failing(feeding, host, cursor, page, outcome, attempt)
    return cursor, cursor


def _handle_failing(
    feeding: Feeding, host: Host, cursor: int, page: Page, outcome: Outcome, attempt: int
) -> Generator[Step, Sequence[Answer], int]:
    """Commit what was handled before the failing event; try that again, then park it."""
    failing = page.records[len(outcome.done)]
    if failing.position - 1 > cursor:
        cursor = yield from _commit(feeding, cursor, failing.position - 1, outcome.done)
        attempt = 0
    if not attempt:
        attempt = (yield from _ask(Attempt(feeding.name), Attempted)).attempts
    while outcome.failure is not None:
        if attempt >= feeding.max_attempts:
            parked = _parked(feeding, failing, outcome.failure, attempt)
            return (yield from _commit(feeding, cursor, failing.position, (parked,)))
        yield Idle(backoff_ns(attempt))
        attempt = (yield from _ask(Attempt(feeding.name), Attempted)).attempts
        outcome = host.handle((failing,), attempt)
    return (yield from _commit(feeding, cursor, failing.position, outcome.done))


def work(feeding: Feeding, host: Host, now_ns: Callable[[], int]) -> Program:
    """Feed one worker from a queue; an event that fails is given back, then parked."""
    yield from _ask(Subscribe(feeding.name, "work", feeding.filter), Subscribed)
    size = 1
    while True:
        claimed = yield from _ask(Claim(feeding.name, size, feeding.lease_ns), Claimed)
        if not claimed.leases:
            yield Idle()
            continue
        began_ns = since_ns = now_ns()
        requests: list[Request] = []
        for lease in claimed.leases:
            requests.append(_work_one(feeding, host, lease))
            if now_ns() - since_ns > QUICK_NS:  # what is done is on disk before the next begins
                yield from _send(requests)
                requests, since_ns = [], now_ns()
        yield from _send(requests)
        took_ns = now_ns() - began_ns
        if took_ns < QUICK_NS and len(claimed.leases) == size:
            size = min(2 * size, PAGE)
        elif took_ns > SLOW_NS:
            size = 1


def _work_one(feeding: Feeding, host: Host, lease: Lease) -> Request:
    position, epoch = lease.record.position, lease.epoch
    if lease.attempts > feeding.max_attempts:
        problem = "its workers died of it or hung"
        effects = _parked(feeding, lease.record, problem, lease.attempts - 1)
    else:
        outcome = host.handle((lease.record,), lease.attempts)
        if outcome.failure is None:
            effects = outcome.done[0]
        elif lease.attempts < feeding.max_attempts:
            return Release(feeding.name, position, epoch, backoff_ns(lease.attempts))
        else:
            effects = _parked(feeding, lease.record, outcome.failure, lease.attempts)
    return Finish(feeding.name, position, epoch, effects.events, effects.due, effects.forget)


def backoff_ns(attempt: int) -> int:
    """How long a failed event waits after its *attempt*-th try, counted from 1."""
    return int(min(RETRY_NS * 2 ** (attempt - 1), RETRY_MOST_NS))


def _ask(request: Request, kind: type[Kind]) -> Generator[Step, Sequence[Answer], Kind]:
    answer = (yield (request,))[0]
    if isinstance(answer, Refused):
        raise answer.error()
    if not isinstance(answer, kind):
        raise CortexError(f"{type(request).__name__} was answered with {type(answer).__name__}")
    return answer


def _send(requests: Sequence[Request]) -> Generator[Step, Sequence[Answer], None]:
    if not requests:
        return
    for answer in (yield requests):
        if isinstance(answer, Refused):
            error = answer.error()
            if not isinstance(error, LeaseLostError):  # another worker has it: drop the result
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
    request = Commit(feeding.name, cursor, through, events, tuple(due.values()), tuple(forget))
    yield from _ask(request, Appended)
    return through


def _parked(feeding: Feeding, record: Recorded, reason: str, attempts: int) -> Effects:
    failed = ComponentFailed(
        component=feeding.name,
        reason=reason,
        position=record.position,
        about=record.topic,
        attempts=attempts,
    )
    draft = Draft.of(failed, correlation=record.correlation, causation=record.position)
    return Effects((draft,))
