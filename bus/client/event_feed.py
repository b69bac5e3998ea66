"""A feed of typed events, for programs that follow what happens."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

from ..clock import steady_s
from ..errors import EventInvalidError, HubClosedError
from ..event import Event, Recorded
from ..placeholders import erased_event
from ..requests import Pair
from ..vocabulary import Vocabulary

if TYPE_CHECKING:
    from .client import Feed

PAGE_S = 15.0  # how long one request waits before the next one

Kind = TypeVar("Kind", bound=Event)


class EventFeed(AbstractContextManager["EventFeed[Kind]"], Generic[Kind]):
    """Events of some classes as they come; iterate with `for`, any number of times.

    Leaving a `for` loses nothing: the next one continues after the last event that was
    returned. Leave the `with` block, or call `close`, when the feed is no longer needed.

    Attributes:
        record: The record of the last returned event; None before the first.
    """

    def __init__(
        self, feed: "Feed", kinds: Sequence[type[Kind]], known: Vocabulary, quiet_s: float | None
    ) -> None:
        self._feed, self._known, self._quiet_s = feed, known, quiet_s
        self._kinds = {kind.topic_name(): kind for kind in kinds}
        self._waiting: list[Recorded] = []  # fetched together with a returned event
        self.record: Recorded | None = None

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Kind]:
        """Each event; ends when the hub closes, or after `quiet_s` without an event.

        Raises:
            TailLostError: The log has lost some returned events; another `for` continues.
        """
        while (event := self.next(self._quiet_s)) is not None:
            yield event

    def next(self, wait_s: float | None = None) -> Kind | None:
        """The next event; None if none comes within *wait_s*, or if the hub has closed."""
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
        kind = self._kinds[record.topic]
        if record.erased:
            return erased_event(kind, record)
        return msgspec.msgpack.decode(record.body, type=kind)

    def close(self) -> None:
        """Remove the subscription; a second call does nothing."""
        self._feed.close()


def pairs_of_kinds(kinds: Sequence[type[Event]], where: Mapping[str, str] | None) -> list[Pair]:
    """The (topic, key) pairs that a feed of these classes subscribes to.

    Raises:
        EventInvalidError: *where* does not name the routing field of one of them.
    """
    for kind in kinds:
        if where and set(where) != {kind.routing}:
            problem = f"is routed by {kind.routing}, not by {', '.join(where)}"
            raise EventInvalidError(kind.topic_name(), problem)
    key = next(iter(where.values())) if where else None
    return [(kind.topic_name(), key) for kind in kinds]
