"""A remote hub, with the interface of a local one."""

import contextlib
import secrets
import threading
from collections.abc import Sequence

import msgspec

from ...alarms import ClockThread
from ...clock import Clock, SystemClock, steady_s
from ...epochs import Epochs
from ...errors import (
    AskTimeoutError,
    CortexError,
    SubscriptionError,
    TailLostError,
)
from ...event import Event, Query
from ...port import Asked as Answering
from ...port import Wake
from ...requests import (
    Answer,
    Appended,
    Fetch,
    Page,
    Refused,
    Request,
    Subscribe,
    Subscribed,
    Unsubscribe,
)
from ...vocabulary import Vocabulary
from ..frames import (
    WAIT_S,
    Ask,
    At,
    Await,
    Frame,
    Head,
    LastNumber,
    Serve,
    Unserve,
    Unwatch,
    Watch,
    Woken,
    event_of,
    one,
)
from .answering import Listeners
from .channel import Channel, Way
from .command import Command
from .connection_pool import ConnectionPool, KeptConnection

AWAY_S = 30.0  # how long a caller waits for an unreachable hub


class RemoteHub:
    """A client's connections to a served hub; thread-safe.

    While the hub is unreachable callers wait, at most *away_s*. Their requests are sent when it is
    back; what it has done already is not repeated. The amount of waiting requests is bounded.

    Args:
        way: The address, and the client's identity.
        vocabulary: Decodes the answers of queries.
        away_s: How long a caller waits for an unreachable hub.

    Raises:
        HubAwayError: The hub cannot be reached now.
        CortexError: The hub does not admit this client.
    """

    def __init__(self, way: Way, vocabulary: Vocabulary, away_s: float = AWAY_S) -> None:
        self.clock: Clock = SystemClock()
        self.steady_ns = self.clock.monotonic_ns
        self._vocabulary = vocabulary
        self._away_s = away_s
        self._lines = ConnectionPool(msgspec.structs.replace(way, instance=secrets.token_hex(16)))
        self._command = Command(self._lines, away_s)
        self._alarms = ClockThread(self.steady_ns, name="cortex-alarms")
        self._lock = threading.Lock()
        self._wakes: dict[str, tuple[Wake, ...]] = {}
        self._watcher: KeptConnection | None = None
        self._passing: dict[str, Subscribe] = {}  # they end with the hub, and are made again
        self._listeners = Listeners(self._lines, vocabulary)
        first = self._lines.patiently(steady_s())
        self.name = first.welcome.client
        self._command.take(first)

    @property
    def head(self) -> int:
        """Position of the newest durable event."""
        return self.value(Head())

    @property
    def epochs(self) -> Epochs:
        """Epochs of the log, the newest last, as the hub last reported them."""
        return self._lines.epochs

    @property
    def seen(self) -> int:
        """The newest position that the hub has reported to this program."""
        return self._lines.seen

    @property
    def lost(self) -> TailLostError | None:
        """The last time that the log lost events which this program had seen."""
        return self._lines.lost

    @property
    def away(self) -> bool:
        """Whether the hub was unreachable at the last dial."""
        return self._lines.away

    def value(self, request: Head | LastNumber, source: str = "") -> int:
        """The position or number that *request* asks for."""
        answer = self.ask_one(source, request)
        return answer.value if isinstance(answer, At) else 0

    def submit(self, client: str, requests: Sequence[Request]) -> list[Answer]:
        """Answer *requests* once everything they changed is durable; refusals are answers too."""
        source = "" if client == self.name else client
        answers = self._command.ask(source, requests)
        for request, answer in zip(requests, answers, strict=True):
            self._lines.saw(answer)
            if isinstance(request, Subscribe) and isinstance(answer, Subscribed):
                if not request.lasting:
                    self._passing[request.name] = request
            elif isinstance(request, Unsubscribe) and isinstance(answer, Appended):
                self._passing.pop(request.name, None)
        return answers

    def ask_one(self, client: str, request: Request) -> Answer:
        """Answer one request; a refusal is raised."""
        answer = self.submit(client, (request,))[0]
        if isinstance(answer, Refused):
            raise answer.error()
        return answer

    def fetch(self, request: Fetch, wait_s: float = 0.0) -> Page:
        """The next page; waits up to *wait_s* if there is nothing yet."""
        until_s, mended = steady_s() + wait_s, False
        while True:
            left_s = max(0.0, until_s - steady_s())
            waiting = msgspec.structs.replace(request, wait_s=min(left_s, WAIT_S))
            answer = self._apart(one(waiting), waiting.wait_s)
            if isinstance(answer, Refused) and not mended:
                self._mend(request.subscription, answer)
                mended = True
                continue
            if isinstance(answer, Refused):
                raise answer.error()
            if not isinstance(answer, Page):
                raise CortexError(f"a fetch was answered with {type(answer).__name__}")
            self._lines.saw(answer)
            if answer.records or answer.ephemeral or steady_s() >= until_s:
                return answer
            request = msgspec.structs.replace(
                request, after=answer.through, ring_after=answer.ring_through
            )

    def watch(self, subscription: str, wake: Wake) -> None:
        """Call *wake* whenever *subscription* may have something new; it must return at once."""
        with self._lock:
            self._wakes[subscription] = (*self._wakes.get(subscription, ()), wake)
            if self._watcher is None:
                self._watcher = KeptConnection(
                    self._lines, "cortex-watch", self._rewatch, self._wait
                )
        self.ask_one("", Watch((subscription,)))

    def unwatch(self, subscription: str, wake: Wake) -> None:
        """Undo a `watch`."""
        with self._lock:
            left = tuple(w for w in self._wakes.get(subscription, ()) if w != wake)
            if left:
                self._wakes[subscription] = left
                return
            self._wakes.pop(subscription, None)
        with contextlib.suppress(CortexError):  # it ends with the connection
            self.ask_one("", Unwatch((subscription,)))

    def alarm(self, at_ns: int, wake: Wake) -> None:
        """Call *wake* once at *at_ns* (steady), on a thread of its own; it must return soon."""
        self._alarms.begin()  # with the first alarm: most clients have none
        self._alarms.alarm(at_ns, wake)

    def answer(self, query: type[Event], asked: Answering) -> None:
        """Let *asked* answer every query of this class at the hub.

        Raises:
            SubscriptionError: Another client or component answers it already.
        """
        topic = query.topic_name()
        if self._listeners.get(topic) is not None:
            raise SubscriptionError(topic, "is answered by a component already")
        self._listeners.add(topic, query, asked)
        try:
            self.ask_one("", Serve((topic,)))
        except CortexError:
            self._listeners.remove(topic)
            raise

    def unanswer(self, query: type[Event]) -> None:
        """Undo an `answer`."""
        self._listeners.remove(query.topic_name())
        with contextlib.suppress(CortexError):  # it ends with the connection
            self.ask_one("", Unserve((query.topic_name(),)))

    def ask(self, query: Query, timeout_s: float) -> Event:
        """Ask *query* of the client or component that answers it; the log does not record it.

        Raises:
            UnansweredError: No client or component answers it.
            AskTimeoutError: No answer came within *timeout_s*.
            HubAwayError: The hub could not be reached in that time.
        """
        topic = query.topic_name()
        here = self._listeners.get(topic)
        if here is not None:
            try:
                return here[1](query, timeout_s)
            except TimeoutError:
                raise AskTimeoutError(topic, timeout_s) from None
        asked = Ask(topic, msgspec.msgpack.encode(query), timeout_s)
        until_s = steady_s() + timeout_s
        answer = self._lines.exchange(one(asked), timeout_s, until_s)[0]
        return event_of(answer, self._vocabulary.classes())

    def last_number(self, client: str) -> int:
        """The number of the newest numbered publish under this name; 0 if there is none."""
        return self.value(LastNumber(), client)

    def close(self) -> None:
        """Disconnect; requests without an answer may be lost. A second call does nothing."""
        self._lines.close()
        self._alarms.stop()
        self._alarms.join()
        self._command.close()
        if self._watcher is not None:
            self._watcher.join()
        self._listeners.close()
        for wakes in list(self._wakes.values()):
            for wake in wakes:
                wake()

    def _apart(self, frame: Frame, wait_s: float) -> Answer:
        """An answer that may take long, on a connection of its own."""
        return self._lines.exchange(frame, wait_s, steady_s() + self._away_s)[0]

    def _mend(self, subscription: str, refused: Refused) -> None:
        """Repeat a subscription that ended with its hub; raise any other refusal."""
        error = refused.error()
        passing = self._passing.get(subscription)
        if passing is None or not isinstance(error, SubscriptionError):
            raise error
        self.ask_one("", passing)

    def _rewatch(self, channel: Channel) -> None:
        """Repeat all watches at a hub that may not know them, and check at once."""
        names = tuple(self._wakes)
        if names:
            channel.exchange(one(Watch(names)))
        self._wake(names)

    def _wait(self, channel: Channel) -> None:
        answer = channel.exchange(one(Await(WAIT_S)), WAIT_S)[0]
        if isinstance(answer, Refused):
            raise answer.error()
        if isinstance(answer, Woken):
            self._wake(answer.names)

    def _wake(self, names: Sequence[str]) -> None:
        for name in names:
            for wake in self._wakes.get(name, ()):
                wake()
