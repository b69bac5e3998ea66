"""The hub: a state machine that turns requests into transactions of the log.

It has no thread, socket or clock. A driver gives it batches of requests with the time; it checks
each against what it knows and what the batch has already staged, writes everything in one
transaction, and only then moves its own state. A refused request leaves its neighbours alone; a
failed write leaves the hub as it was.
"""

from collections.abc import Callable, Collection, Sequence

import msgspec

from ..access import Owners
from ..epochs import Epochs, last_common
from ..errors import CortexError, LogError, SubscriptionError, TailLostError
from ..event import Draft, decode
from ..events.log import CLOCK_STREAM, LogClockJumped
from ..limits import Allowed, Limits
from ..log import Batch, Log, Work
from ..policy import Plain, WorkPolicy
from ..requests import (
    Answer,
    Attempt,
    Claim,
    Claimed,
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
    StandDown,
    StandingClaim,
    Subscribe,
    Unsubscribe,
    Withdraw,
)
from ..subjects import Subjects
from ..vocabulary import Vocabulary
from . import idempotency
from .astray import mended_by_hub, put_back
from .backlog import fill_up, route_on
from .deadlines import Deadlines
from .hub_state import HubState
from .log_clock import Jump
from .lost import Losses, epoch_began, refuse_lost
from .pages import Pages
from .poison import PoisonTracking, StagedTries
from .stalled import StalledWork
from .transaction import Mask, Transaction
from .withdrawal import DueRights

VERSIONS_KEPT = 200_000  # streams whose version is cached; the log has all of them
DRAWN, DRAWS = 8, 64  # random bytes for the ids of a transaction; transactions per draw
FEW = 64  # a route that wakes at most this many subscriptions looks up each of them


