"""A client of a hub, local or remote: publish, ask, subscribe, work, read."""

import base64
import itertools
import secrets
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar, overload

from .epochs import Epochs, common_when_told, last_common, moved_on
from .errors import (
    ConflictError,
    EventInvalidError,
    HubAwayError,
    HubClosedError,
    TailLostError,
)
from .event import Draft, Event, Query, Recorded, decode
from .event_feed import EventFeed, pairs_of_kinds
from .log import Log
from .port import HubPort
from .requests import Appended, Fetch, Pair, Publish, Subscribe, Unsubscribe
from .subscription import Subscription, WorkSubscription
from .vocabulary import Vocabulary

Kind = TypeVar("Kind", bound=Event)

READ_PAGE = 1_024
TAG_BITS = 20  # of a number: two clients of one name must not take each other's for a repeat


class Client:
    """Speaks to a hub under one name, which is the `source` of what it publishes.

    Args:
        name: The name.
        hub: Here or elsewhere.
        log: Its log, for reading.
        vocabulary: The events it reads.
        blobs: The hub's store of large payloads, where this client has a way to it.
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
        self._count: int | None = None  # of the newest number; None until the log was asked
        self._numbered = 0, 0  # the newest number, and the epoch of the log in which it is one
        self._epochs, self._lost = hub.epochs, hub.lost

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End what follows events, and let go of the hub; twice does nothing.

        A hub that is in this process, or another's, stays up.
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
        """Of the log: what a position is kept with, for `follow` and `read` in another life."""
        return self._hub.epochs

    def publish(
        self,
        *events: Event,
        correlation: str | None = None,
        causation: int | None = None,
        expected_version: int | None = None,
        number: int = 0,
    ) -> int:
        """Append *events* together.

        Args:
            events: In the order they are to have in the log.
            correlation: The execution they serve, where they do not name one themselves.
            causation: Position of the event that led to them.
            expected_version: Version of the first event's stream that the caller last saw.
            number: Of `next_number`, for a publish that may have to be repeated: where no
                acknowledgement came, the same call with the same number is answered with the
                position these events have, and appends them only if they are not there yet.

        Returns:
            Position of the last one, counted from 1; 0 where all were ephemeral.

        Raises:
            ConflictError: The stream is at another version; or something else was published
                under this name with a higher number, and only the newest can be repeated.
            EventError: One of them cannot be taken as it is; none was.
            LogError: The log could not be written; none was.
            TailLostError: The log has lost events that this client had seen; none was.
        """
        drafts = [
            Draft.of(
                event,
                correlation=correlation,
                causation=causation,
                expected_version=expected_version if index == 0 else None,
            )
            for index, event in enumerate(events)
        ]
        return self.publish_drafts(drafts, number=number)

    def publish_drafts(self, drafts: Sequence[Draft], *, number: int = 0) -> int:
        """Append events that are encoded already; as `publish`."""
        seen, epoch = self._hub.seen, self._epoch()
        if number and number == self._numbered[0]:
            epoch = self._numbered[1]
        request = Publish(tuple(drafts), number, log_epoch=epoch, seen=seen)
        try:
            answer = self._hub.ask_one(self.name, request)
        except (ConflictError, TailLostError):
            with self._numbering:
                self._count = None  # another client of this name may have gone further
            self._epochs, self._lost = self._hub.epochs, self._hub.lost
            raise
        return answer.last if isinstance(answer, Appended) else 0

    def next_number(self) -> int:
        """A number for one `publish`, above all that were acknowledged under this name.

        It outlives the process: who notes it before publishing can repeat after a restart. A
        client that numbers publishes one thing at a time.
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
            UnansweredError: There is none.
            AskTimeoutError: It took longer than *timeout_s*.
            EventInvalidError: It holds what is no text.
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
            epochs: What `epochs` said when *after* was seen, where that was in another life.

        Raises:
            TailLostError: The log has lost the event at *after*, or one that was given already.
        """
        epochs = _kept(self._hub, epochs, after) if epochs else self._hub.epochs
        while True:
            page = self._log.read(after, READ_PAGE, 4 << 20)
            if self._hub.epochs is not epochs:  # looked at last: the page may be the new hub's
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
            TailLostError: The log has lost one that was given already.
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
            name: The client's own name, or one below it (``name/...``), or one it was granted.
            pairs: Topic (or ``family.*``, or ``*``) and key, None for every key.
            start: Where it is new: "beginning" to see the whole log first, the position of the
                first event that it gets, or a time with its zone (``2026-11-23T10:00:00+00:00``).

        Raises:
            SubscriptionError: It exists and is work.
            NotGrantedError: The client may not.
            TopicUnknownError: No event has one of these topics.
        """
        return Subscription(self._hub, self.name, name, self._known(pairs), start)

    def work(self, name: str, *pairs: Pair) -> WorkSubscription:
        """Matching events from now on, each for one of the workers that share *name*.

        Raises:
            SubscriptionError: It exists and is ordered.
            NotGrantedError: The client may not.
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
        """A live feed of matching events, ephemeral ones too, from *after* or from now on.

        Of event classes it gives events, as in ``for event in client.follow(StepCompleted)``; of
        pairs of a topic and a key it gives pages of records.

        Args:
            sought: Event classes; or pairs, as for `subscribe`.
            where: The key that events must have, by the routing field of their classes.
            quiet_s: After so long without an event a `for` ends; None for never.
            after: A position of the caller's choosing; None for now.
            epochs: What `epochs` said when *after* was seen, where that was in another life.

        Raises:
            TailLostError: The log has lost the event at *after*: follow from its `common` instead.
            TopicUnknownError: No event has one of these topics.
            EventInvalidError: *where* does not name what the classes are routed by.
        """
        kinds = [each for each in sought if isinstance(each, type)]
        if not kinds:
            return Feed(self, self._hub, self._known(sought), after, epochs)
        feed = Feed(self, self._hub, pairs_of_kinds(kinds, where), after, epochs)
        made: EventFeed[Any] = EventFeed(feed, kinds, self.vocabulary, quiet_s)
        self._feeds.add(made)
        return made

    def _known(self, pairs: Sequence[Pair]) -> Sequence[Pair]:
        # Here, not at the hub: that serves clients which know topics that it does not.
        for topic, _ in pairs:
            self.vocabulary.check_pattern(topic)
        return pairs or (("*", None),)

    def _epoch(self) -> int:
        """The epoch in which this client came to know what it publishes about.

        Raises:
            TailLostError: Some of that was lost, and nobody has told it so far.
        """
        if self._hub.epochs is not self._epochs:
            lost = self._hub.lost
            known, self._lost = self._lost, lost
            self._epochs = self._hub.epochs
            if lost is not None and lost is not known:
                raise lost
        return self._epochs[-1].id if self._epochs else 0


class Feed:
    """Matching events as they come; it has no cursor on disk, its holder keeps the position."""

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
        # Before anything is asked: who is told of a newer one meanwhile looks again.
        self._epochs = epochs if after is not None and epochs else hub.epochs
        if after is not None:
            self._epochs = _kept(hub, self._epochs, after)
        self._name = f"{client.name}/feed/{self._tag}-{next(self._count)}"
        hub.ask_one(client.name, Subscribe(self._name, "ordered", tuple(pairs), lasting=False))
        now = hub.fetch(Fetch(self._name, hub.head, ring_after=-1))
        self._after = now.through if after is None else after
        self._ring = now.ring_through
        self._closed = False
        self._away = False  # the hub, when it was asked last

    def next(self, wait_s: float) -> list[Recorded]:
        """What has come since the last call; waits up to *wait_s* where nothing has.

        Raises:
            TailLostError: The log has lost some of what was given: that is to be dropped, and the
                next call goes on behind the last position that is the same.
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
            return []  # it was another part of this program that had seen what was lost
        self._epochs = moved_on(self._epochs, self._after, page.log_epoch)
        self._after, self._ring = page.through, page.ring_through
        return [*page.records, *page.ephemeral]

    def close(self) -> None:
        """Remove the subscription; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        if self._away:  # it went with the hub: to wait for that once more tells nobody anything
            return
        try:
            self._hub.ask_one(self._client.name, Unsubscribe(self._name))
        except (HubClosedError, HubAwayError):
            return  # it is gone with the hub


def _kept(hub: HubPort, epochs: Epochs, position: int) -> Epochs:
    """The epochs of the log as it is, which has what was seen at *position* in *epochs*.

    Raises:
        TailLostError: It has lost that.
    """
    now = hub.epochs
    common = last_common(now, epochs, position)
    if common < position:
        raise TailLostError(position, common)
    return now
