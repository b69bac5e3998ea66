"""The event log of a home, event by event: choosing, following, and what failed."""

import time
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

import msgspec

from cortex.bus import FOREIGN, Recorded, TopicGlob, as_map
from cortex.bus.events import ComponentFailed, EffectUnknown
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Home, iso, parse_time
from cortex.runtime.log import BlobError
from cortex.runtime.projections import Selection
from cortex.runtime.sessions import ArgumentError

TRACED = frozenset((ComponentFailed.topic_name(), EffectUnknown.topic_name()))
LOOK_S = 0.2  # polling interval of a followed log; it is read beside its owner, without wakeups


class EventLine(msgspec.Struct):
    """One event."""

    position: int
    time: str  # UTC
    topic: str
    stream: str
    version: int  # within the stream
    id: str  # UUIDv7 in hex
    schema: int
    correlation: str | None
    causation: int | None
    source: str
    key: str | None
    body: dict[str, Any]
    traceback: str | None = None  # with --traceback, of what failed
    subject: str | None = None  # the id of whose personal data it has
    erased: bool = False  # placeholders are in its personal fields, which cannot be read any more


def event_line(record: Recorded, traceback: str | None = None) -> EventLine:
    """A recorded event as programs are shown it."""
    return EventLine(
        record.position,
        iso(record.time_ns),
        record.topic,
        record.stream,
        record.version,
        record.id.hex(),
        record.schema,
        record.correlation,
        record.causation,
        record.source,
        record.key,
        as_map(record),
        traceback,
        record.subject,
        record.erased,
    )


def selection_of(
    history: History,
    *,
    topic: tuple[str, ...] = (),
    since: str = "",
    until: str = "",
    execution: str = "",
    source: str = "",
    key: str = "",
    stream: str = "",
    caused_by: int | None = None,
) -> Selection:
    """The events that a person asks for, by times such as "1h" and the beginning of an id.

    Raises:
        ArgumentError: No event has such a topic; it names what may have been meant.
        NotFoundError: There is no such execution, or several.
    """
    now_ns = time.time_ns()
    for each in topic:
        _check_topic(history, each)
    return Selection(
        topics=topic,
        since_ns=parse_time(since, now_ns) if since else None,
        until_ns=parse_time(until, now_ns) if until else None,
        execution=history.execution_id(execution) if execution else "",
        source=source,
        key=key,
        stream=stream,
        cause=caused_by or 0,
    )


def coming_events(home: Home, after: int) -> Iterator[Recorded]:
    """What is recorded in *home* after a position, as it comes, without end."""
    while True:
        with History.open(home) as history:
            for record in history.read(after):
                after = record.position
                yield record
        time.sleep(LOOK_S)


def traceback_of(history: History, record: Recorded) -> str | None:
    """The stored details of the exception in *record*; None if it has none."""
    digest = as_map(record).get("trace") if record.topic in TRACED else None
    if not digest:
        return None
    try:
        return history.blobs.get(str(digest)).decode(errors="replace")
    except BlobError as error:
        return f"(its traceback is not kept any more: {error})"


def _check_topic(history: History, topic: str) -> None:
    """Refuse a topic that no event has; one that a plugin brings may have none yet."""
    topics = [cls.topic_name() for cls in history.vocabulary]
    if topic.startswith(FOREIGN) or any(map(TopicGlob((topic,)).matches, topics)):
        return
    if next(history.select(Selection(topics=(topic,))), None):
        return  # of a version that knew it
    near = get_close_matches(topic, [*topics, *(f"{t.partition('.')[0]}.*" for t in topics)], n=1)
    hint = f"did you mean {near[0]}?" if near else "`cortex events schema` shows what is"
    raise ArgumentError(f"there is no topic {topic!r}: {hint}")
