"""Feeds a component in order: pages of events, whose results are committed with the cursor."""

from collections.abc import Generator, Sequence

import msgspec

from cortex.bus import (
    LOOKED_AT,
    Answer,
    Appended,
    Attempt,
    Attempted,
    Commit,
    CursorError,
    Due,
    Fetch,
    Page,
    Recorded,
    Subscribe,
    Subscribed,
)

from ..components.effect import Contract
from ..hosts.host import NOTHING, Effects, Host, Outcome
from .feed import PAGE, Feeding, Flush, Idle, Pause, Program, Quiet, Step, ask, expected, given_up
from .intents import intend, try_once, up_to_once
from .recall import Recall
from .retries import backoff_ns, blamed, own, parked, position_of, shown, up_to_retry

LAZY = 1_024  # positions; a cursor may lag behind this many events without results
QUIET_NS = 1_000_000_000  # after this long without an event the cursor moves anyway
IDLE_COMMIT = 5_000  # a cursor this far behind moves even without matching events
UNCOUNTED = Attempted(0)


class OrderedFeed:
    """Feeds one component in order; its results are committed with its cursor.

    After a crash in the middle of a page the events are delivered one by one, with each attempt
    counted on disk, until the one that crashes the process is known and parked. Attempts that ended
    with the whole runtime are counted separately: most of those events did not cause its end.
    """

    def __init__(self, feeding: Feeding, host: Host, recall: Recall) -> None:
        self._feeding, self._host, self._recall = feeding, host, recall
        self.cursor = self.seen = 0  # committed, and examined
        self.idle = False  # at the end of the log, with nothing to try again
        self._handled, self._quiet = 0, False  # last matching position; whether it is quiet since
        self._ahead = 0  # up to here the fold contains the component's own results
        self._slow_until = 0  # up to here events are delivered one by one
        self._ring = -1  # ephemeral events from before this start are useless
        self._alone = self._counted = False  # one by one now; whether an attempt was counted
        self._at_end = self._again = False  # of the newest page: the log's end; a parked event

    def run(self) -> Program:
        """The program of the feed: fetch a page, handle it, commit the results, and again."""
        yield from self._begin()
        while True:
            request = self._fetch()
            page = expected(request, (yield (request,))[0], Page)
            if page.log_epoch != request.log_epoch:  # another hub, whose log has everything seen
                self._feeding = yield from _taken_up(self._feeding, self.cursor, page.log_epoch)
            page = self._taken(page)
            if page.records or page.ephemeral:
                yield from self._handle(page)
            elif not (yield from self._pass_by()):
                return

    def commit(self, through: int, done: Sequence[Effects]) -> Commit:
        """The request that moves the cursor up to *through*, and appends what was *done*."""
        return _commit_of(self._feeding, self.cursor, through, done)

    def moved(self, through: int) -> None:
        """Note that the hub has that commit; only while the feed is idle."""
        self.cursor = self.seen = self._handled = through

    def _begin(self) -> Generator[Step, Sequence[Answer], None]:
        """Take up the subscription, and recall the fold."""
        feeding = self._feeding
        standing = yield from ask(
            Subscribe(feeding.name, "ordered", feeding.filter, feeding.start), Subscribed
        )
        # If the log has lost events that the fold contains, the feed fails.
        self._feeding = msgspec.structs.replace(feeding, log_epoch=standing.log_epoch)
        self._ahead = self._recall.load(standing.cursor, standing.head)
        self._host.share()
        self.cursor = self.seen = self._handled = standing.cursor
        self._slow_until = standing.head if standing.attempts else 0

    def _fetch(self) -> Fetch:
        """The request for the next page."""
        feeding, seen = self._feeding, self.seen
        self._alone = seen < self._slow_until
        limit = 1 if self._alone else PAGE
        return Fetch(feeding.name, seen, limit, ring_after=self._ring, log_epoch=feeding.log_epoch)

    def _taken(self, page: Page) -> Page:
        """*page* up to the first event that is delivered by itself; it is examined then."""
        feeding, seen = self._feeding, self.seen
        # An empty page that examined less than the limit ends at the end of the log.
        self._at_end = not page.records and page.through - seen < LOOKED_AT
        if seen < self._ahead:
            page = _without_results(page, self._recall, self._ahead)
        if feeding.contract is not None:
            page = up_to_once(feeding.contract, page)
        page, self._again = up_to_retry(page, feeding.name)
        self.seen, self._ring = page.through, page.ring_through
        return page

    def _pass_by(self) -> Generator[Step, Sequence[Answer], bool]:
        """Rest, as the page has nothing to handle; False if the feed is to end."""
        postponed = self._handled > self.cursor
        if self.seen - self.cursor >= IDLE_COMMIT or (self._quiet and postponed):
            yield from self._move(self.seen, ())
        if not self._at_end:
            return True
        try:
            self.idle = self._counted and self.seen >= max(self._ahead, self._slow_until)
            self._quiet = yield from _rest(self._feeding, postponed=self._handled > self.cursor)
        except Flush:
            self.idle = False
            if self.seen > self.cursor:
                yield from self._move(self.seen, ())
            self._recall.save()
            return False
        finally:
            self.idle = False
        return True

    def _handle(self, page: Page) -> Generator[Step, Sequence[Answer], None]:
        """Handle the events of *page*, and commit what they gave."""
        feeding, host, recall = self._feeding, self._host, self._recall
        contract, records, self._quiet = feeding.contract, page.records, False
        if contract is not None and records and contract.is_once(records[0]):
            recall.leave()
            effects = yield from _handle_once(feeding, contract, host, page)
            yield from self._move(records[0].position, (effects,))
            self.seen = self._handled = self.cursor
            return
        begun, keyed = UNCOUNTED, contract is not None and contract.is_keyed(records)
        if records and (not self._counted or self._alone or keyed or self._again):
            host.make_ready()  # no event is in progress while it starts
            begun = yield from _begin(feeding, sync=keyed)
            self._counted = True
        blame = blamed(feeding.max_attempts, begun, "the process ended during it")
        if self._again:
            recall.leave()
            effects = yield from _handle_again(feeding, host, records[0], blame)
            yield from self._move(page.through, (effects,))
            self.seen = self._handled = self.cursor
        elif blame:
            effects = parked(feeding.name, records[0], blame, begun.attempts - 1)
            self.cursor = self.seen = yield from _commit(
                feeding, self.cursor, records[0].position, (effects,)
            )
        else:
            recall.leave()
            self.cursor, self.seen = yield from _handle_page(
                feeding, host, self.cursor, page, begun
            )
            self._handled = self.seen
            if self.cursor == self.seen:
                recall.arrive(self.cursor)

    def _move(
        self, through: int, done: Sequence[Effects]
    ) -> Generator[Step, Sequence[Answer], None]:
        self.cursor = yield from _commit(self._feeding, self.cursor, through, done)
        self._recall.arrive(self.cursor)


