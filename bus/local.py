"""Drives a hub in one process: many threads call it, and their requests share transactions.

The thread that holds the lock writes for all that wait (flat combining): a single caller pays for
no thread switch, and under load the batches grow by themselves.
"""

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Sequence

import msgspec

from .clock import Clock, SystemClock, lasting
from .epochs import Epochs
from .errors import (
    AskTimeoutError,
    CortexError,
    HubClosedError,
    SubscriptionError,
    TailLostError,
    UnansweredError,
)
from .event import Event, Query
from .hub.hub import Hub
from .hub.log_clock import LogClock
from .limits import Allowance, Allowed
from .policy import WorkPolicy
from .port import Asked, Wake
from .requests import Answer, Fetch, Page, Pair, Refused, Release, Request, StandingClaim
from .timers import TimerQueue
from .vocabulary import Vocabulary

BATCH_REQUESTS = 512  # tickets per transaction, so that none waits long
RETRY_NS = 1_000_000_000  # deadlines that could not be written are tried again after this
TICK_S = 30.0  # longest sleep of the clock thread, because the clock may be set meanwhile


Relay = Callable[[str, bytes, float], Answer]  # topic, body and how long it may take


class _Ticket:
    __slots__ = ("answers", "client", "error", "requests")

    def __init__(self, client: str, requests: Sequence[Request]) -> None:
        self.client = client
        self.requests = requests
        self.answers: list[Answer] | None = None
        self.error: BaseException | None = None


