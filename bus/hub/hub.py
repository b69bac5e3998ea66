"""The hub: a state machine that turns requests into transactions of the log.

It has no thread, socket or clock. A driver gives it batches of requests with the time; it checks
each against what it knows and what the batch has already staged, writes everything in one
transaction, and only then moves its own state. A refused request leaves its neighbours alone; a
failed write leaves the hub as it was.
"""

from collections.abc import Callable, Collection, Sequence
from functools import partial

from ..access import Owners
from ..epochs import Epochs, last_common
from ..errors import CortexError, LogError, SubscriptionError, TailLostError
from ..event import Draft
from ..limits import Allowed, Limits
from ..log import Batch, Log
from ..policy import Plain, WorkPolicy
from ..requests import (
    PASSED_BY,
    Answer,
    Attempt,
    Claim,
    Claimed,
    Commit,
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
from . import claiming, idempotency
from .astray import mended_by_hub, put_back
from .backlog import fill_up, route_on
from .deadlines import Deadlines
from .deciding import Deciding
from .hub_state import HubState, Wakeups
from .log_clock import Jump, recorded_ahead_ns
from .lost import Losses, epoch_began, refuse_lost
from .pages import Pages
from .poison import PoisonTracking, StagedTries
from .recording import RandomIds
from .stalled import StalledWork
from .standing_claims import fetch_leased
from .subscribing import subscribe, unsubscribe
from .transaction import Mask, Rules, Transaction
from .withdrawal import DueRights

VERSIONS_KEPT = 200_000  # streams whose version is cached; the log has all of them


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
        self._log = log
        self._random = RandomIds(entropy)
        self._untold: list[Draft] = []  # events about the log, for the next transaction
        self._pages = Pages(log)
        self._rules = Rules(log, vocabulary, self._pages.record, policy, owners, mask, subjects)
        self._skips: list[tuple[int, int]] = []  # jumps of the log's time: when, and by how much
        self._load(HubState.of(log))
        self._poison = PoisonTracking.of(self._state)
        self._wakeups = Wakeups()
        self.allowed: Allowed = lambda _: None  # no limits unless the owner sets them
        self.ready = Limits().waiting  # events in a work subscription of a client without limits
        self.torn = False  # a write was interrupted (Ctrl-C): only the log has its outcome
        self._losses = Losses()
        self.deciding = Deciding()
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
            # If it ended the hub before, the event at fault must be on disk before it is tried.
            if not any(self._poison.is_repeated(request) for _, request in requests):
                self.deciding.decide(transaction, requests, answers)
        except BaseException:
            self._undo(transaction)
            raise
        try:
            self._settle(transaction)
        except CortexError:
            for (_, request), answer in zip(requests, answers, strict=True):
                self._poison.excuse_answered(self._state, request, answer)
            raise
        return answers

    def tick(self, now_ns: int, steady_ns: int | None = None) -> None:
        """Append the events of due deadlines, and wake workers that wait for a lease to lapse.

        It also reports watched requests that no worker has claimed for a while.
        """
        transaction = self._transaction(now_ns, steady_ns)
        steady_ns = now_ns if steady_ns is None else steady_ns
        lapsed = {n for n, q in self._state.queues.items() if q.mature(steady_ns)}
        self._wakeups.names |= lapsed
        self._stalled.lapsed(self._state, lapsed, steady_ns)
        due = self._deadlines.pop_due(now_ns)
        rights = DueRights(self._owners, self.vocabulary, now_ns)
        try:
            for deadline in due:
                transaction.fire(deadline, rights.granted(deadline))
            for denied in rights.denials():
                transaction.tell(denied)
            overdue = self._stalled.report(self._state, transaction, self._pages.record)
            self._settle(transaction)
        except BaseException:
            self._deadlines.put_back(due)  # they are still pending on disk
            raise
        self._stalled.reported(overdue)
        self._wakeups.names |= self._poison.lapse(steady_ns)

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
        return recorded_ahead_ns(self._log)

    def jumped(self, jump: Jump, now_ns: int) -> None:
        """Note that the clock was set; the next transaction records it.

        Args:
            jump: How the log's time reacted.
            now_ns: The log's time after it.
        """
        if jump.skipped_ns:
            self._skips.append((now_ns - jump.skipped_ns, jump.skipped_ns))
        self._untold.append(Draft.of(jump.event()))

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
        """Names of subscriptions with something new since the last call; see `Wakeups.take`."""
        return self._wakeups.take(among)

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
        """The work leased to a standing claim; None if only `handle` can answer."""
        return None if self.torn else fetch_leased(self._state, request, steady_ns)

    def _transaction(
        self, now_ns: int, steady_ns: int | None, *, routing: bool = True
    ) -> Transaction:
        if self.torn:
            self._load(self._state.read_again(self._log))
            self.deciding.moved(self._state.head)
            self.torn = False
        steady_ns = now_ns if steady_ns is None else steady_ns
        transaction = Transaction(
            self._state,
            StagedTries(self._poison, steady_ns),
            self._random.next(),
            now_ns,
            steady_ns,
            self.allowed,
            self._rules,
        )
        if routing and self._state.full:  # before this batch appends newer events
            route_on(self._state, transaction, self.allowed, self.ready, self._pages.after)
        for draft in self._untold:
            transaction.tell(draft)
            transaction.batch.told = True
        return transaction

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
                    return claiming.finish(transaction, client, request)
                case Publish():
                    return transaction.publish(client, request)
                case Claim() | Renew() | Release() | StandDown():
                    return claiming.answer(transaction, request)
                case Attempt():
                    return transaction.attempt(request)
                case Subscribe():
                    return subscribe(transaction, request)
                case Unsubscribe():
                    return unsubscribe(transaction, request)
                case Fetch():
                    return self.fetch(request)
                case Withdraw():
                    return transaction.withdraw(request.client, request.keeps)
                case Once():
                    again = partial(self._answer, transaction)
                    receipts = transaction.batch.receipts, self._state.receipts
                    return idempotency.once(client, request, *receipts, again)
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

    def _undo(self, transaction: Transaction) -> None:
        transaction.put_back()
        self.deciding.drop()

    def _settle(self, transaction: Transaction) -> None:
        batch = transaction.batch
        try:
            self.torn = True
            if not batch.empty():
                self._log.write(batch)
        except BaseException as error:
            self._undo(transaction)
            if isinstance(error, CortexError):  # the log reports that it kept nothing
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
        self._wakeups.names |= self._poison.settle(transaction.tries, batch.dropped)
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
            if transaction.head // PASSED_BY > state.head // PASSED_BY:
                # A cursor that never moves is a long way to go after a kill.
                self._wakeups.names |= state.ordered()
            state.head = transaction.head
            self.deciding.settle(transaction)
        if transaction.offered:
            self._stalled.offered(transaction.offered, transaction.steady_ns)
        if transaction.ephemeral:
            self._pages.pass_by(transaction.ephemeral)
        self._wakeups.names |= transaction.woken
        self._wakeups.routes.update(transaction.wakes)
        self.torn = False
