"""One client program at a hub: what its connections share, and what ends with the last of them."""

import contextlib
import threading
from collections.abc import Callable, Hashable, Iterable

from ..access import Peer
from ..errors import CortexError
from ..local import LocalHub
from ..port import Wake
from ..requests import Lease, Release, Subscribe, Unsubscribe, Withdraw
from .connected import Connected
from .questions import Answerer, Questions
from .usage import Usage


class ConnectedClient:
    """What a client program has at the hub beside its connections."""

    def __init__(self, client: str, peer: Peer, hub: LocalHub, questions: Questions) -> None:
        self.client, self.peer = client, peer
        self.key: tuple[str, str] = (client, "")  # and its program; the server's to set
        self.whose: Hashable = self  # with whom it shares what one client may take of the hub
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
        """Note from now on when these subscriptions may have something new.

        Each is woken at once: something may have come before.

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
        """Take that back."""
        for name in names:
            with self._lock:
                wake = self._wakes.pop(name, None)
                if wake is not None and self.usage is not None:
                    self.usage.watch(-1)
            if wake is not None:
                self._hub.unwatch(name, wake)

    def woken(self, ring: Callable[[], None]) -> tuple[str, ...]:
        """What was woken since this was last asked; *ring* is called when there is more."""
        with self._lock:
            woken, self._woken = tuple(self._woken), set()
            self._ring = ring
        return woken

    def subscribed(self, request: Subscribe) -> None:
        """Take note of a subscription, so that one that does not last ends with the client."""
        if not request.lasting:
            self._passing.add(request.name)

    def unsubscribed(self, request: Unsubscribe) -> None:
        """Take note that it is gone."""
        self._passing.discard(request.name)

    def claimed(self, subscription: str, leases: Iterable[Lease]) -> None:
        """Take note of work that the client holds from now on."""
        for lease in leases:
            self._leases[subscription, lease.record.position] = lease.epoch

    def settled(self, subscription: str, position: int) -> None:
        """Take note that it holds this no more, or lost it."""
        self._leases.pop((subscription, position), None)

    @property
    def leases(self) -> tuple[tuple[str, int], ...]:
        """Subscription and position of what the client holds, as far as it has not lapsed."""
        return tuple(self._leases)

    def shown(self, blobs: int, blob_bytes: int) -> Connected:
        """The client as it is shown, with what it is putting."""
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
        """Leave nothing behind of a client that is not let in any more, nor any work in hand."""
        held, self._leases = self._leases, {}
        given_back = [Release(*key, epoch, 0) for key, epoch in held.items()]
        try:
            self._hub.submit(self.client, [*given_back, withdrawal])
        except CortexError:
            return  # it is looked at again when a hub opens the home

    def give_back(self) -> None:
        """Let others have at once what a client held that is gone, and does not come back."""
        held, self._leases = self._leases, {}
        with contextlib.suppress(CortexError):  # the hub is closing: then each lapses, later
            given = [Release(*key, epoch, 0) for key, epoch in held.items()]
            self._hub.give_back(self.client, given)

    def hand_over(self, back: "ConnectedClient") -> None:
        """The client came back: what it held is held by *back*."""
        held, self._leases = self._leases, {}
        back.take_over(held)

    def take_over(self, held: dict[tuple[str, int], int]) -> None:
        """Hold what it held before its connections were cut."""
        self._leases = {**held, **self._leases}

    def end(self) -> None:
        """The client has no connection any more."""
        self.unwatch(tuple(self._wakes))
        self._questions.leave(self.answerer)
        passing, self._passing = self._passing, set()
        if passing:
            try:
                self._hub.submit(self.client, [Unsubscribe(name) for name in passing])
            except CortexError:
                return  # the hub is closed, and they are gone with it

    def _waker(self, name: str) -> Wake:
        def wake() -> None:
            with self._lock:
                self._woken.add(name)
                ring = self._ring
            if ring is not None:
                ring()

        return wake