class Hub:
    """One log, many subscriptions; see the module's docstring."""

    def __init__(
        self,
        log: Log,
        vocabulary: Vocabulary,
        entropy: Callable[[int], bytes],
        owners: Owners | None = None,
        mask: Mask | None = None,
        policy: WorkPolicy = Plain(),  # noqa: B008  # it keeps nothing
        subjects: Subjects | None = None,
    ) -> None:
        self.vocabulary = vocabulary
        self.policy = policy  # what requests mean to the owner of this hub
        self._owners = owners
        self._mask = mask  # removes from events what must not be recorded
        self._subjects = subjects  # None: a subject is recorded as it is named
        self._log = log
        self._entropy, self._drawn = entropy, b""
        self._untold: list[Draft] = []  # events about the log, for the next transaction
        self._pages = Pages(log)
        self._skips: list[tuple[int, int]] = []  # jumps of the log's time: when, and by how much
        self._load(HubState.of(log))
        self._poison = PoisonTracking.of(self._state)
        self._woken: set[str] = set()
        self._wakes: dict[int, frozenset[str]] = {}  # subscriptions that a route wakes, by its id
        self.allowed: Allowed = lambda _: None  # no limits unless the owner sets them
        self.ready = Limits().waiting  # events in a work subscription of a client without limits
        self.torn = False  # a write was interrupted (Ctrl-C): only the log has its outcome
        self._losses = Losses()
        self._untold += epoch_began(self._state)

    def _load(self, state: HubState) -> None:
        self._state = state
        self._deadlines = Deadlines(state.deadlines, self._skips)
        self._pages.begin(state.head)
        self._stalled = StalledWork(self.policy, state)

    @property
    def head(self) -> int:
        """Position of the newest durable event; 0 for an empty log."""
        return self._state.head

    @property
    def epochs(self) -> Epochs:
        """Epochs of the log, the newest last."""
        return self._state.epochs

    def meet(self, client: str, epochs: Epochs, seen: int, now_ns: int) -> None:
        """Admit a client that saw positions up to *seen* when it knew *epochs*.

        Raises:
            TailLostError: The log has lost some of them.
            LogError: The loss could not be recorded.
        """
        common = last_common(self._state.epochs, epochs, seen)
        if common < seen:
            error, transaction = TailLostError(seen, common), self._transaction(now_ns, None)
            self._losses.note(transaction, client, epochs[-1].id, error)
            self._settle(transaction)
            raise error

    def handle(
        self, requests: Sequence[tuple[str, Request]], now_ns: int, steady_ns: int | None = None
    ) -> list[Answer]:
        """Answer *requests* of (client, request) pairs with one transaction for all of them.

        Args:
            requests: The clients' requests.
            now_ns: The time to record.
            steady_ns: The clock for leases and backoffs; None for *now_ns*.

        Raises:
            LogError: The log could not be written; nothing changed for any of them.
        """
        transaction = self._transaction(now_ns, steady_ns)
        try:
            answers = [self._answer(transaction, client, request) for client, request in requests]
        except BaseException:
            transaction.put_back()
            raise
        try:
            self._settle(transaction)
        except CortexError:
            for (_, request), answer in zip(requests, answers, strict=True):
                self._excuse(request, answer)
            raise
        return answers

    def tick(self, now_ns: int, steady_ns: int | None = None) -> None:
        """Append the events of due deadlines, and wake workers that wait for a lease to lapse.

        It also reports watched requests that no worker has claimed for a while.
        """
        transaction = self._transaction(now_ns, steady_ns)
        steady_ns = now_ns if steady_ns is None else steady_ns
        lapsed = {n for n, q in self._state.queues.items() if q.mature(steady_ns)}
        self._woken |= lapsed
        self._stalled.lapsed(self._state, lapsed, steady_ns)
        due = self._deadlines.pop_due(now_ns)
        rights = DueRights(self._owners, self.vocabulary, now_ns)
        try:
            for deadline in due:
                transaction.fire(deadline, rights.granted(deadline))
            for denied in rights.denials():
                transaction.tell(denied)
            overdue = self._report_stalled(transaction, steady_ns)
            self._settle(transaction)
        except BaseException:
            self._deadlines.put_back(due)  # they are still pending on disk
            raise
        self._stalled.reported(overdue)
        self._woken |= self._poison.lapse(steady_ns)

    def abandoned(self, subscriptions: Collection[str], steady_ns: int) -> None:
        """Check soon whether other workers take the work of a worker that is gone."""
        self._stalled.abandoned(self._state, subscriptions, steady_ns)

    def end(self, now_ns: int) -> None:
        """Shut down cleanly: no attempt since the hub opened counts against its event.

        Restores the cursors, work, deadlines and receipts that another program changed on disk.

        Raises:
            LogError: The log could not be written.
        """
        transaction = self._transaction(now_ns, None, routing=False)
        rows = put_back(self._state, self._log.state(), transaction.batch)
        if rows:
            transaction.tell(mended_by_hub(rows))
        self._poison.forgive(self._state, transaction.batch)
        self._settle(transaction)

    def astray(self) -> list[str]:
        """Cursors, work, deadlines and receipts in which the log differs from the hub."""
        return put_back(self._state, self._log.state(), Batch())

    def next_due_ns(self) -> int | None:
        """When `tick` has something to do next, if one clock serves for everything.

        None: not before the next request.
        """
        times = (self.next_deadline_ns(), self.next_lapse_ns())
        return min((t for t in times if t is not None), default=None)

    def next_deadline_ns(self) -> int | None:
        """When the next deadline is due, by the log's time."""
        return self._deadlines.next_ns()

    @property
    def time_ns(self) -> int:
        """The time of the newest event, UTC nanoseconds; 0 for an empty log."""
        return self._state.time_ns

    def ahead_ns(self) -> int:
        """How far the log's time was ahead of the clock at the newest jump that is recorded."""
        version = self._log.stream_version(CLOCK_STREAM)
        for data in self._log.read_stream(CLOCK_STREAM, version - 1, 1) if version else ():
            return msgspec.msgpack.decode(decode(data).body, type=LogClockJumped).ahead_ns
        return 0

    def jumped(self, jump: Jump, now_ns: int) -> None:
        """Note that the clock was set; the next transaction records it.

        Args:
            jump: How the log's time reacted.
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
        """When the next lease or backoff ends, by the clock for leases and backoffs."""
        times = [t for q in self._state.queues.values() if (t := q.next_due_ns()) is not None]
        if self._poison.alone is not None:
            times.append(self._poison.alone.until_ns)
        look_ns = self._stalled.due_ns()
        if look_ns is not None:
            times.append(look_ns)
        return min(times, default=None)

    def last_number(self, client: str) -> int:
        """The number of the newest numbered publish of *client*; 0 if there is none."""
        receipts = self._state.receipts
        if self.torn:  # the log has whatever was being written
            receipts = {r.client: r for r in self._log.state().receipts}
        receipt = receipts.get(client)
        return receipt.number if receipt else 0

    def deadline_source(self, name: str) -> str | None:
        """Who set the deadline of that name; None if there is none."""
        deadline = self._state.deadlines.get(name)
        return deadline.source if deadline else None

    def pairs_of(self, subscription: str) -> tuple[Pair, ...]:
        """What a subscription sees; empty if there is none of that name."""
        standing = self._state.standings.get(subscription)
        return standing.filter if standing else ()

    def take_woken(self, among: Collection[str] | None = None) -> set[str]:
        """Names of subscriptions with something new since the last call.

        Of a route that wakes many, only the names in *among*, if given, so that the number of the
        others costs next to nothing.
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
        """The next page of an ordered subscription; thread-safe beside `handle`.

        Raises:
            SubscriptionError: There is no ordered subscription of that name.
            TailLostError: The log has lost events that the client saw.
        """
        head = self._state.head
        self._state.refuse_lost(request.log_epoch, request.after)
        if request.after > head:
            raise TailLostError(request.after, head)
        seen = self._state.filters.get(request.subscription)
        if seen is None or request.subscription in self._state.queues:
            raise SubscriptionError(request.subscription, "is not an ordered one: subscribe first")
        return self._pages.page(request, seen, head, self._state.epoch)

    def fetch_leased(self, request: StandingClaim, steady_ns: int) -> Claimed | None:
        """The work leased to a standing claim, if answering needs no write.

        None if only `handle` can answer: nothing is leased, a lease is about to end, or the stream
        of an event has newer events, so that the work may no longer be wanted.
        """
        claims, name = self._state.standing_claims, request.subscription
        unfetched, queue = claims.leased.get(request.claimant), self._state.queues.get(name)
        if unfetched is None or unfetched.subscription != name or queue is None or self.torn:
            return None
        long_enough_ns = steady_ns + request.lease_ns * 2 // 3
        for lease in unfetched.leases:
            record, work = lease.record, queue.get(lease.record.position)
            if (
                work is None
                or work.epoch != lease.epoch
                or work.not_before_ns < long_enough_ns
                or self._state.versions.get(record.stream) != record.version
            ):
                return None
        del claims.leased[request.claimant]
        return Claimed(unfetched.leases)

    def _transaction(
        self, now_ns: int, steady_ns: int | None, *, routing: bool = True
    ) -> Transaction:
        if self.torn:
            before, state = self._state, HubState.of(self._log)
            for name in before.passing:
                state.stand(before.standings[name])
            state.passing |= before.passing
            state.count()
            self._load(state)
            self.torn = False
        # Drawn in bulk: each draw is a system call, which lets another thread run.
        if len(self._drawn) < DRAWN:
            self._drawn = self._entropy(DRAWN * DRAWS)
        random = int.from_bytes(self._drawn[:DRAWN], "big") >> 2
        self._drawn = self._drawn[DRAWN:]
        steady_ns = now_ns if steady_ns is None else steady_ns
        transaction = Transaction(
            self._state,
            StagedTries(self._poison, steady_ns),
            self._log,
            self.vocabulary,
            self._pages.record,
            random,
            now_ns,
            steady_ns,
            self.allowed,
            self.policy,
            self._owners,
            self._mask,
            self._subjects,
        )
        if routing and self._state.full:  # before this batch appends newer events
            route_on(self._state, transaction, self.allowed, self.ready, self._pages.after)
        for draft in self._untold:
            transaction.tell(draft)
            transaction.batch.told = True
        return transaction

    def _report_stalled(self, transaction: Transaction, steady_ns: int) -> list[Work]:
        """Stage reports of requests that no worker claims; return the work they are about."""
        overdue = self._stalled.overdue(
            self._state,
            steady_ns,
            lambda work: transaction.tries.must_wait((work.subscription, work.position)),
        )
        for work in overdue:
            record = self._pages.record(work.position)
            watched = record.topic == self.policy.watched
            if watched and not transaction.drop_cancelled(work, record):
                waited_s = max(0, transaction.time_ns - record.time_ns) / 1e9
                transaction.report(record.topic, record.body, record.position, waited_s)
        return overdue

    def _answer(self, transaction: Transaction, client: str, request: Request) -> Answer:
        try:
            # First of all: the request may be based on another history of this log.
            epoch = getattr(request, "log_epoch", 0)
            if epoch and epoch != self._state.epoch:
                refuse_lost(client, request, self._state, self._log, transaction.batch.receipts)
            match request:
                case Commit():
                    return transaction.commit(client, request)
                case Finish():
                    return transaction.finish(client, request)
                case Publish():
                    return transaction.publish(client, request)
                case StandingClaim():
                    return transaction.standing_claim(request)
                case StandDown():
                    return transaction.stand_down(request)
                case Claim():
                    return transaction.claim(request)
                case Renew():
                    return transaction.renew(request)
                case Release():
                    return transaction.release(request)
                case Attempt():
                    return transaction.attempt(request)
                case Subscribe():
                    return transaction.subscribe(request)
                case Unsubscribe():
                    return transaction.unsubscribe(request)
                case Fetch():
                    return self.fetch(request)
                case Withdraw():
                    return transaction.withdraw(request.client, request.keeps)
                case Once():
                    return self._once(transaction, client, request)
                case _:
                    raise SubscriptionError("?", f"{type(request).__name__} is not a request")
        except LogError as error:
            self._poison.excuse(self._state, request)
            return Refused.of(error)
        except TailLostError as error:
            self._losses.note(transaction, client, getattr(request, "log_epoch", 0), error)
            return Refused.of(error)
        except CortexError as error:
            return Refused.of(error)

    def _once(self, transaction: Transaction, client: str, request: Once) -> Done:
        receipts = (transaction.batch.receipts, self._state.receipts)
        done = idempotency.kept(client, request, *receipts)
        if done is not None:
            return done
        answers = [
            self._answer(transaction, source, each)
            for source, requests in request.parts
            for each in requests
        ]
        return idempotency.keep(client, request, answers, transaction.batch.receipts)

    def _excuse(self, request: Request, answer: Answer) -> None:
        if isinstance(request, Once) and isinstance(answer, Done):
            each = (r for _, requests in request.parts for r in requests)
            for inner, given in zip(each, answer.answers, strict=False):
                self._excuse(inner, given)
        elif not isinstance(answer, Refused):
            self._poison.excuse(self._state, request)

    def _settle(self, transaction: Transaction) -> None:
        batch = transaction.batch
        try:
            self.torn = True
            if not batch.empty():
                self._log.write(batch)
        except CortexError:  # the log reports that it kept nothing
            transaction.put_back()
            self.torn = False
            raise
        state = self._state
        state.full = transaction.full
        state.settle(batch)
        transaction.claims.settle(batch.dropped)
        if batch.work:
            fill_up(state, {name for name, _ in batch.work}, self.allowed, self.ready)
        if transaction.tally.counts:
            state.tally.take(transaction.tally)
        self._woken |= self._poison.settle(transaction.tries, batch.dropped)
        for standing in transaction.passing.values():
            state.stand(standing)
            state.passing.add(standing.name)
        for deadline in batch.deadlines.values():
            self._deadlines.set(deadline)
        state.time_ns = transaction.time_ns
        if transaction.records:
            self._untold.clear()
            if len(state.versions) > VERSIONS_KEPT:
                state.versions.clear()
            state.versions.update(transaction.versions)
            self._pages.extend(transaction.records)
            state.head = transaction.head
        if transaction.offered:
            self._stalled.offered(transaction.offered, transaction.steady_ns)
        if transaction.ephemeral:
            self._pages.pass_by(transaction.ephemeral)
        self._woken |= transaction.woken
        self._wakes.update(transaction.wakes)
        self.torn = False
