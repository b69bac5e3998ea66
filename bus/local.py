"""Drives a hub in one process: many threads call it, and their requests share transactions.

The thread that holds the lock writes for all that wait (flat combining): a single caller pays for
no thread switch, and under load the batches grow by themselves.
"""

import contextlib
import threading
from collections.abc import Callable, Sequence

import msgspec

from .alarms import ClockThread
from .clock import Clock, SystemClock, lasting
from .combining import Combiner
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
from .hub.deciding import EarlyDecider
from .hub.hub import Hub
from .hub.log_clock import LogClock
from .limits import Allowance, Allowed
from .policy import WorkPolicy
from .port import Asked, Wake
from .requests import Answer, Fetch, Page, Pair, Refused, Release, Request, StandingClaim
from .vocabulary import Vocabulary

RETRY_NS = 1_000_000_000  # deadlines that could not be written are tried again after this


Relay = Callable[[str, bytes, float], Answer]  # topic, body and how long it may take


class LocalHub:
    """Serves one hub to the threads of one process, and keeps its deadlines.

    Args:
        hub: The state machine.
        clock: Where the time comes from.
        begins: False if the caller starts the clock thread with `begin`.
    """

    seen = 0  # this process sees only what the log has
    lost: TailLostError | None = None  # what a process has seen ends with the process
    away = False  # the hub is in this process

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
        self._combiner = Combiner(self._handle, lambda: hub.torn)
        self._wakes: dict[str, tuple[Wake, ...]] = {}
        self._marks: tuple[tuple[str, Wake], ...] = ()
        self._asked: dict[type[Event], Asked] = {}
        self._relays: dict[str, Relay] = {}
        self._watching = threading.Lock()
        self._deadline_ns: int | None = None  # the next deadline of the log, as far as it is known
        self._closed = False
        self._clock_thread = ClockThread(self.steady_ns, self._fire)
        if begins:
            self.begin()

    def begin(self) -> None:
        """Start the clock thread, which handles deadlines; called once."""
        self._clock_thread.begin()

    def look(self) -> None:
        """Look at the clock now, because the caller has moved it, as a test does."""
        self._clock_thread.look()

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
        ticket = self._combiner.add(client, requests)
        with self._writer:
            while ticket.answers is None and ticket.error is None:
                self._combiner.drain()
                self._set_alarm()
            woken = self._take_woken()
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
        with self._watching:
            self._wakes[subscription] = (*self._wakes.get(subscription, ()), wake)

    def mark(self, subscription: str, mark: Wake) -> None:
        """Call *mark* before anyone is answered whose request gave *subscription* something new.

        A `watch` may come after that answer, if another thread wrote the request. *mark* is called
        within the hub: it may only note that it was called.
        """
        self._marks = (*self._marks, (subscription, mark))

    def unmark(self, subscription: str, mark: Wake) -> None:
        """Undo a `mark`."""
        self._marks = tuple(each for each in self._marks if each != (subscription, mark))

    def unwatch(self, subscription: str, wake: Wake) -> None:
        """Undo a `watch`."""
        with self._watching:
            left = tuple(w for w in self._wakes.get(subscription, ()) if w != wake)
            if left:
                self._wakes[subscription] = left
            else:
                self._wakes.pop(subscription, None)

    def decide_by(self, decider: EarlyDecider) -> None:
        """Ask *decider* about events before they are written."""
        with self._writer:
            self._hub.deciding.begin(decider, self._hub.head)

    def decide_no_more(self, name: str) -> None:
        """Undo a `decide_by` for the decider of that name."""
        with self._writer:
            self._hub.deciding.end(name)

    def alarm(self, at_ns: int, wake: Wake) -> None:
        """Call *wake* once at *at_ns* (steady), on the clock's thread; it must return soon."""
        self._clock_thread.alarm(at_ns, wake)

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
                self._wake(self._take_woken())

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
        self._clock_thread.stop()
        with self._watching:
            wakes = [w for many in self._wakes.values() for w in many]
        for wake in wakes:
            wake()
        self._clock_thread.join()

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

    def _handle(self, flat: Sequence[tuple[str, Request]]) -> list[Answer]:
        if self._closed:
            raise HubClosedError
        return self._hub.handle(flat, self._log_time(), self.steady_ns())

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
            self._clock_thread.ring_at(lapse_ns)
        if deadline_ns is not None and deadline_ns != self._deadline_ns:
            self._deadline_ns = deadline_ns
            self._clock_thread.ring_at(self.steady_ns() + deadline_ns - self._log_clock.time_ns)

    def _fire(self) -> None:
        with self._writer:
            if self._closed:
                return
            self._deadline_ns = None  # the clock thread has forgotten it
            try:
                self._hub.tick(self._log_time(), self.steady_ns())
                self._set_alarm()
            except CortexError:
                # The log cannot write now (a full disk): the deadlines stay. Try again soon.
                self._clock_thread.ring_at(self.steady_ns() + RETRY_NS)
            woken = self._take_woken()
        self._wake(woken)

    def _take_woken(self) -> set[str]:
        """Names of subscriptions to wake; the caller holds the writer's lock."""
        woken = self._hub.take_woken(self._wakes)
        for name, mark in self._marks if woken else ():
            if name in woken:
                mark()
        return woken

    def _wake(self, subscriptions: set[str]) -> None:
        for name in subscriptions:
            for wake in self._wakes.get(name, ()):
                wake()
