"""The policy of a hub: it defines what requests mean, which the hub itself does not know.

The hub's creator supplies the policy. Requests of some topics are *reported* if no worker takes
them, and checked while they wait. Events that *end* their stream cancel its waiting requests. A
later event may withdraw a single request. An effect that may happen only once begins only once.

The policy also affects grants: some requests name the folder in which
they are *placed*, and a client that may take a request with *effects* may say that one *begins*.
"""

from collections.abc import Callable, Collection, Iterable
from typing import Protocol

from .event import Draft, Event, Recorded
from .log import Log


class WorkPolicy(Protocol):
    """Decides about waiting requests by later events; pure, called inside a transaction."""

    @property
    def reported(self) -> Collection[str]:
        """Topics of requests that `stalled` reports if no subscription matches them."""
        ...

    @property
    def watched(self) -> str:
        """The topic among them whose requests are also checked while they wait in a queue."""
        ...

    @property
    def cancellable(self) -> Collection[str]:
        """Topics of requests that a later event of their stream may withdraw."""
        ...

    @property
    def ends(self) -> Collection[str]:
        """Topics of events that end their stream: its waiting requests are no longer wanted."""
        ...

    @property
    def placed(self) -> Collection[str]:
        """Topics of events whose `workspace` is the folder in which work is to run."""
        ...

    @property
    def effects(self) -> Collection[str]:
        """Topics of requests whose work may have effects."""
        ...

    @property
    def begins(self) -> Collection[str]:
        """Topics that a client may publish without a grant if it may take one of `effects`."""
        ...

    @property
    def synced(self) -> str:
        """The topic among them that must be published by itself, and synced."""
        ...

    @property
    def retried(self) -> str:
        """Topic of requests to retry an event; a client sees those to its own components."""
        ...

    def failed(self, reason: str) -> Event | None:
        """The event that records a defect in the hub; None to log it only."""
        ...

    def stalled(self, topic: str, body: bytes, waited_s: float) -> Event:
        """The event about a request that no worker took for *waited_s* seconds."""
        ...

    def takes_back(self, later: Recorded, asked: Recorded, parties: frozenset[str]) -> bool:
        """Whether *later*, of the stream of *asked*, withdraws *asked*.

        *parties* are the clients whose reports of a failure count: the requester and the worker.
        """
        ...

    def refuse_begun(
        self,
        client: str,
        events: Iterable[Draft],
        record: Callable[[int], Recorded],
        head: int,
        log: Log,
        staged: Iterable[Recorded],
    ) -> None:
        """Refuse an effect that was begun before, or that is no longer wanted.

        Args:
            client: The client that is to begin it. What others report about the effect does not
                count, except the requester.
            events: The events to append; they are not on disk yet.
            record: The durable event at a position, which exists.
            head: The last position that exists.
            log: Where to look for later events.
            staged: Events of the current transaction, which the log does not have yet.

        Raises:
            BegunError: One of the effects was begun, or is not wanted.
            EventInvalidError: One of the events does not fit the event that it names as its cause.
        """
        ...


class Plain:
    """The policy of a hub that only carries events: no request has a meaning."""

    reported: Collection[str] = frozenset()
    watched = ""
    cancellable: Collection[str] = frozenset()
    ends: Collection[str] = frozenset()
    placed: Collection[str] = frozenset()
    effects: Collection[str] = frozenset()
    begins: Collection[str] = frozenset()
    synced = ""
    retried = ""

    def failed(self, reason: str) -> Event | None:
        """Record nothing."""
        return None

    def stalled(self, topic: str, body: bytes, waited_s: float) -> Event:
        """Never asked: no topic is reported."""
        raise LookupError(topic)

    def takes_back(self, later: Recorded, asked: Recorded, parties: frozenset[str]) -> bool:
        """No request is withdrawn."""
        return False

    def refuse_begun(
        self,
        client: str,
        events: Iterable[Draft],
        record: Callable[[int], Recorded],
        head: int,
        log: Log,
        staged: Iterable[Recorded],
    ) -> None:
        """Refuse nothing."""