class LocalHub:
    """Serves one hub to the threads of one process, and keeps its deadlines.

    Args:
        hub: The state machine.
        clock: Where the time comes from.
        begins: False if the caller starts the clock thread with `begin`.
    """

    def __init__(self, hub: Hub, clock: Clock, *, begins: bool = True) -> None:
        self.clock = clock
        self.steady_ns = clock.monotonic_ns  # the clock for leases, backoffs and waits
        self._uptime_ns = SystemClock.uptime_of(clock)
        self._hub = hub
        self._log_clock = LogClock(hub.time_ns, hub.ahead_ns(), clock.now_ns(), self._uptime_ns())
        if self._log_clock.found is not None:
            hub.jumped(self._log_clock.found, self._log_clock.time_ns)
        self._allowed: tuple[Allowed, ...] = ()
        hub.allowed = self._allowance
        self._writer = threading.Lock()  # its holder drives the state machine
        self._waiting: deque[_Ticket] = deque()
        self._wakes: dict[str, tuple[Wake, ...]] = {}
        self._asked: dict[type[Event], Asked] = {}
        self._relays: dict[str, Relay] = {}
        self._alarm = threading.Condition()
        self._alarm_ns: int | None = None  # when the clock thread has something to do; steady
        self._deadline_ns: int | None = None  # the next deadline of the log, as far as it is known
        self._alarms = TimerQueue()
        self._closed = False
        self._ticker = threading.Thread(target=self._tick, name="cortex-clock", daemon=True)
        if begins:
            self.begin()

    def begin(self) -> None:
        """Start the clock thread, which handles deadlines; called once."""
        self._ticker.start()

    def look(self) -> None:
        """Look at the clock now, because the caller has moved it, as a test does."""
        with self._alarm:
            self._alarm_ns = self.steady_ns()
            self._alarm.notify_all()

    @property
    def head(self) -> int:
        """Position of the newest durable event."""
        return self._hub.head

    @property
    def ahead_ns(self) -> int:
        """How far the log's time is ahead of the machine's clock, after that was set back."""
        return self._log_clock.ahead_ns

    @property
    def epochs(self) -> Epochs:
        """Epochs of the log, the newest last."""
        return self._hub.epochs

    @property
    def seen(self) -> int:
        """0: this process sees only what the log has."""
        return 0

    @property
    def lost(self) -> TailLostError | None:
        """Always None: what a process has seen ends with the process."""
        return None

    @property
    def away(self) -> bool:
        """Always False: the hub is in this process."""
        return False

    def submit(self, client: str, requests: Sequence[Request]) -> list[Answer]:
        """Answer *requests* once everything they changed is durable; refusals are answers too.

        Raises:
            LogError: The log could not be written; nothing of these requests was kept.
            HubClosedError: The hub was closed before.
        """
        if len(requests) == 1:
            (request,) = requests
            if isinstance(request, Fetch):
                return [self._fetched(request)]
            if isinstance(request, StandingClaim) and (leased := self._leased(request)):
                return [leased]
        ticket = _Ticket(client, requests)
        self._waiting.append(ticket)
        with self._writer:
            while ticket.answers is None and ticket.error is None:
                self._drain()
            woken = self._hub.take_woken(self._wakes)
        if woken:
            self._wake(woken)
        if ticket.error is not None:
            raise ticket.error
        return ticket.answers or []

    def give_back(self, client: str, held: Sequence[Release]) -> None:
        """Release the work of *client*, which is gone; the hub soon reports what no worker takes.

        Raises:
            LogError: The log could not be written; each lease lapses later.
            HubClosedError: The hub was closed before.
        """
        self.submit(client, held)
        with self._writer:
            self._hub.abandoned({each.subscription for each in held}, self.steady_ns())
            self._set_alarm()

    def ask_one(self, client: str, request: Request) -> Answer:
        """Answer one request, or raise its refusal.

        Raises:
            CortexError: Whatever the hub refuses the request with.
        """
        answer = self.submit(client, (request,))[0]
        if isinstance(answer, Refused):
            raise answer.error()
        return answer

    def fetch(self, request: Fetch, wait_s: float = 0.0) -> Page:
        """The next page; waits up to *wait_s* if there is nothing yet."""
        page = self._hub.fetch(request)
        if page.records or page.ephemeral or wait_s <= 0:
            return page
        arrived = threading.Event()
        self.watch(request.subscription, arrived.set)
        try:
            deadline_ns = self.steady_ns() + int(wait_s * 1e9)
            while not self._closed:
                request = msgspec.structs.replace(
                    request, after=page.through, ring_after=page.ring_through
                )
                page = self._hub.fetch(request)
                left_s = (deadline_ns - self.steady_ns()) / 1e9
                if page.records or page.ephemeral or left_s <= 0:
                    return page
                arrived.wait(lasting(left_s))
                arrived.clear()
            raise HubClosedError
        finally:
            self.unwatch(request.subscription, arrived.set)

    def watch(self, subscription: str, wake: Wake) -> None:
        """Call *wake* whenever *subscription* may have something new; it must return at once."""
        with self._alarm:
            self._wakes[subscription] = (*self._wakes.get(subscription, ()), wake)

    def unwatch(self, subscription: str, wake: Wake) -> None:
        """Undo a `watch`."""
        with self._alarm:
            left = tuple(w for w in self._wakes.get(subscription, ()) if w != wake)
            if left:
                self._wakes[subscription] = left
            else:
                self._wakes.pop(subscription, None)

    def alarm(self, at_ns: int, wake: Wake) -> None:
        """Call *wake* once at *at_ns* (steady), on the clock's thread; it must return soon."""
        with self._alarm:
            self._alarms.set(at_ns, wake)
        self._ring_at(at_ns)

    def limit_by(self, allowed: Allowed) -> None:
        """Add *allowed* to the sources of limits."""
        self._allowed = (*self._allowed, allowed)

    def limit_no_more(self, allowed: Allowed) -> None:
        """Undo a `limit_by`."""
        self._allowed = tuple(each for each in self._allowed if each != allowed)

    def answer(self, query: type[Event], asked: Asked) -> None:
        """Let *asked* answer every query of this class.

        Raises:
            SubscriptionError: Another component answers it already.
        """
        if query in self._asked:
            raise SubscriptionError(query.topic_name(), "is answered by a component already")
        self._asked[query] = asked

    def unanswer(self, query: type[Event]) -> None:
        """Undo an `answer`."""
        self._asked.pop(query, None)

    def relay(self, topic: str, asked: Relay) -> None:
        """Let *asked* answer the queries of *topic*, whose class this process does not have.

        Raises:
            SubscriptionError: Another client answers it already.
        """
        if topic in self._relays:
            raise SubscriptionError(topic, "is answered by another client already")
        self._relays[topic] = asked

    def unrelay(self, topic: str) -> None:
        """Undo a `relay`."""
        self._relays.pop(topic, None)

    def relayed(self, topic: str, body: bytes, timeout_s: float) -> Answer:
        """The answer from the client that `relay` registered.

        Raises:
            UnansweredError: No client answers it.
        """
        asked = self._relays.get(topic)
        if asked is None:
            raise UnansweredError(topic)
        return asked(topic, body, timeout_s)

    def ask(self, query: Query, timeout_s: float) -> Event:
        """Ask *query* of the component that answers it; the log does not record it.

        Raises:
            UnansweredError: No component answers it.
            AskTimeoutError: It did not answer within *timeout_s*.
        """
        asked = self._asked.get(type(query))
        if asked is None:
            raise UnansweredError(query.topic_name())
        try:
            return asked(query, timeout_s)
        except TimeoutError:
            raise AskTimeoutError(query.topic_name(), timeout_s) from None

    def meet(self, client: str, epochs: Epochs, seen: int) -> None:
        """Admit a client that saw positions up to *seen* when it knew *epochs*.

        Raises:
            TailLostError: The log has lost some of them.
        """
        with self._writer:
            try:
                self._hub.meet(client, epochs, seen, self.clock.now_ns())
            finally:
                woken = self._hub.take_woken()
                self._wake(woken)

    def last_number(self, client: str) -> int:
        """The number of the newest numbered publish under this name; 0 if there is none."""
        return self._hub.last_number(client)

    def astray(self) -> list[str]:
        """Cursors, work, deadlines and receipts in which the log differs from the hub."""
        with self._writer:
            return self._hub.astray()

    def deadline_source(self, name: str) -> str | None:
        """Who set the deadline of that name; None if there is none."""
        return self._hub.deadline_source(name)

    def pairs_of(self, subscription: str) -> tuple[Pair, ...]:
        """What a subscription sees; empty if there is none of that name."""
        return self._hub.pairs_of(subscription)

    @property
    def vocabulary(self) -> Vocabulary:
        """The events that the hub knows."""
        return self._hub.vocabulary

    @property
    def policy(self) -> WorkPolicy:
        """What requests mean here."""
        return self._hub.policy

    @property
    def closed(self) -> bool:
        """Whether the hub no longer accepts requests."""
        return self._closed

    def close(self) -> None:
        """Refuse new requests; everything acknowledged is on disk."""
        with self._writer:
            if not self._closed:
                with contextlib.suppress(CortexError):  # the attempts then stay counted
                    self._hub.end(self._log_time())
            self._closed = True
        with self._alarm:
            self._alarm.notify_all()
            wakes = [w for many in self._wakes.values() for w in many]
        for wake in wakes:
            wake()
        if self._ticker.is_alive() and threading.current_thread() is not self._ticker:
            self._ticker.join()

    def _allowance(self, root: str) -> Allowance | None:
        found = (allowed(root) for allowed in self._allowed)
        return next((each for each in found if each is not None), None)

    def _fetched(self, request: Fetch) -> Answer:
        """Answer a fetch, which changes nothing, without waiting for the writer."""
        if self._closed:
            raise HubClosedError
        try:
            return self._hub.fetch(request)
        except CortexError as error:
            return Refused.of(error)

    def _leased(self, request: StandingClaim) -> Answer | None:
        with self._writer:
            return None if self._closed else self._hub.fetch_leased(request, self.steady_ns())

    def _drain(self) -> None:
        tickets: list[_Ticket] = []
        while self._waiting and len(tickets) < BATCH_REQUESTS:
            tickets.append(self._waiting.popleft())
        try:
            if self._closed:
                raise HubClosedError
            self._answer(tickets)
        except BaseException as error:  # noqa: BLE001  # each waiting caller must be told
            for ticket in tickets:
                if ticket.answers is None:
                    ticket.error = error
        self._set_alarm()

    def _answer(self, tickets: Sequence[_Ticket]) -> None:
        flat = [(t.client, request) for t in tickets for request in t.requests]
        try:
            answers = self._hub.handle(flat, self._log_time(), self.steady_ns())
        except CortexError:
            raise
        except Exception:  # a defect before any write affects only its own caller
            if len(tickets) == 1 or self._hub.torn:
                raise
            self._answer_apart(tickets)
            return
        if len(tickets) == 1:
            tickets[0].answers = answers
            return
        first = 0
        for ticket in tickets:
            after = first + len(ticket.requests)
            ticket.answers, first = answers[first:after], after

    def _answer_apart(self, tickets: Sequence[_Ticket]) -> None:
        for ticket in tickets:
            try:
                self._answer((ticket,))
            except Exception as error:  # noqa: BLE001  # it is this caller's, the next has its turn
                ticket.error = error

    def _log_time(self) -> int:
        """The time to record; the caller holds the writer's lock."""
        jump = self._log_clock.read(self.clock.now_ns(), self._uptime_ns())
        if jump is not None:
            self._deadline_ns = None  # the next deadline may have changed
            self._hub.jumped(jump, self._log_clock.time_ns)
            with contextlib.suppress(CortexError):  # otherwise the next transaction records it
                # Deadlines that have become due come first, before anything can react to the jump.
                self._hub.tick(self._log_clock.time_ns, self.steady_ns())
        return self._log_clock.time_ns

    def _set_alarm(self) -> None:
        lapse_ns, deadline_ns = self._hub.next_lapse_ns(), self._hub.next_deadline_ns()
        if lapse_ns is not None:
            self._ring_at(lapse_ns)
        if deadline_ns is not None and deadline_ns != self._deadline_ns:
            self._deadline_ns = deadline_ns
            self._ring_at(self.steady_ns() + deadline_ns - self._log_clock.time_ns)

    def _ring_at(self, at_ns: int) -> None:
        if self._alarm_ns is not None and self._alarm_ns <= at_ns:
            return
        with self._alarm:
            if self._alarm_ns is None or at_ns < self._alarm_ns:
                self._alarm_ns = at_ns
                self._alarm.notify_all()

    def _tick(self) -> None:
        while not self._closed:
            with self._alarm:
                due_ns = self._alarm_ns
                sleep_s = TICK_S if due_ns is None else (due_ns - self.steady_ns()) / 1e9
                if sleep_s > 0 and self._alarm.wait(lasting(min(sleep_s, TICK_S))):
                    continue  # an earlier alarm was set, or the hub closes
                self._alarm_ns = self._deadline_ns = None
            self._fire()
            self._sound()

    def _fire(self) -> None:
        with self._writer:
            if self._closed:
                return
            try:
                self._hub.tick(self._log_time(), self.steady_ns())
                self._set_alarm()
            except CortexError:
                # The log cannot write now (a full disk): the deadlines stay. Try again soon.
                self._ring_at(self.steady_ns() + RETRY_NS)
            woken = self._hub.take_woken(self._wakes)
        self._wake(woken)

    def _sound(self) -> None:
        with self._alarm:
            due, next_ns = self._alarms.due(self.steady_ns()), self._alarms.next_ns
        for wake in due:
            wake()
        if next_ns is not None:
            self._ring_at(next_ns)

    def _wake(self, subscriptions: set[str]) -> None:
        for name in subscriptions:
            for wake in self._wakes.get(name, ()):
                wake()
