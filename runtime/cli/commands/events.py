"""`cortex events`: the log itself, event by event."""

import json
import time
from collections import deque
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any, TypeVar

import click
import msgspec

from cortex.bus import FOREIGN, Recorded, as_map
from cortex.bus.events import ComponentFailed, EffectUnknown
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Home, iso, local, parse_time, recent
from cortex.runtime.log import BlobError
from cortex.runtime.projections import Selection

from ..completing import execution_ids
from ..options import with_home, with_screen
from ..screen import Screen
from ..tree import Family
from .events_parked import drop, parked, retry
from .events_schema import schema

TRACED = frozenset((ComponentFailed.topic_name(), EffectUnknown.topic_name()))
SHORT_ID = 8  # letters of an execution's id on a terminal; they name it, too
LOOK_S = 0.2  # how often a followed log is looked at; it is read beside its owner, who wakes nobody

Function = TypeVar("Function", bound=Callable[..., Any])


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


TRACEBACK = click.option("--traceback", is_flag=True, help="Also show the traceback of failures.")


@click.group(cls=Family)
def events() -> None:
    """Read the event log."""


def with_selection(function: Function) -> Function:
    """Add the options that choose events."""
    for option in (
        click.option("--key", default="", help="Routing key: an action, a gate, a process, ..."),
        click.option("--source", default="", help="The component or client that published it."),
        click.option(
            "--execution",
            default="",
            metavar="ID",
            shell_complete=execution_ids,
            help="Events of this execution.",
        ),
        click.option("--until", default="", metavar="TIME", help="Before this time."),
        click.option(
            "--since", default="", metavar="TIME", help="Since this time: 1h, 2d, a date."
        ),
        click.option("--topic", multiple=True, help="step.completed, 'step.*', '*.failed', ..."),
    ):
        function = option(function)
    return function


for each in (schema, parked, retry, drop):
    events.add_command(each)


@events.command()
@with_selection
@click.option(
    "-n", "--limit", type=click.IntRange(min=1), help="Show at most this many, the newest."
)
@TRACEBACK
@with_home
@with_screen
def query(home: Home, screen: Screen, limit: int | None, traceback: bool, **asked: Any) -> None:
    """Show the events that match all options, the oldest first.

    With --json, each line is a JSON document.
    """
    with History.open(home) as history:
        chosen = history.select(_selection(history, **asked))
        for record in deque(chosen, limit) if limit else chosen:
            _show(screen, record, _traceback(history, record) if traceback else None)


@events.command()
@with_selection
@click.option("-f", "--follow", is_flag=True, help="Show new events as they come, until Ctrl-C.")
@click.option(
    "-n",
    "--lines",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="How many events to show first.",
)
@with_home
@with_screen
def tail(home: Home, screen: Screen, follow: bool, lines: int, **asked: Any) -> None:
    """Show the newest events that match; with -f, also new ones."""
    with History.open(home) as history:
        selection = _selection(history, **asked)
        after = 0
        newest: deque[Recorded] = deque(maxlen=lines)
        for record in history.read() if follow else history.select(selection):
            after = record.position
            if selection.fits(record):
                newest.append(record)
        for record in newest:
            _show(screen, record)
        if not follow:
            return
    for record in _coming(home, after):
        if selection.fits(record):
            _show(screen, record)


def _coming(home: Home, after: int) -> Iterator[Recorded]:
    while True:
        with History.open(home) as history:
            for record in history.read(after):
                after = record.position
                yield record
        time.sleep(LOOK_S)


def _selection(
    history: History,
    *,
    topic: tuple[str, ...],
    since: str,
    until: str,
    execution: str,
    source: str,
    key: str,
) -> Selection:
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
    )


def _check_topic(history: History, topic: str) -> None:
    """Refuse a topic that no event has; one that a plugin brings may have none yet.

    Raises:
        UsageError: It names what may have been meant.
    """
    topics = [cls.topic_name() for cls in history.vocabulary]
    if topic.startswith(FOREIGN) or any(fnmatchcase(each, topic) for each in topics):
        return
    if next(history.select(Selection(topics=(topic,))), None):
        return  # of a version that knew it
    near = get_close_matches(topic, [*topics, *(f"{t.partition('.')[0]}.*" for t in topics)], n=1)
    hint = f"did you mean {near[0]}?" if near else "`cortex events schema` shows what is"
    raise click.UsageError(f"there is no topic {topic!r}: {hint}")


def _traceback(history: History, record: Recorded) -> str | None:
    """What is kept of the exception that *record* is about; None where it is about none."""
    digest = as_map(record).get("trace") if record.topic in TRACED else None
    if not digest:
        return None
    try:
        return history.blobs.get(str(digest)).decode(errors="replace")
    except BlobError as error:
        return f"(its traceback is not kept any more: {error})"


def _show(screen: Screen, record: Recorded, traceback: str | None = None) -> None:
    body = as_map(record)
    screen.record(
        EventLine(
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
            body,
            traceback,
        )
    )
    if screen.as_json:
        return
    if screen.terminal:
        _show_briefly(screen, record, body)
        _show_traceback(screen, traceback)
        return
    said = msgspec.json.encode({k: v for k, v in body.items() if k != "topic"}).decode()
    when = local(record.time_ns)
    screen.line("\t".join((str(record.position), when, record.topic, record.stream, said)))
    _show_traceback(screen, traceback)


def _show_traceback(screen: Screen, traceback: str | None) -> None:
    for line in (traceback or "").splitlines():
        screen.line(f"    {line}")


def _show_briefly(screen: Screen, record: Recorded, body: dict[str, Any]) -> None:
    family, _, entity = record.stream.partition("/")
    stream = f"{family}/{entity[:SHORT_ID]}" if family == "execution" else record.stream
    told = "  ".join(
        f"{name}={value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in body.items()
        if name != "topic" and value not in ("", entity, None, [], {})
    )
    when = recent(record.time_ns, time.time_ns())
    line = f"{record.position:>7}  {when}  {record.topic:<20}  {stream}  {told}"
    screen.line(screen.cut(line.replace("\n", " ")))
