"""The policy of a hub: what requests mean, of which the hub itself knows nothing.

Whoever makes the hub supplies the policy. Requests of some topics are *reported* if no worker takes
them, and checked while they wait. Events that *end* their stream cancel its waiting requests. A
later event may withdraw a single request. An effect that may happen only once begins only once.
"""

from collections.abc import Callable, Collection, Iterable
from typing import Protocol

from .event import Draft, Event, Recorded
from .log import Log


class WorkPolicy(Protocol):
    """Decides about waiting requests by what events say; pure, and asked inside a transaction."""

    @property
    def reported(self) -> Collection[str]:
        """Topics of requests that are reported by `stalled` where no subscription sees them."""
        ...

    @property
    def watched(self) -> str:
        """The one of them whose requests are also looked at while they wait in a queue."""
        ...

    @property
    def cancellable(self) -> Collection[str]:
        """Topics of requests that what follows in their stream may take back."""
        ...

    @property
    def ends(self) -> Collection[str]:
        """Topics of events after which nobody wants what was asked for in their stream."""
        ...

    def stalled(self, topic: str, body: bytes, waited_s: float) -> Event:
        """What is recorded of a request that nobody took for *waited_s* seconds."""
        ...

    def takes_back(self, later: Recorded, asked: Recorded, parties: frozenset[str]) -> bool:
        """Whether *later*, of the stream of *asked*, says that nobody wants *asked* any more.

        *parties* are those whose word about a failure counts: who asked, and who works on it.
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
        """Refuse what begins an effect that was begun before, or that nobody wants any more.

        Args:
            client: Who is to begin it. What others say of an effect does not count, but for whoever
                asked for it.
            events: What is to be appended, before it is known to be on disk.
            record: The durable event at a position, which is there.
            head: The last position that is there.
            log: Where it is looked what was said since.
            staged: What the log will have next.

        Raises:
            BegunError: One of them was begun, or is not wanted.
            EventInvalidError: One of them is not about the event that it names as its cause.
        """
        ...


class Plain:
    """The policy of a hub that carries events only: no request has a meaning."""

    reported: Collection[str] = frozenset()
    watched = ""
    cancellable: Collection[str] = frozenset()
    ends: Collection[str] = frozenset()

    def stalled(self, topic: str, body: bytes, waited_s: float) -> Event:
        """Never asked: no topic is reported."""
        raise LookupError(topic)

    def takes_back(self, later: Recorded, asked: Recorded, parties: frozenset[str]) -> bool:
        """Nothing is taken back."""
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
        """Nothing is refused."""
