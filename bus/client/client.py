"""A client of a hub, local or remote: publish, ask, subscribe, work, read."""

import base64
import itertools
import secrets
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar, overload

from ..epochs import Epochs, common_when_told, last_common, moved_on
from ..errors import (
    ConflictError,
    EventInvalidError,
    HubAwayError,
    HubClosedError,
    TailLostError,
)
from ..event import Draft, Event, Query, Recorded, decode
from ..log import Log
from ..port import HubPort
from ..requests import Appended, Fetch, Pair, Publish, Subscribe, Unsubscribe
from ..vocabulary import Vocabulary
from .event_feed import EventFeed, pairs_of_kinds
from .subscription import Subscription, WorkSubscription

Kind = TypeVar("Kind", bound=Event)

READ_PAGE = 1_024
TAG_BITS = 20  # of a number: two clients of one name must not use the same numbers


class Client(AbstractContextManager["Client"]):
    """Sends requests to a hub under one name, which is the `source` of what it publishes.

    Args:
        name: The name.
        hub: A local or a remote hub.
        log: Its log, for reading.
        vocabulary: The event classes that it decodes.
        blobs: The hub's store of large payloads, if this client can reach it.
        closes: Whether the connection to the hub is the client's own, and ends with it.
    """

    def __init__(
        self,
        name: str,
        hub: HubPort,
        log: Log,
        vocabulary: Vocabulary,
        blobs: Any = None,
        *,
        closes: bool = False,
    ) -> None:
        self.name = name
        self.vocabulary = vocabulary
        self.hub, self.log, self.blobs = hub, log, blobs
        self._hub = hub
        self._log = log
        self._closes = closes
        self._feeds: weakref.WeakSet[EventFeed[Any]] = weakref.WeakSet()
        self._numbering = threading.Lock()
        self._tag = secrets.randbits(TAG_BITS)
        self._count: int | None = None  # of the newest number; None until the hub was asked
        self._numbered = 0, 0  # the newest number, and the epoch of the log in which it is one
        self._epochs, self._lost = hub.epochs, hub.lost

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all feeds and disconnect from the hub; a second call does nothing.

        The hub itself keeps running.
        """
        if self._closes:
            self._hub.close()
            return
        for feed in list(self._feeds):
            feed.close()

    @property
    def head(self) -> int:
        """Position of the newest durable event."""
        return self._hub.head

    @property
    def epochs(self) -> Epochs:
        """Epochs of the log; store them with a position for a later `follow` or `read`."""
        return self._hub.epochs

    def publish(
        self,
        *events: Event,
        correlation: str | None = None,
        causation: int | None = None,
        expected_version: int | None = None,
        number: int = 0,
        subject: str | None = None,
    ) -> int:
        """Append *events* together.

        Args:
            events: In the order in which the log is to have them.
            correlation: The execution they serve, where they do not name one themselves.
            causation: Position of the event that caused them.
            expected_version: Version of the first event's stream that the caller last saw.
            number: Of `next_number`, for a publish that may have to be repeated: where no
                acknowledgement came, the same call with the same number is answered with the
                position these events have, and appends them only if they are not there yet.
            subject: Whose personal data they hold, where they do not name it themselves.

        Returns:
            Position of the last one, counted from 1; 0 where all were ephemeral.

        Raises:
            ConflictError: The stream is at another version; or something else was published
                under this name with a higher number, and only the newest can be repeated.
            EventError: One of them is invalid; none was recorded.
            LogError: The log could not be written; none was recorded.
            TailLostError: The log has lost events that this client had seen; none was recorded.
        """
        drafts = [
            Draft.of(
                event,
                correlation=correlation,
                causation=causation,
                expected_version=expected_version if index == 0 else None,
                whose=subject,
            )
            for index, event in enumerate(events)
        ]
        return self.publish_drafts(drafts, number=number)

    def publish_drafts(self, drafts: Sequence[Draft], *, number: int = 0) -> int:
        """Append events that are already encoded; otherwise as `publish`."""
        seen, epoch = self._hub.seen, self._epoch()
        if number and number == self._numbered[0]:
            epoch = self._numbered[1]
        request = Publish(tuple(drafts), number, log_epoch=epoch, seen=seen)
        try:
            answer = self._hub.ask_one(self.name, request)
        except (ConflictError, TailLostError):
            with self._numbering:
                self._count = None  # another client of this name may have used higher numbers
            self._epochs, self._lost = self._hub.epochs, self._hub.lost
            raise
        return answer.last if isinstance(answer, Appended) else 0

    def next_number(self) -> int:
        """A number for one `publish`, above all that were acknowledged under this name.

        It outlives the process: a client that stores it before it publishes can repeat the
        publish after a restart. A client that uses numbers publishes one call at a time.
        """
        epoch = self._epoch()
        with self._numbering:
            if self._count is None:
                self._count = self._hub.last_number(self.name) >> TAG_BITS
            self._count += 1
            number = self._count << TAG_BITS | self._tag
            self._numbered = number, epoch
            return number

    def new_id(self) -> str:
        """A new id: 16 letters and digits, random."""
        return base64.b32encode(secrets.token_bytes(10)).decode().lower()

    def ask(self, query: Query, timeout_s: float = 10.0) -> Event:
        """The answer of the component that answers *query*.

        Raises:
            UnansweredError: No component answers it.
            AskTimeoutError: No answer came within *timeout_s*.
            EventInvalidError: It contains a string that is not valid text.
        """
        try:
            return self._hub.ask(query, timeout_s)
        except UnicodeEncodeError as error:
            problem = f"{error.object[error.start : error.end]!a} is not text"
            raise EventInvalidError(query.topic_name(), problem) from None

    def read(
        self, after: int = 0, until: int | None = None, *, epochs: Epochs = ()
    ) -> Iterator[Recorded]:
        """Every durable event after position *after*, to *until* or to the end, in order.

        Args:
            after: Where to begin.
            until: Where to end.
            epochs: The `epochs` stored with *after*, if an earlier process stored it.

        Raises:
            TailLostError: The log has lost the event at *after*, or one that it returned already.
        """
        epochs = _kept(self._hub, epochs, after) if epochs else self._hub.epochs
        while True:
            page = self._log.read(after, READ_PAGE, 4 << 20)
            if self._hub.epochs is not epochs:  # checked last: the page may come from a new hub
                epochs = _kept(self._hub, epochs, after)
                continue
            for data in page:
                record = decode(data)
                if until is not None and record.position > until:
                    return
                after = record.position
                yield record
            if not page:
                return

    def read_stream(self, stream: str, after: int = 0) -> Iterator[Recorded]:
        """The events of one stream after its version *after*, in order.

        Raises:
            TailLostError: The log has lost one that it returned already.
        """
        epochs, position = self._hub.epochs, 0
        while True:
            page = self._log.read_stream(stream, after, READ_PAGE)
            if self._hub.epochs is not epochs:
                epochs = _kept(self._hub, epochs, position)
                continue
            for data in page:
                record = decode(data)
                after, position = record.version, record.position
                yield record
            if len(page) < READ_PAGE:
                return

    def subscribe(self, name: str, *pairs: Pair, start: str = "now") -> Subscription:
        """Matching events in order, with a cursor that the hub keeps under *name*.

        Args:
            name: The client's own name, a name below it (``name/...``), or a granted name.
            pairs: Topic (or ``family.*``, or ``*``) and key, None for every key.
            start: For a new subscription: "beginning" for the whole log, the position of the
                first event that it gets, or a time with its zone (``2026-11-23T10:00:00+00:00``).

        Raises:
            SubscriptionError: The subscription exists and is of kind work.
            NotGrantedError: The client has no grant for it.
            TopicUnknownError: No event has one of these topics.
        """
        return Subscription(self._hub, self.name, name, self._known(pairs), start)

    def work(self, name: str, *pairs: Pair) -> WorkSubscription:
        """Matching events from now on, each delivered to one of the workers that share *name*.

        Raises:
            SubscriptionError: The subscription exists and is ordered.
            NotGrantedError: The client has no grant for it.
            TopicUnknownError: No event has one of these topics.
        """
        return WorkSubscription(self._hub, self.name, name, self._known(pairs))

    @overload
    def follow(self, *sought: Pair, after: int | None = None, epochs: Epochs = ()) -> "Feed": ...
    @overload
    def follow(
        self,
        *sought: type[Kind],
        where: Mapping[str, str] | None = None,
        quiet_s: float | None = None,
        after: int | None = None,
        epochs: Epochs = (),
    ) -> EventFeed[Kind]: ...
    def follow(
        self,
        *sought: Any,
        where: Mapping[str, str] | None = None,
        quiet_s: float | None = None,
        after: int | None = None,
        epochs: Epochs = (),
    ) -> Any:
        """A live feed of matching events, including ephemeral ones, after *after* or from now on.

        With event classes it yields events, as in ``for event in client.follow(StepCompleted)``;
        with pairs of a topic and a key it yields pages of records.

        Args:
            sought: Event classes; or pairs, as for `subscribe`.
            where: The key that events must have, by the routing field of their classes.
            quiet_s: Seconds without an event after which a `for` ends; None for never.
            after: The position after which to start; None for now.
            epochs: The `epochs` stored with *after*, if an earlier process stored it.

        Raises:
            TailLostError: The log has lost the event at *after*: follow from its `common` instead.
            TopicUnknownError: No event has one of these topics.
            EventInvalidError: *where* does not name the routing field of the classes.
        """
        kinds = [each for each in sought if isinstance(each, type)]
        if not kinds:
            return Feed(self, self._hub, self._known(sought), after, epochs)
        feed = Feed(self, self._hub, pairs_of_kinds(kinds, where), after, epochs)
        made: EventFeed[Any] = EventFeed(feed, kinds, self.vocabulary, quiet_s)
        self._feeds.add(made)
        return made

    def _known(self, pairs: Sequence[Pair]) -> Sequence[Pair]:
        # Checked here and not at the hub, whose clients may know topics that it does not.
        for topic, _ in pairs:
            self.vocabulary.check_pattern(topic)
        return pairs or (("*", None),)

    def _epoch(self) -> int:
        """The epoch on which this client bases what it publishes.

        Raises:
            TailLostError: The log lost some of it, and the client has not seen that yet.
        """
        if self._hub.epochs is not self._epochs:
            lost = self._hub.lost
            known, self._lost = self._lost, lost
            self._epochs = self._hub.epochs
            if lost is not None and lost is not known:
                raise lost
        return self._epochs[-1].id if self._epochs else 0


class Feed:
    """Matching events as they come; the caller keeps the position, since no cursor is on disk."""

    _count = itertools.count(1)
    _tag = secrets.token_hex(4)  # other processes have clients of the same name

    def __init__(
        self,
        client: Client,
        hub: HubPort,
        pairs: Sequence[Pair],
        after: int | None,
        epochs: Epochs = (),
    ) -> None:
        self._client, self._hub = client, hub
        # Read before any request: a caller that sees a newer loss meanwhile checks again.
        self._epochs = epochs if after is not None and epochs else hub.epochs
        if after is not None:
            self._epochs = _kept(hub, self._epochs, after)
        self._name = f"{client.name}/feed/{self._tag}-{next(self._count)}"
        hub.ask_one(client.name, Subscribe(self._name, "ordered", tuple(pairs), lasting=False))
        now = hub.fetch(Fetch(self._name, hub.head, ring_after=-1))
        self._after = now.through if after is None else after
        self._ring = now.ring_through
        self._closed = False
        self._away = False  # whether the hub was unreachable at the last request

    def next(self, wait_s: float) -> list[Recorded]:
        """Events since the last call; waits up to *wait_s* if there are none.

        Raises:
            TailLostError: The log has lost some of the returned events: drop those. The
                next call continues after the last common position.
        """
        epoch = self._epochs[-1].id if self._epochs else 0
        request = Fetch(self._name, self._after, ring_after=self._ring, log_epoch=epoch)
        self._away = False
        try:
            page = self._hub.fetch(request, wait_s)
        except HubAwayError:
            self._away = True
            raise
        except TailLostError as told:
            seen, before, self._epochs = self._after, self._epochs, self._hub.epochs
            self._after = common_when_told(self._epochs, before, seen, told.common)
            if self._after < seen:
                raise TailLostError(seen, self._after) from None
            return []  # another part of this program had seen what was lost
        self._epochs = moved_on(self._epochs, self._after, page.log_epoch)
        self._after, self._ring = page.through, page.ring_through
        return [*page.records, *page.ephemeral]

    def close(self) -> None:
        """Remove the subscription; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        if self._away:  # the subscription ended with the hub; do not wait for it
            return
        try:
            self._hub.ask_one(self._client.name, Unsubscribe(self._name))
        except (HubClosedError, HubAwayError):
            return  # the subscription ended with the hub


def _kept(hub: HubPort, epochs: Epochs, position: int) -> Epochs:
    """The current epochs of the log, after a check that *position* of *epochs* is still in it.

    Raises:
        TailLostError: The log has lost that event.
    """
    now = hub.epochs
    common = last_common(now, epochs, position)
    if common < position:
        raise TailLostError(position, common)
    return now
