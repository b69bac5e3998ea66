"""The first difference between a replay and the record: both decisions, and what led to them."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from cortex.bus import Draft, Event, Recorded

ABSENT = "(absent)"
CAUSES = 32  # at most so many are shown


class Decision(msgspec.Struct, frozen=True):
    """One event that a decider published, or would publish."""

    topic: str
    stream: str
    body: dict[str, Any]
    position: int | None = None  # of the recorded one


class FieldChange(msgspec.Struct, frozen=True):
    """One field that differs; a dotted path, in which list items count from 0."""

    field: str
    recorded: Any
    replayed: Any


class ReplayedCause(msgspec.Struct, frozen=True):
    """An event that led to the decision."""

    position: int
    topic: str
    source: str


class Divergence(msgspec.Struct, frozen=True):
    """The first decision in which a replay differs from the record."""

    decider: str
    execution: str | None
    number: int  # of the decision among those about the same event, from 0
    recorded: Decision | None  # None: it is not in the log
    replayed: Decision | None  # None: it is decided no more
    changes: tuple[FieldChange, ...] = ()  # between the two, if both are of one topic
    causes: tuple[ReplayedCause, ...] = ()  # the event that was decided about, and what led to it
    failure: str = ""  # how the decider failed, if it did
    configured_later: bool = False  # config.toml was written after that event


def of_record(record: Recorded) -> Decision:
    """The decision in *record*."""
    return Decision(record.topic, record.stream, _fields(record.body), record.position)


def of_draft(draft: Draft) -> Decision:
    """The decision in *draft*."""
    return Decision(draft.topic, draft.stream, _fields(draft.body))


def of_event(event: Event) -> Decision:
    """The decision in *event*, which is published nowhere."""
    return of_draft(Draft.of(event))


def changes_between(
    recorded: Decision | None, replayed: Decision | None
) -> tuple[FieldChange, ...]:
    """The fields that differ; none if one of the two is missing, or they are different events."""
    if recorded is None or replayed is None or recorded.topic != replayed.topic:
        return ()
    old = {"stream": recorded.stream, **recorded.body}
    new = {"stream": replayed.stream, **replayed.body}
    return tuple(_changes("", old, new))


def _fields(body: bytes) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(msgspec.msgpack.decode(body))
    return found


def _changes(path: str, old: Any, new: Any) -> Iterator[FieldChange]:
    if old == new:
        return
    parts = _parts(old), _parts(new)
    if parts[0] is None or parts[1] is None or type(old) is not type(new):
        yield FieldChange(path, old, new)
        return
    for name in dict.fromkeys((*parts[0], *parts[1])):
        inner = f"{path}.{name}" if path else str(name)
        yield from _changes(inner, parts[0].get(name, ABSENT), parts[1].get(name, ABSENT))


def _parts(value: Any) -> Mapping[Any, Any] | None:
    if isinstance(value, dict):
        return value
    return dict(enumerate(value)) if isinstance(value, list) else None
