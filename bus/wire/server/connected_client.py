"""One client program at a hub: the state that its connections share."""

import contextlib
import threading
from collections.abc import Callable, Hashable, Iterable

import msgspec

from ...access import Peer
from ...errors import CortexError
from ...local import LocalHub
from ...port import Wake
from ...requests import Lease, Release, Subscribe, Unsubscribe, Withdraw
from .questions import Answerer, Questions
from .usage import Usage


class Connected(msgspec.Struct, frozen=True):
    """A connected client program, as shown to users."""

    name: str
    carrier: str
    address: str
    connections: int
    since_ns: int
    leases: tuple[tuple[str, int], ...] = ()  # subscription and position of the work that it holds
    answers: tuple[str, ...] = ()  # topics of queries that it answers
    questions: int = 0  # waiting for its answer
    blobs: int = 0  # unfinished
    blob_bytes: int = 0  # received of them


class ConnectedClient:
    """The state of a client program at the hub, beside its connections."""

    def __init__(self, client: str, peer: Peer, hub: LocalHub, questions: Questions) -> None:
        self.client, self.peer = client, peer
        self.key: tuple[str, str] = (client, "")  # and its program; the server's to set
        self.whose: Hashable = self  # the owner that its uploads are counted for
        self.usage: Usage | None = None  # of a limited client; the server's to set
        self.since_ns = hub.clock.now_ns()
        self.answerer = Answerer()
        self.connections: set[object] = set()  # the server's to change
        self._hub, self._questions = hub, questions
        self._lock = threading.Lock()
        self._wakes: dict[str, Wake] = {}
        self._woken: set[str] = set()
        self._ring: Callable[[], None] | None = None
        self._passing: set[str] = set()  # subscriptions that do not outlive the client
        self._leases: dict[tuple[str, int], int] = {}  # work that it holds, with the epoch

    def watch(self, names: tuple[str, ...]) -> None:
        """Collect wakeups of these subscriptions from now on.

        Each gets one at once, because something may be there already.

        Raises:
            LimitError: The client would watch more than it may.
        """
        for name in names:
            with self._lock:
                if name in self._wakes:
                    continue
                if self.usage is not None:
                    self.usage.watch(1)
                self._wakes[name] = wake = self._waker(name)
            self._hub.watch(name, wake)
            wake()

    def unwatch(self, names: tuple[str, ...]) -> None:
        """Undo a `watch`."""
        for name in names:
            with self._lock:
                wake = self._wakes.pop(name, None)
                if wake is not None and self.usage is not None:
                    self.usage.watch(-1)
            if wake is not None:
                self._hub.unwatch(name, wake)

    def woken(self, ring: Callable[[], None]) -> tuple[str, ...]:
        """Subscriptions woken since the last call; *ring* is called at the next wakeup."""
        with self._lock:
            woken, self._woken = tuple(self._woken), set()
            self._ring = ring
        return woken

    def subscribed(self, request: Subscribe) -> None:
        """Note a subscription, so that one that does not last ends with the client."""
        if not request.lasting:
            self._passing.add(request.name)

    def unsubscribed(self, request: Unsubscribe) -> None:
        """Note that the subscription is gone."""
        self._passing.discard(request.name)

    def claimed(self, subscription: str, leases: Iterable[Lease]) -> None:
        """Note work that the client holds from now on."""
        for lease in leases:
            self._leases[subscription, lease.record.position] = lease.epoch

    def settled(self, subscription: str, position: int) -> None:
        """Note that the client no longer holds this work."""
        self._leases.pop((subscription, position), None)

    @property
    def leases(self) -> tuple[tuple[str, int], ...]:
        """Subscription and position of the client's work whose lease has not lapsed."""
        return tuple(self._leases)

    def shown(self, blobs: int, blob_bytes: int) -> Connected:
        """The client as users see it, with its uploads."""
        return Connected(
            self.client,
            self.peer.carrier,
            self.peer.address,
            len(self.connections),
            self.since_ns,
            self.leases,
            tuple(sorted(self.answerer.topics)),
            len(self.answerer.waiting),
            blobs,
            blob_bytes,
        )

    def withdraw(self, withdrawal: Withdraw) -> None:
        """Remove everything of a client that is no longer admitted, and release its work."""
        held, self._leases = self._leases, {}
        given_back = [Release(*key, epoch, 0) for key, epoch in held.items()]
        try:
            self._hub.submit(self.client, [*given_back, withdrawal])
        except CortexError:
            return  # checked again when a hub opens the home

    def give_back(self) -> None:
        """Release at once the work of a client that is gone for good."""
        held, self._leases = self._leases, {}
        with contextlib.suppress(CortexError):  # if the hub is closing, each lease lapses later
            given = [Release(*key, epoch, 0) for key, epoch in held.items()]
            self._hub.give_back(self.client, given)

    def hand_over(self, back: "ConnectedClient") -> None:
        """The client came back as *back*, which takes over its work."""
        held, self._leases = self._leases, {}
        back.take_over(held)

    def take_over(self, held: dict[tuple[str, int], int]) -> None:
        """Take over the work that the client held before its connections were cut."""
        self._leases = {**held, **self._leases}

    def end(self) -> None:
        """The client has no more connections."""
        self.unwatch(tuple(self._wakes))
        self._questions.leave(self.answerer)
        passing, self._passing = self._passing, set()
        if passing:
            try:
                self._hub.submit(self.client, [Unsubscribe(name) for name in passing])
            except CortexError:
                return  # the hub is closed, and they ended with it

    def _waker(self, name: str) -> Wake:
        def wake() -> None:
            with self._lock:
                self._woken.add(name)
                ring = self._ring
            if ring is not None:
                ring()

        return wake
