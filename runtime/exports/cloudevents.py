"""The log as CloudEvents 1.0: JSON Lines of structured mode, or one JSON batch.

An event's payload is its body as recorded. Attributes that CloudEvents has no name for are
extensions: `sequence`, `partitionkey` and `correlationid` are documented ones.
"""

import re
from collections.abc import Iterator

import msgspec

from cortex.bus import Recorded, as_map
from cortex.runtime.kernel import iso

from .lines import json_of, uuid_of
from .source import Source

SPECVERSION = "1.0"
TYPE = "cortex."  # before a topic
DIGITS = 19  # of a position: a sequence is compared as text
# What no CloudEvents string may hold.
_FORBIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\ufdd0-\ufdef\ufffe\uffff]")


class CloudEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One event; names are lower-case letters and digits, as CloudEvents asks."""

    specversion: str
    id: str
    source: str
    type: str
    time: str
    datacontenttype: str
    dataschema: str
    subject: str  # the stream
    sequence: str  # the position
    partitionkey: str  # the stream
    streamversion: int
    publisher: str | None = None
    correlationid: str | None = None  # the execution that it serves
    causationsequence: str | None = None  # the position of the event that led to this one
    routingkey: str | None = None
    data: msgspec.Raw


def lines_of(source: Source) -> Iterator[bytes]:
    """A line for each event (`application/cloudevents+json`)."""
    for event in _events(source):
        yield event + b"\n"


def batch_of(source: Source) -> Iterator[bytes]:
    """All events as one JSON array (`application/cloudevents-batch+json`)."""
    before = b"[\n"
    for event in _events(source):
        yield before + event
        before = b",\n"
    yield b"\n]\n"


def _events(source: Source) -> Iterator[bytes]:
    encode = msgspec.json.Encoder().encode
    origin = f"urn:cortex:log:{source.meta.log_id}"
    for record in source.events():
        yield encode(_event(record, origin))


def _event(record: Recorded, origin: str) -> CloudEvent:
    stream, cause = _text(record.stream), record.causation
    return CloudEvent(
        specversion=SPECVERSION,
        id=uuid_of(record),
        source=origin,
        type=TYPE + record.topic,
        time=iso(record.time_ns),
        datacontenttype="application/json",
        dataschema=f"urn:cortex:event:{record.topic}:{record.schema}",
        subject=stream,
        sequence=_sequence(record.position),
        partitionkey=stream,
        streamversion=record.version,
        publisher=_text(record.source) or None,
        correlationid=_text(record.correlation) or None,
        causationsequence=_sequence(cause) if cause else None,
        routingkey=_text(record.key) or None,
        data=msgspec.Raw(json_of(as_map(record))),
    )


def _sequence(position: int) -> str:
    return f"{position:0{DIGITS}}"


def _text(value: str | None) -> str:
    """*value* without characters that CloudEvents forbids, which are written as in a URI."""
    return _FORBIDDEN.sub(_escaped, value or "")


def _escaped(found: "re.Match[str]") -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode())
