"""A feed of typed events, for programs that follow what happens."""

from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Generic, Self, TypeVar

import msgspec

from .clock import steady_s
from .errors import EventInvalidError, HubClosedError
from .event import Event, Recorded
from .requests import Pair
from .vocabulary import Vocabulary

if TYPE_CHECKING:
    from .client import Feed

PAGE_S = 15.0  # how long one request waits; then there is another

Kind = TypeVar("Kind", bound=Event)


class EventFeed(Generic[Kind]):
    """Events of some classes as they come; go through it with `for`, as often as you like.

    A `for` that is left does not lose what comes afterwards: the next one goes on behind the event
    that was given last. Leave its `with`, or `close` it, when nobody follows any more.

    Attributes:
        record: What the log keeps beside the event that was given last; None before the first.
    """

    def __init__(
        self, feed: "Feed", kinds: Sequence[type[Kind]], known: Vocabulary, quiet_s: float | None
    ) -> None:
        self._feed, self._known, self._quiet_s = feed, known, quiet_s
        self._kinds = {kind.topic_name(): kind for kind in kinds}
        self._waiting: list[Recorded] = []  # that came with one that was given
        self.record: Recorded | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[Kind]:
        """Each event; ends when the hub does, and after `quiet_s` in which none came.

        Raises:
            TailLostError: The log has lost some of what was given; another `for` goes on.
        """
        while (event := self.next(self._quiet_s)) is not None:
            yield event

    def next(self, wait_s: float | None = None) -> Kind | None:
        """The next event; None where none comes within *wait_s*, or the hub has ended."""
        until_s = None if wait_s is None else steady_s() + wait_s
        while not self._waiting:
            left_s = PAGE_S if until_s is None else min(PAGE_S, until_s - steady_s())
            try:
                self._waiting = self._feed.next(max(0.0, left_s))
            except HubClosedError:
                return None
            if left_s <= 0 and not self._waiting:
                return None
        self.record = record = self._waiting.pop(0)
        if record.topic in self._known:
            event: Kind = self._known.read(record)  # type: ignore[assignment]  # by its topic
            return event
        return msgspec.msgpack.decode(record.body, type=self._kinds[record.topic])

    def close(self) -> None:
        """Remove the subscription; a second call does nothing."""
        self._feed.close()


def pairs_of_kinds(kinds: Sequence[type[Event]], where: Mapping[str, str] | None) -> list[Pair]:
    """What a feed of these classes subscribes to.

    Raises:
        EventInvalidError: *where* does not name what one of them is routed by.
    """
    for kind in kinds:
        if where and set(where) != {kind.routing}:
            problem = f"is routed by {kind.routing}, not by {', '.join(where)}"
            raise EventInvalidError(kind.topic_name(), problem)
    key = next(iter(where.values())) if where else None
    return [(kind.topic_name(), key) for kind in kinds]
