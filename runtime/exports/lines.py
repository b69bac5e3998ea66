"""The lines of an export of the log: its head, events, blobs, and the end.

Each line is a JSON object. `kind` says which it is. An event stands there twice: decoded, for
people and programs, and as the exact record that the log holds and hashes. Blobs stand before the
first event that names them, in pieces, so that no line is long.
"""

from typing import Any, TypeAlias

import msgspec

from cortex.bus import Recorded, as_map
from cortex.runtime.kernel import iso

FORMAT = 1  # of these lines; a new layout gets a new number
PIECE_BYTES = 1 << 20  # of a blob in one line
LINE_BYTES = 16 << 20  # of a line: a record has 256 KiB of body, and JSON writes a byte as 6


class LogLine(msgspec.Struct, frozen=True, kw_only=True, tag="log", tag_field="kind"):
    """The first line: which log it is."""

    format: int  # FORMAT
    cortex: str  # the version that wrote it
    log_id: str
    created_ns: int  # UTC
    first: int  # positions of the events, both included
    last: int


class EventLine(msgspec.Struct, frozen=True, kw_only=True, tag="event", tag_field="kind"):
    """One event; the names are those of `cortex events query --json`."""

    position: int
    time: str  # UTC
    topic: str
    stream: str
    version: int
    id: str  # UUIDv7
    schema: int
    correlation: str | None
    causation: int | None
    source: str
    key: str | None
    subject: str | None
    body: msgspec.Raw  # JSON
    record: bytes  # base64: the bytes that the log holds, from which all else follows


class BlobLine(msgspec.Struct, frozen=True, kw_only=True, tag="blob", tag_field="kind"):
    """A piece of a blob; pieces stand in order, one after another."""

    digest: str  # SHA-256 of the whole blob, in hex
    size: int  # of the whole blob
    at: int  # where the piece begins, from 0
    data: bytes  # base64


class EndLine(msgspec.Struct, frozen=True, kw_only=True, tag="end", tag_field="kind"):
    """The last line: an export without it is not complete."""

    events: int  # lines
    blobs: int  # blobs, not lines
    size: int  # of the tree: the last position
    root: bytes  # base64: the root of the log's Merkle tree at that size


Line: TypeAlias = LogLine | EventLine | BlobLine | EndLine

_ENCODE_BODY = msgspec.json.Encoder(enc_hook=repr).encode
encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(Line).decode


def event_line(record: Recorded, data: bytes) -> EventLine:
    """The line of *record*, whose bytes in the log are *data*."""
    return EventLine(
        position=record.position,
        time=iso(record.time_ns),
        topic=record.topic,
        stream=record.stream,
        version=record.version,
        id=uuid_of(record),
        schema=record.schema,
        correlation=record.correlation,
        causation=record.causation,
        source=record.source,
        key=record.key,
        subject=record.subject,
        body=msgspec.Raw(json_of(as_map(record))),
        record=data,
    )


def uuid_of(record: Recorded) -> str:
    """The id of *record*, as UUIDs are written."""
    text = record.id.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def json_of(body: dict[str, Any]) -> bytes:
    """The body of an event as JSON; what JSON has no form for is written as text."""
    try:
        return _ENCODE_BODY(body)
    except TypeError:  # a plugin may use keys that JSON does not have
        return _ENCODE_BODY(_with_text_keys(body))


def _with_text_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {k if isinstance(k, str) else repr(k): _with_text_keys(v) for k, v in value.items()}
    return [_with_text_keys(each) for each in value] if isinstance(value, list) else value
