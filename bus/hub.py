"""The hub: a state machine that turns requests into transactions of the log.

It has no thread, socket or clock. A driver gives it batches of requests with the time; it checks
each against what it knows and what the batch has already staged, writes everything in one
transaction, and only then moves its own state. A refused request leaves its neighbours alone; a
failed write leaves the hub as it was.
"""

from collections.abc import Callable, Collection, Sequence

import msgspec

from . import once
from .access import Owners
from .astray import mended_by_hub, put_back
from .backlog import fill_up, route_on
from .deadlines import Deadlines
from .epochs import Epochs, last_common
from .errors import CortexError, LogError, SubscriptionError, TailLostError
from .event import Draft, decode
from .events.log import CLOCK_STREAM, LogClockJumped
from .known import Known
from .limits import Allowed, Limits
from .log import Batch, Log, Work
from .log_clock import Jump
from .lost import Losses, epoch_began, refuse_lost
from .pages import Pages
from .requests import (
    Answer,
    Attempt,
    Claim,
    Commit,
    Done,
    Fetch,
    Finish,
    Once,
    Page,
    Pair,
    Publish,
    Refused,
    Release,
    Renew,
    Request,
    Subscribe,
    Unsubscribe,
    Withdraw,
)
from .tries import Trial, Tries
from .turn import Mask, Turn
from .unclaimed import STEP, Unclaimed, report
from .vocabulary import Vocabulary
from .withdrawal import DueRights

VERSIONS_KEPT = 200_000  # streams; the log knows them all, this only saves asking it
FEW = 64  # subscriptions that a route wakes: so many are looked up one by one


