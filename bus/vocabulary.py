"""The known topics, how bodies are decoded, and how old bodies are lifted to new schemas."""

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import msgspec

from .errors import (
    EventInvalidError,
    EventTooLargeError,
    SchemaUnreadableError,
    TopicUnknownError,
    UpcasterError,
)
from .event import FORMAT, Draft, Ephemeral, Event, Placing, Recorded, placing, readable_body
from .limits import NAME_BYTES, NAME_CHARACTERS, is_too_long

BODY_BYTES = 256 * 1024  # a larger payload is a blob
FOREIGN = "x."  # topics of plugins: kept opaque, so that removing one never makes a log unreadable
TOPIC_LENGTH = 128  # maximum length of such a topic

Lift: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]
_FOREIGN_TOPIC = re.compile(r"x(\.[A-Za-z][A-Za-z0-9_-]*)+")


class Upcaster(msgspec.Struct, frozen=True):
    """Lifts a body of *topic* from *schema* to the next one; it may change the map.

    It has no other goal than the next schema, so that a chain cannot lead back.
    """

    topic: str
    schema: int  # the schema it lifts from, to schema + 1
    lift: Lift


class Vocabulary:
    """The event classes that a bus knows, by topic.

    Raises:
        EventInvalidError: Two classes have one topic.
        UpcasterError: The upcasters of a topic do not lead from schema 1 to its newest.
    """

    def __init__(self, events: Iterable[type[Event]], upcasters: Iterable[Upcaster] = ()) -> None:
        self._classes: dict[str, type[Event]] = {}
        for cls in events:
            other = self._classes.setdefault(cls.topic_name(), cls)
            if other is not cls:
                raise EventInvalidError(
                    cls.topic_name(), f"{cls.__name__} and {other.__name__} claim it"
                )
        self._streams = _streams_of(self._classes)
        self._kinds = {topic: _kind(cls) for topic, cls in self._classes.items()}
        self._lifts = _lifts_of(upcasters, self._classes)
        self._refuse_gaps()

    def __contains__(self, topic: str) -> bool:
        return topic in self._classes

    def __iter__(self) -> Iterator[type[Event]]:
        return iter(self._classes.values())

    def extended(self, events: Iterable[type[Event]]) -> "Vocabulary":
        """A new vocabulary with *events* added."""
        lifts = [Upcaster(topic, schema, lift) for (topic, schema), lift in self._lifts.items()]
        return Vocabulary([*self._classes.values(), *events], lifts)

    def adopt(self, events: Iterable[type[Event]]) -> None:
        """Add *events* to this vocabulary."""
        for cls in events:
            self._classes[cls.topic_name()] = cls
            self._kinds[cls.topic_name()] = _kind(cls)
        self._streams = _streams_of(self._classes)

    def classes(self) -> Mapping[str, type[Event]]:
        """Event class by topic."""
        return self._classes

    def granted_by(self, topic: str) -> str:
        """The verb of the grant that a keyed event of *topic* needs; "" for "publish"."""
        cls = self._classes.get(topic)
        return cls.granted_by if cls is not None else ""

    def key_in(self, topic: str, body: bytes) -> str | None:
        """The key of the event of *topic* in *body*; None if it has none, or cannot be read."""
        kind = self._kinds.get(topic)
        if kind is None:
            return None
        try:
            return kind[3](kind[0](body))[1]
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None

    def has_keys(self, pattern: str) -> bool:
        """Whether some event of this topic, or of this family of topics, has a key."""
        beginning = pattern[:-1] if pattern.endswith(".*") else None
        if pattern.startswith(FOREIGN):
            return True  # a program's own: nothing is known of them
        keyed = (
            topic
            for topic, cls in self._classes.items()
            if cls.routing is not None or cls.key is not Event.key
        )
        return any(t.startswith(beginning) if beginning else t == pattern for t in keyed)

    def check_pattern(self, pattern: str) -> None:
        """Refuse a topic, or a family of topics, that no event of this bus has.

        Raises:
            TopicUnknownError: No known topic matches, and it is not a plugin's.
        """
        if pattern == "*" or pattern in self._classes or pattern.startswith(FOREIGN):
            return
        beginning = pattern[:-1] if pattern.endswith(".*") else None
        if beginning and any(topic.startswith(beginning) for topic in self._classes):
            return
        families = {f"{topic.partition('.')[0]}.*" for topic in self._classes}
        near = difflib.get_close_matches(pattern, [*self._classes, *sorted(families)], n=1)
        raise TopicUnknownError(pattern, near[0] if near else None)

    def check(self, draft: Draft, made_of: Event | None = None) -> bool:
        """Refuse an event that a subscriber could not read.

        Args:
            draft: The event to record.
            made_of: The event that the caller made *draft* of, if it did: its stream and key
                need not be compared with the body.

        Returns:
            Whether its stream or correlation contains a name that may be missing in its body.

        Raises:
            TopicUnknownError: The topic is neither known nor a plugin's own.
            EventTooLargeError: The body is over `BODY_BYTES`.
            EventInvalidError: It does not fit its topic, or a plugin may not publish it.
        """
        key, serves, subject = draft.key, draft.correlation, draft.subject
        if (  # usually none can be too long
            len(draft.stream) > NAME_CHARACTERS
            or (key is not None and len(key) > NAME_CHARACTERS)
            or (serves is not None and len(serves) > NAME_CHARACTERS)
            or (subject is not None and len(subject) > NAME_CHARACTERS)
        ):
            _refuse_long_names(draft)
        if len(draft.body) > BODY_BYTES:
            raise EventTooLargeError(draft.topic, len(draft.body), BODY_BYTES)
        kind = self._kinds.get(draft.topic)
        if kind is None:
            self._check_foreign(draft)
            return True
        read, schema, ephemeral, placed = kind
        if draft.schema != schema:
            problem = f"has schema {draft.schema}; this hub takes {schema}"
            raise EventInvalidError(draft.topic, problem)
        try:
            event = read(draft.body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise EventInvalidError(draft.topic, str(error)) from None
        if type(event) is type(made_of):
            return False
        # A grant of a topic does not allow any stream, or an ephemeral event in its place.
        if placed(event) != (draft.stream, draft.key) or ephemeral != draft.ephemeral:
            raise EventInvalidError(draft.topic, "its stream, key or kind does not match its body")
        # Usually its correlation is the execution whose stream it is in.
        return (serves is not None and serves not in draft.stream) or subject is not None

    def read(self, record: Recorded) -> Event:
        """The typed event in *record*, lifted to the newest schema.

        Raises:
            TopicUnknownError: The topic is not in this vocabulary.
            SchemaUnreadableError: No chain of upcasters reaches the newest schema.
        """
        kind = self._kinds.get(record.topic)
        if kind is None:
            raise TopicUnknownError(record.topic)
        read, schema, _, _ = kind
        if record.schema == schema:
            return read(record.body) if record.format == FORMAT else self._erased(record)
        return self._lifted(record, self._classes[record.topic])

    def _erased(self, record: Recorded) -> Event:
        # Here, not at the top: it needs the vocabulary of the runtime, which this module serves.
        from .placeholders import erased_event

        return erased_event(self._classes[record.topic], record)

    def _check_foreign(self, draft: Draft) -> None:
        """Refuse an event outside the vocabulary that is not a program's own and well-formed."""
        topic = draft.topic
        if not topic.startswith(FOREIGN):
            near = difflib.get_close_matches(topic, self._classes, n=1)
            raise TopicUnknownError(topic, near[0] if near else None)
        if len(topic) > TOPIC_LENGTH or not _FOREIGN_TOPIC.fullmatch(topic):
            problem = (
                "a program's own topic is x. and names between dots, as x.NAME.VERB, in "
                f"{TOPIC_LENGTH} characters at most"
            )
            raise EventInvalidError(topic[:TOPIC_LENGTH], problem)
        if draft.stream.partition("/")[0] in self._streams:
            raise EventInvalidError(topic, "its stream is one of the runtime's own")
        try:
            msgspec.msgpack.decode(draft.body, type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, TypeError) as error:
            raise EventInvalidError(topic, str(error)) from None

    def _lifted(self, record: Recorded, cls: type[Event]) -> Event:
        body = msgspec.msgpack.decode(readable_body(record))
        for schema in range(record.schema, cls.schema):
            lift = self._lifts.get((record.topic, schema))
            if lift is None:
                break
            body = lift(body)
        else:
            if record.schema < cls.schema:
                return msgspec.convert(body, cls)
        raise SchemaUnreadableError(record.topic, record.schema, cls.schema, record.position)

    def _refuse_gaps(self) -> None:
        for topic, cls in self._classes.items():
            for schema in range(1, cls.schema):
                if (topic, schema) not in self._lifts:
                    problem = f"it is missing, and {cls.__name__} has schema {cls.schema}"
                    raise UpcasterError(topic, schema, problem)


def _lifts_of(
    upcasters: Iterable[Upcaster], classes: Mapping[str, type[Event]]
) -> dict[tuple[str, int], Lift]:
    """The upcasters by where they start.

    Raises:
        UpcasterError: One leads to a schema that its event does not have, or two start at one.
    """
    lifts: dict[tuple[str, int], Lift] = {}
    for each in upcasters:
        cls = classes.get(each.topic)
        if cls is None:
            raise UpcasterError(each.topic, each.schema, "no event here has this topic")
        if not 1 <= each.schema < cls.schema:
            problem = f"the schemas of {cls.__name__} are 1 to {cls.schema}"
            raise UpcasterError(each.topic, each.schema, problem)
        if (each.topic, each.schema) in lifts:
            raise UpcasterError(each.topic, each.schema, "another one starts there, too")
        lifts[each.topic, each.schema] = each.lift
    return lifts


def _kind(cls: type[Event]) -> tuple[Callable[[bytes], Event], int, bool, Placing]:
    """What every event is checked with: decoder, schema, whether it is ephemeral, its place."""
    ephemeral = issubclass(cls, Ephemeral)
    return msgspec.msgpack.Decoder(cls).decode, cls.schema, ephemeral, placing(cls)


def _streams_of(classes: Mapping[str, type[Event]]) -> frozenset[str]:
    """Prefixes of the runtime's own streams, which projections fold: no plugin may write there."""
    own = (cls for topic, cls in classes.items() if not topic.startswith(FOREIGN))
    return frozenset(cls.belongs[0] for cls in own) - {Event.belongs[0]}


def _refuse_long_names(draft: Draft) -> None:
    for what in ("stream", "key", "correlation", "subject"):
        name = getattr(draft, what)
        if name is not None and is_too_long(name):
            problem = f"its {what} has more than {NAME_BYTES} bytes: {name[:40]!r}..."
            raise EventInvalidError(draft.topic[:TOPIC_LENGTH], problem)
