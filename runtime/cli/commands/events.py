"""`cortex events`: the log itself, event by event; its vocabulary, and events that failed."""

import json
import time
from itertools import islice
from typing import Any

import click
import msgspec

from cortex.bus import Recorded, asyncapi_document, schema_document
from cortex.bus.events import VOCABULARY
from cortex.runtime import admin  # not its names: `events query` gets along without a runtime
from cortex.runtime.executions.view import TEXT_LINES, History, bounded, cut_line
from cortex.runtime.kernel import VERSION, Home, NotFoundError, local, recent
from cortex.runtime.serving import parked_of

from .. import terminal  # as admin
from ..completing import execution_ids
from ..exits import FAILED, OK
from ..options import at_home, with_note, with_options, with_past, with_screen
from ..screen import Columns, Screen
from ..tree import Family

SHORT_ID = 8  # letters of an execution's id on a terminal; they name it, too
ALL = "cortex events parked --json"  # has each remedy whole
PARKED: Columns = {
    "event": lambda row: str(row.position),
    "topic": "topic",
    "component": "component",
    "tries": "attempts",
    "since": "since",
    "reason": "reason",
}
TRACEBACK = click.option("--traceback", is_flag=True, help="Also show the traceback of failures.")


class EventPosition(click.IntRange):
    """The number of an event in the log, as a person names it."""

    name = "event"

    def __init__(self, command: str = "cortex events parked") -> None:
        """*command* lists them, in its first column."""
        super().__init__(min=1)
        self._command = command

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number.

        Raises:
            BadParameter: It is not a number.
        """
        try:
            return int(super().convert(value, param, ctx))
        except click.BadParameter:
            self.fail(
                f"{value!r} names no event: it is the number in the first column of "
                f"`{self._command}`",
                param,
                ctx,
            )


with_selection = with_options(  # which events
    click.option("--topic", multiple=True, help="step.completed, 'step.*', '*.failed', ..."),
    click.option("--since", default="", metavar="TIME", help="Since this time: 1h, 2d, a date."),
    click.option("--until", default="", metavar="TIME", help="Before this time."),
    click.option(
        "--execution",
        default="",
        metavar="ID",
        shell_complete=execution_ids,
        help="Events of this execution.",
    ),
    click.option("--source", default="", help="The component or client that published it."),
    click.option("--key", default="", help="Routing key: an action, a gate, a process, ..."),
    click.option("--stream", default="", help="The entity that it belongs to: execution/ID, ..."),
    click.option(
        "--caused-by",
        type=EventPosition("cortex events query"),
        metavar="EVENT",
        help="Events to which the event at this position led.",
    ),
)
with_parked = with_options(  # which parked event
    click.argument("position", type=EventPosition(), metavar="EVENT"),
    click.option(
        "--component",
        default="",
        metavar="NAME",
        help="The component, if several gave up the event.",
    ),
)


@click.group(cls=Family)
def events() -> None:
    """Read the event log."""


@events.command()
@with_selection
@click.option(
    "-n", "--limit", type=click.IntRange(min=1), help="Show at most this many, the newest."
)
@TRACEBACK
@at_home
@with_past
def query(home: Home, screen: Screen, limit: int | None, traceback: bool, **asked: Any) -> None:
    """Show the events that match all options, the oldest first.

    With --json, each line is a JSON document.
    """
    with History.open(home) as history:
        selection = admin.selection_of(history, **asked)
        newest = reversed(list(islice(history.newest(selection), limit))) if limit else None
        for record in newest or history.select(selection):
            _show(screen, record, admin.traceback_of(history, record) if traceback else None)


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
@at_home
@with_past
def tail(home: Home, screen: Screen, follow: bool, lines: int, **asked: Any) -> None:
    """Show the newest events that match; with -f, also new ones."""
    if follow and home.as_of is not None:
        raise click.UsageError("--follow shows new events, --at an earlier state: use only one")
    with History.open(home) as history:
        selection = admin.selection_of(history, **asked)
        head = history.log.state().head if history.log is not None else 0
        for record in reversed(list(islice(history.newest(selection), lines))):
            head = max(head, record.position)
            _show(screen, record)
    for record in admin.coming_events(home, head) if follow else ():
        if selection.fits(record):
            _show(screen, record)


@events.command()
@click.argument("topic", required=False)
@click.option("--asyncapi", is_flag=True, help="One AsyncAPI 3 document for the whole bus.")
@with_screen
def schema(topic: str | None, asyncapi: bool, screen: Screen) -> None:
    """Print the JSON Schema of every event, or of those of TOPIC.

    The output is JSON with and without --json. The command needs no home: these are the events of
    the bus itself, not those that plugins add.
    """
    chosen = [cls for cls in VOCABULARY if topic in (None, cls.topic_name())]
    if not chosen:
        raise NotFoundError("topic", topic or "", "is not one of the bus: see docs/events.md")
    document = asyncapi_document(chosen, VERSION) if asyncapi else schema_document(chosen)
    screen.document(document)
    if not screen.as_json:
        screen.block(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())


@events.command()
@at_home
@with_past
def parked(home: Home, screen: Screen) -> None:
    """Show the events that a component could not handle, the oldest first.

    Each was tried several times; the component continued without it. The list says what to do for
    each. `retry` makes a component with an ordered feed handle it once more, in any host. If one of
    many workers gave up a step, the step failed: resume its execution. `drop` removes an event from
    this list.
    """
    with History.open(home) as history:
        found = parked_of(history)
    screen.rows(found, PARKED, empty="no event is parked")
    remedies = [*dict.fromkeys(cut_line(each.remedy, ALL) for each in found)]
    screen.lines(bounded(remedies, TEXT_LINES, ALL), "cyan")


@events.command()
@with_parked
@at_home
def retry(position: int, component: str, home: Home, screen: Screen) -> int:
    """Let the component that gave up a parked event handle it once more.

    Cortex records the result as if it had come the first time. Ends with 1 if the event fails
    again. A component of a worker or a plugin handles it when its host runs.
    """
    with terminal.open_session(home, screen) as session:
        name, again = admin.retry_parked(session, position, component)
    screen.document(again)
    if again:
        screen.line(f"{name} failed again: {again[0].reason}", "red")
        return FAILED
    screen.line(f"{name} handled event {position}", "green")
    return OK


@events.command()
@with_parked
@with_note
@at_home
def drop(position: int, component: str, note: str, home: Home, screen: Screen) -> None:
    """Remove a parked event from the list.

    No component handles it any more. The event itself stays in the log.
    """
    with terminal.open_session(home, screen) as session:
        event = admin.drop_parked(session, position, component, note)
    screen.document(event)
    screen.line(f"event {position} of {event.component} is dropped")


def _show(screen: Screen, record: Recorded, traceback: str | None = None) -> None:
    line = admin.event_line(record, traceback)
    screen.record(line)
    if screen.as_json:
        return
    body = {name: value for name, value in line.body.items() if name != "topic"}
    if screen.terminal:
        screen.line(screen.cut(_brief(record, body)))
    else:
        said = msgspec.json.encode(body).decode()
        parts = (str(record.position), local(record.time_ns), record.topic, record.stream, said)
        screen.line("\t".join(parts))
    screen.lines(f"    {each}" for each in (traceback or "").splitlines())


def _brief(record: Recorded, body: dict[str, Any]) -> str:
    family, _, entity = record.stream.partition("/")
    stream = f"{family}/{entity[:SHORT_ID]}" if family == "execution" else record.stream
    told = "  ".join(
        f"{name}={value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in body.items()
        if value not in ("", entity, None, [], {})
    )
    when = recent(record.time_ns, time.time_ns())
    line = f"{record.position:>7}  {when}  {record.topic:<20}  {stream}  {told}"
    return line.replace("\n", " ")