class Hub:
    """One log, many subscriptions; see the module's docstring."""

    def __init__(
        self,
        log: Log,
        vocabulary: Vocabulary,
        entropy: Callable[[int], bytes],
        owners: Owners | None = None,
        mask: Mask | None = None,
    ) -> None:
        self.vocabulary = vocabulary
        self._owners = owners
        self._mask = mask  # takes out of events what must not be recorded
        self._log = log
        self._entropy = entropy
        self._untold: list[Draft] = []  # what became of the log, until the next transaction
        self._pages = Pages(log)
        self._skips: list[tuple[int, int]] = []  # when they took the log's time how far
        self._load(Known.of(log))
        self._tries = Tries.of(self._known)
        self._woken: set[str] = set()
        self._wakes: dict[int, frozenset[str]] = {}  # whole routes of subscriptions, by their id
        self.allowed: Allowed = lambda _: None  # nobody is limited unless somebody says so
        self.ready = Limits().waiting  # events in a work subscription of whoever is not limited
        self.torn = False  # a write was interrupted (Ctrl-C): only the log knows what became of it
        self._losses = Losses()
        self._untold += epoch_began(self._known)

    def _load(self, known: Known) -> None:
        self._known = known
        self._deadlines = Deadlines(known.deadlines, self._skips)
        self._pages.begin(known.head)
        self._unclaimed = Unclaimed(known)

    @property
    def head(self) -> int:
        """Position of the newest durable event; 0 for an empty log."""
        return self._known.head

    @property
    def epochs(self) -> Epochs:
        """Of the log, the newest last."""
        return self._known.epochs

    def meet(self, client: str, epochs: Epochs, seen: int, now_ns: int) -> None:
        """Let a client in that saw positions up to *seen* when it knew of *epochs*.

        Raises:
            TailLostError: The log has lost some of them.
            LogError: That could not be recorded.
        """
        common = last_common(self._known.epochs, epochs, seen)
        if common < seen:
            error, turn = TailLostError(seen, common), self._turn(now_ns, None)
            self._losses.note(turn, client, epochs[-1].id, error)
            self._settle(turn)
            raise error

    def handle(
        self, requests: Sequence[tuple[str, Request]], now_ns: int, steady_ns: int | None = None
    ) -> list[Answer]:
        """Answer *requests* of (client, request) pairs with one transaction for all of them.

        Args:
            requests: What clients ask.
            now_ns: The time of what is recorded.
            steady_ns: What leases and backoffs are measured by; None for the same clock.

        Raises:
            LogError: The log could not be written; nothing changed for any of them.
        """
        turn = self._turn(now_ns, steady_ns)
        try:
            answers = [self._answer(turn, client, request) for client, request in requests]
        except BaseException:
            turn.put_back()
            raise
        try:
            self._settle(turn)
        except CortexError:
            for (_, request), answer in zip(requests, answers, strict=True):
                self._excuse(request, answer)
            raise
        return answers

    def tick(self, now_ns: int, steady_ns: int | None = None) -> None:
        """Append the events whose deadlines have come, and wake who waits for a lease to lapse.

        A step that nobody has claimed for a while is told then, too.
        """
        turn = self._turn(now_ns, steady_ns)
        steady_ns = now_ns if steady_ns is None else steady_ns
        lapsed = {n for n, q in self._known.queues.items() if q.mature(steady_ns)}
        self._woken |= lapsed
        self._unclaimed.lapsed(self._known, lapsed, steady_ns)
        due = self._deadlines.pop_due(now_ns)
        rights = DueRights(self._owners, self.vocabulary, now_ns)
        try:
            for deadline in due:
                turn.fire(deadline, rights.granted(deadline))
            for denied in rights.denials():
                turn.tell(denied)
            overdue = self._tell_unclaimed(turn, steady_ns)
            self._settle(turn)
        except BaseException:
            self._deadlines.put_back(due)  # still to be done: they are on disk
            raise
        self._unclaimed.told(overdue)
        self._woken |= self._tries.lapse(steady_ns)

    def end(self, now_ns: int) -> None:
        """End in good order: what was tried since the hub opened is held against nothing.

        What another program changed meanwhile of cursors, work, deadlines and receipts is put back.

        Raises:
            LogError: The log could not be written.
        """
        turn = self._turn(now_ns, None, routing=False)
        rows = put_back(self._known, self._log.state(), turn.batch)
        if rows:
            turn.tell(mended_by_hub(rows))
        self._tries.forgive(self._known, turn.batch)
        self._settle(turn)

    def astray(self) -> list[str]:
        """What the log holds of cursors, work, deadlines and receipts otherwise than the hub."""
        return put_back(self._known, self._log.state(), Batch())

    def next_due_ns(self) -> int | None:
        """When `tick` has something to do next, where one clock is there for everything.

        None for not before something is asked.
        """
        times = (self.next_deadline_ns(), self.next_lapse_ns())
        return min((t for t in times if t is not None), default=None)

    def next_deadline_ns(self) -> int | None:
        """When the next deadline comes, by the log's time."""
        return self._deadlines.next_ns()

    @property
    def time_ns(self) -> int:
        """The time of the newest event, UTC nanoseconds; 0 for an empty log."""
        return self._known.time_ns

    def ahead_ns(self) -> int:
        """How far the log's time was ahead of the clock at the newest jump that is recorded."""
        version = self._log.stream_version(CLOCK_STREAM)
        for data in self._log.read_stream(CLOCK_STREAM, version - 1, 1) if version else ():
            return msgspec.msgpack.decode(decode(data).body, type=LogClockJumped).ahead_ns
        return 0

    def jumped(self, jump: Jump, now_ns: int) -> None:
        """Take in that the clock was set; it is recorded with whatever is next.

        Args:
            jump: What the log's time made of it.
            now_ns: The log's time after it.
        """
        if jump.skipped_ns:
            self._skips.append((now_ns - jump.skipped_ns, jump.skipped_ns))
        told = LogClockJumped(
            by_ns=jump.by_ns,
            clock_ns=jump.clock_ns,
            ahead_ns=jump.ahead_ns,
            skipped_ns=jump.skipped_ns,
        )
        self._untold.append(Draft.of(told))

    def next_lapse_ns(self) -> int | None:
        """When the next lease or backoff is over, by the clock that those are measured by."""
        times = [t for q in self._known.queues.values() if (t := q.next_due_ns()) is not None]
        if self._tries.alone is not None:
            times.append(self._tries.alone.until_ns)
        look_ns = self._unclaimed.due_ns()
        if look_ns is not None:
            times.append(look_ns)
        return min(times, default=None)

    def last_number(self, client: str) -> int:
        """The number of the newest numbered publish of *client*; 0 where there is none."""
        receipts = self._known.receipts
        if self.torn:  # whatever was being written, the log knows it
            receipts = {r.client: r for r in self._log.state().receipts}
        receipt = receipts.get(client)
        return receipt.number if receipt else 0

    def deadline_source(self, name: str) -> str | None:
        """Who set the deadline of that name; None where there is none."""
        deadline = self._known.deadlines.get(name)
        return deadline.source if deadline else None

    def pairs_of(self, subscription: str) -> tuple[Pair, ...]:
        """What a subscription sees; empty where there is none of that name."""
        standing = self._known.standings.get(subscription)
        return standing.filter if standing else ()

    def take_woken(self, among: Collection[str] | None = None) -> set[str]:
        """Names of subscriptions with something new since this was last asked.

        Of a route that wakes many only those that are *among* these, where that is given: the
        others cost next to nothing, however many they are.
        """
        woken, wakes = self._woken, self._wakes
        if not (woken or wakes):
            return set()
        self._woken, self._wakes = set(), {}
        for wake in wakes.values():
            if among is None or len(wake) <= FEW:
                woken |= wake
            elif len(among) < len(wake):
                # A list at once: another thread may begin to watch meanwhile.
                woken.update(name for name in list(among) if name in wake)
            else:
                woken.update(name for name in wake if name in among)
        return woken

    def fetch(self, request: Fetch) -> Page:
        """The next page of an ordered subscription; safe beside `handle` in another thread.

        Raises:
            SubscriptionError: There is no ordered subscription of that name.
            TailLostError: The log has lost what was seen, or never was as long.
        """
        head = self._known.head
        self._known.refuse_lost(request.log_epoch, request.after)
        if request.after > head:
            raise TailLostError(request.after, head)
        seen = self._known.filters.get(request.subscription)
        if seen is None or request.subscription in self._known.queues:
            raise SubscriptionError(request.subscription, "is no ordered one: subscribe first")
        return self._pages.page(request, seen, head, self._known.epoch)

    def _turn(self, now_ns: int, steady_ns: int | None, *, routing: bool = True) -> Turn:
        if self.torn:
            before, known = self._known, Known.of(self._log)
            for name in before.passing:
                known.stand(before.standings[name])
            known.passing |= before.passing
            known.count()
            self._load(known)
            self.torn = False
        random = int.from_bytes(self._entropy(8), "big") >> 2
        steady_ns = now_ns if steady_ns is None else steady_ns
        turn = Turn(
            self._known,
            Trial(self._tries, steady_ns),
            self._log,
            self.vocabulary,
            self._pages.record,
            random,
            now_ns,
            steady_ns,
            self.allowed,
            self._owners,
            self._mask,
        )
        if routing and self._known.full:  # before anything is appended, which comes after it
            route_on(self._known, turn, self.allowed, self.ready, self._pages.after)
        for draft in self._untold:
            turn.tell(draft)
            turn.batch.told = True
        return turn

    def _tell_unclaimed(self, turn: Turn, steady_ns: int) -> list[Work]:
        """Stage the reports of steps that nobody claims; the work they are about."""
        overdue = self._unclaimed.overdue(
            self._known,
            steady_ns,
            lambda work: turn.trial.must_wait((work.subscription, work.position)),
        )
        for work in overdue:
            record = self._pages.record(work.position)
            if record.topic == STEP and not turn.drop_moot(work, record):
                waited_s = max(0, turn.time_ns - record.time_ns) / 1e9
                turn.tell(report(STEP, record.body, record.position, waited_s))
        return overdue

    def _answer(self, turn: Turn, client: str, request: Request) -> Answer:
        try:
            # Before anything else is looked at: it may speak of another history of this log.
            epoch = getattr(request, "log_epoch", 0)
            if epoch and epoch != self._known.epoch:
                refuse_lost(client, request, self._known, self._log, turn.batch.receipts)
            match request:
                case Commit():
                    return turn.commit(client, request)
                case Finish():
                    return turn.finish(client, request)
                case Publish():
                    return turn.publish(client, request)
                case Claim():
                    return turn.claim(request)
                case Renew():
                    return turn.renew(request)
                case Release():
                    return turn.release(request)
                case Attempt():
                    return turn.attempt(request)
                case Subscribe():
                    return turn.subscribe(request)
                case Unsubscribe():
                    return turn.unsubscribe(request)
                case Fetch():
                    return self.fetch(request)
                case Withdraw():
                    return turn.withdraw(request.client, request.keeps)
                case Once():
                    return self._once(turn, client, request)
                case _:
                    raise SubscriptionError("?", f"{type(request).__name__} is not a request")
        except LogError as error:
            self._tries.excuse(self._known, request)
            return Refused.of(error)
        except TailLostError as error:
            self._losses.note(turn, client, getattr(request, "log_epoch", 0), error)
            return Refused.of(error)
        except CortexError as error:
            return Refused.of(error)

    def _once(self, turn: Turn, client: str, request: Once) -> Done:
        receipts = (turn.batch.receipts, self._known.receipts)
        done = once.kept(client, request, *receipts)
        if done is not None:
            return done
        answers = [
            self._answer(turn, source, each)
            for source, requests in request.parts
            for each in requests
        ]
        return once.keep(client, request, answers, turn.batch.receipts)

    def _excuse(self, request: Request, answer: Answer) -> None:
        if isinstance(request, Once) and isinstance(answer, Done):
            each = (r for _, requests in request.parts for r in requests)
            for inner, given in zip(each, answer.answers, strict=False):
                self._excuse(inner, given)
        elif not isinstance(answer, Refused):
            self._tries.excuse(self._known, request)

    def _settle(self, turn: Turn) -> None:
        batch = turn.batch
        try:
            self.torn = True
            if not batch.empty():
                self._log.write(batch)
        except CortexError:  # the log's word that it kept nothing
            turn.put_back()
            self.torn = False
            raise
        known = self._known
        known.full = turn.full
        known.settle(batch)
        if batch.work:
            fill_up(known, {name for name, _ in batch.work}, self.allowed, self.ready)
        if turn.tally.counts:
            known.tally.take(turn.tally)
        self._woken |= self._tries.settle(turn.trial, batch.dropped)
        for standing in turn.passing.values():
            known.stand(standing)
            known.passing.add(standing.name)
        for deadline in batch.deadlines.values():
            self._deadlines.set(deadline)
        known.time_ns = turn.time_ns
        if turn.records:
            self._untold.clear()
            if len(known.versions) > VERSIONS_KEPT:
                known.versions.clear()
            known.versions.update(turn.versions)
            self._pages.extend(turn.records)
            known.head = turn.head
        if turn.offered:
            self._unclaimed.offered(turn.offered, turn.steady_ns)
        if turn.ephemeral:
            self._pages.pass_by(turn.ephemeral)
        self._woken |= turn.woken
        self._wakes.update(turn.wakes)
        self.torn = False