def _without_results(page: Page, recall: Recall, ahead: int) -> Page:
    """*page* without the component's own results up to *ahead*, which its fold has already."""
    kept = tuple(r for r in page.records if r.position > ahead or not recall.is_result(r))
    return msgspec.structs.replace(page, records=kept)


def _taken_up(
    feeding: Feeding, cursor: int, log_epoch: int
) -> Generator[Step, Sequence[Answer], Feeding]:
    """Continue at another hub, if the cursor there is still the committed one.

    Raises:
        CursorError: The log has lost that commit with its results, but not the handled
            events: they must be handled again.
    """
    standing = yield from ask(
        Subscribe(feeding.name, "ordered", feeding.filter, feeding.start), Subscribed
    )
    if standing.cursor != cursor:
        raise CursorError(feeding.name, cursor, standing.cursor)
    return msgspec.structs.replace(feeding, log_epoch=log_epoch)


def _rest(feeding: Feeding, *, postponed: bool) -> Generator[Step, Sequence[Answer], bool]:
    """Wait for a wakeup; True if none came for a while, and a commit is postponed."""
    try:
        yield Idle(QUIET_NS) if postponed else Idle(feeding.rest_ns, needs_thread=False)
    except Quiet:
        return True
    return False


def _handle_once(
    feeding: Feeding, contract: Contract, host: Host, page: Page
) -> Generator[Step, Sequence[Answer], Effects]:
    """Handle the only event of *page*, whose effect may happen only once; returns its results."""
    host.make_ready()
    record = page.records[0]
    intent = yield from intend(contract, record)
    effects = try_once(contract, host, record, 1, intent, feeding.traces)
    host.handle(page.ephemeral, 1)
    return effects


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
    return given_up(feeding, record, outcome, 1)


def _parked_event(
    feeding: Feeding, asked: Recorded
) -> Generator[Step, Sequence[Answer], Recorded | None]:
    """The event that *asked* names; None if the component does not see it, or no longer."""
    position = position_of(asked)
    if not position:
        return None
    fetch = Fetch(feeding.name, position - 1, 1, ring_after=-1, log_epoch=feeding.log_epoch)
    page = yield from ask(fetch, Page)
    return next((record for record in page.records if record.position == position), None)


def _begin(feeding: Feeding, *, sync: bool = False) -> Generator[Step, Sequence[Answer], Attempted]:
    """Count an attempt, once no other event has to be tried alone."""
    while True:
        begun = yield from ask(Attempt(feeding.name, sync), Attempted)
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
        begun = UNCOUNTED
    if not begun.attempts:
        begun = yield from _begin(feeding)
    while outcome.failure is not None:
        if own(begun) >= feeding.max_attempts:
            effects = given_up(feeding, failing, outcome, begun.attempts)
            return (yield from _commit(feeding, cursor, failing.position, (effects,)))
        yield Pause(backoff_ns(own(begun)))
        begun = yield from _begin(feeding)
        outcome = host.handle((failing,), shown(begun))
        if outcome.failure is not None and feeding.traces is not None:
            feeding.traces.take(failing, outcome, own(begun))
    return (yield from _commit(feeding, cursor, failing.position, outcome.done))


def _commit(
    feeding: Feeding, cursor: int, through: int, done: Sequence[Effects]
) -> Generator[Step, Sequence[Answer], int]:
    """Move the cursor; whole pages are one transaction."""
    yield from ask(_commit_of(feeding, cursor, through, done), Appended)
    return through


def _commit_of(feeding: Feeding, cursor: int, through: int, done: Sequence[Effects]) -> Commit:
    due: dict[str, Due] = {}
    forget: set[str] = set()
    for effects in done:  # in order: a later event may forget a deadline of an earlier one
        for name in effects.forget:
            due.pop(name, None)
            forget.add(name)
        due.update((d.name, d) for d in effects.due)
    events = tuple(e for effects in done for e in effects.events)
    arms = tuple(due.values()), tuple(forget)
    return Commit(feeding.name, cursor, through, events, *arms, log_epoch=feeding.log_epoch)
