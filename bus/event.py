"""An event: a frozen record whose class says its topic, its schema and where it belongs."""

from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar, Self, TypeAlias

import msgspec

Placing: TypeAlias = Callable[[Any], tuple[str, str | None]]  # an event to its stream and its key

FORMAT = 1  # first element of every record on disk; a new layout gets a new number
ENCRYPTED = 2  # of a record whose body is encrypted for its subject; see `subjects.py`


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="topic"):
    """A request (imperative topic) or a fact that happened (past tense).

    Subclasses repeat ``frozen=True, kw_only=True, tag="family.verb"``. The tag is the topic; it is
    on disk and is never renamed. A field that is added later has a default.
    """

    schema: ClassVar[int] = 1
    routing: ClassVar[str | None] = None  # the field that subscriptions may match on
    belongs: ClassVar[tuple[str, str]] = ("bus", "")  # stream prefix, field that completes it
    subject_field: ClassVar[str | None] = None  # the field that names whose personal data it holds
    # The fields that are encrypted where an event has a subject. None: all but those that place it
    # in the log, which are its stream's and its key.
    personal: ClassVar[tuple[str, ...] | None] = None
    # A verb of grants: with a key, an event takes this grant of its key instead of one to publish
    # its topic. "" for none.
    granted_by: ClassVar[str] = ""

    @classmethod
    def topic_name(cls) -> str:
        """The topic, ``family.verb``."""
        tag = cls.__struct_config__.tag
        return tag if isinstance(tag, str) else cls.__name__

    def stream(self) -> str:
        """The entity this event belongs to, such as ``execution/k3f9q2m7``."""
        prefix, field = self.belongs
        return f"{prefix}/{getattr(self, field)}" if field else prefix

    def key(self) -> str | None:
        """Value of the routing field; None if the class has none."""
        return getattr(self, self.routing) if self.routing else None


class Ephemeral(Event, frozen=True, kw_only=True, tag="ephemeral"):
    """On the bus but never in the log: lost with a crash, dropped when a ring is full."""


class Query(Event, frozen=True, kw_only=True, tag="query"):
    """A question that one component answers at once; the log does not record it."""


class Recorded(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One event as the log holds it; encoded, these are the bytes that are hashed."""

    format: int  # FORMAT; ENCRYPTED on disk if the body is encrypted, on reading if it was erased
    position: int  # 1, 2, 3, ... over the whole log
    stream: str  # "execution/k3f9q2m7"
    version: int  # 1, 2, 3, ... within the stream
    id: bytes  # UUIDv7, 16 bytes
    time_ns: int  # UTC nanoseconds, stamped by the hub, never goes back
    topic: str  # "step.completed"
    schema: int  # of the body
    correlation: str | None  # the execution it serves
    causation: int | None  # position of the event that led to it
    source: str  # who published it, as the hub authenticated it
    key: str | None  # value of the class's routing field
    subject: str | None  # whose personal fields it carries; names their encryption key
    body: bytes  # msgpack map, undecoded until someone needs it

    @property
    def erased(self) -> bool:
        """Whether its personal fields cannot be read any more: placeholders are in their place."""
        return self.format == ENCRYPTED


class Draft(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An event on its way to the log: all but what the hub adds."""

    topic: str
    schema: int
    stream: str
    key: str | None
    body: bytes
    correlation: str | None = None
    causation: int | None = None
    subject: str | None = None
    expected_version: int | None = None  # the stream's version the writer last saw; 0 for a new one
    ephemeral: bool = False

    @classmethod
    def of(
        cls,
        event: Event,
        *,
        correlation: str | None = None,
        causation: int | None = None,
        expected_version: int | None = None,
        whose: str | None = None,
    ) -> Self:
        """Encode *event*; its execution, if it has one, is its correlation unless given.

        *whose* is the subject of its personal data, where the event does not name one itself.
        """
        topic, schema, subject, serves, ephemeral, placed = _common(type(event))
        stream, key = placed(event)
        return cls(
            topic,
            schema,
            stream,
            key,
            _ENCODE(event),
            correlation or (event.execution_id if serves else None),  # type: ignore[attr-defined]  # `serves` says it
            causation,
            ((getattr(event, subject) or None) if subject else None) or whose,
            expected_version,
            ephemeral,
        )


class OwnedDraft(Draft, frozen=True, array_like=True, gc=False):
    """A draft that the hub keeps for a client until its time, with its owner.

    A client may set a deadline in the name of a component that it hosts; the client still owns it,
    and removing the client removes the deadline.
    """

    owner: str = ""  # the client, as the hub authenticated it; never sent on a wire


class CheckedDraft(Draft, frozen=True, array_like=True, gc=False):
    """A draft that its maker checked by the hub's own vocabulary: the hub does not check it again.

    Only a component's host in the hub's process creates one; the wire carries plain drafts.
    """


def placing(event: type[Event]) -> Placing:
    """The function that returns stream and key of an event of this class."""
    (prefix, field), routing = event.belongs, event.routing
    if event.stream is not Event.stream:  # the class overrides it
        return lambda one: (one.stream(), one.key())
    if event.key is not Event.key:
        belongs = attrgetter(field) if field else str
        return lambda one: (f"{prefix}/{belongs(one)}" if field else prefix, one.key())
    if field and routing:
        both = attrgetter(field, routing)

        def placed(one: Event) -> tuple[str, str | None]:
            inner, key = both(one)
            return f"{prefix}/{inner}", key

        return placed
    if field:
        return lambda one: (f"{prefix}/{getattr(one, field)}", None)
    return lambda one: (prefix, getattr(one, routing) if routing else None)


@cache
def _common(
    event: type[Event],
) -> tuple[str, int, str | None, bool, bool, Placing]:
    """What all drafts of a class share; cached, because every published event needs it."""
    serves = hasattr(event, "execution_id")
    return (
        event.topic_name(),
        event.schema,
        event.subject_field,
        serves,
        issubclass(event, Ephemeral),
        placing(event),
    )


def decode(data: bytes) -> Recorded:
    """The record whose encoded bytes are *data*.

    Raises:
        msgspec.DecodeError: *data* are not the bytes of a record.
    """
    return _DECODE_RECORD(data)


def as_map(record: Recorded) -> dict[str, Any]:
    """The body as a plain map, for readers that do not know the topic."""
    body: dict[str, Any] = msgspec.msgpack.decode(readable_body(record))
    return body


def readable_body(record: Recorded) -> bytes:
    """The body; of one that is still encrypted, what can be read without its key."""
    if record.format != ENCRYPTED or not record.body.startswith(_ENCRYPTED_BODY):
        return record.body
    return _READ_ENCRYPTED(record.body)[1]


_ENCRYPTED_BODY = b"\x94"  # a list of four: scheme, what can be read, nonce, ciphertext; else a map
_READ_ENCRYPTED = msgspec.msgpack.Decoder(tuple[int, bytes, bytes, bytes]).decode
_ENCODE = msgspec.msgpack.Encoder().encode
# The exact bytes of a record that the log keeps and hashes; bound once, since every append uses it.
encode: Callable[[Recorded], bytes] = _ENCODE
_DECODE_RECORD = msgspec.msgpack.Decoder(Recorded).decode
