"""`cortex events parked`, `retry` and `drop`: what components gave up, and what becomes of it."""

import time
from typing import TYPE_CHECKING, Any

import click

from cortex.bus.events import ComponentDrop, ComponentRetry
from cortex.runtime.executions.view import TEXT_LINES, History, bounded, cut_line
from cortex.runtime.kernel import Home, NotFoundError, RefusedError
from cortex.runtime.serving import ParkedEvent, parked_of

from ..exits import FAILED, OK
from ..options import with_home, with_screen
from ..screen import Screen

if TYPE_CHECKING:
    from ..running import Session  # which brings a runtime: `events query` needs none

RETRY_S = 60.0  # within which a component has to come to it
LOOK_S = 0.05
ALL = "cortex events parked --json"  # has each remedy whole
QUIET_S = 2.0  # after which it is said what is waited for


class EventPosition(click.IntRange):
    """The number of an event in the log, as a person names it."""

    name = "event"

    def __init__(self) -> None:
        super().__init__(min=1)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number.

        Raises:
            BadParameter: It is none.
        """
        try:
            return int(super().convert(value, param, ctx))
        except click.BadParameter:
            self.fail(
                f"{value!r} names no event: it is the number in the first column of "
                "`cortex events parked`",
                param,
                ctx,
            )


with_component = click.option(
    "--component", default="", metavar="NAME", help="The component, if several gave up the event."
)


@click.command()
@with_home
@with_screen
def parked(home: Home, screen: Screen) -> int:
    """Show the events that a component could not handle, the oldest first.

    Each was tried several times; the component continued without it. The list says what to do for
    each. `retry` makes a component with an ordered feed handle it once more, in any host. If one of
    many workers gave up a step, the step failed: resume its execution. `drop` removes an event from
    this list.
    """
    with History.open(home) as history:
        found = parked_of(history)
    screen.document(found)
    if not found:
        screen.line("no event is parked")
        return OK
    screen.table(
        ("event", "topic", "component", "tries", "since", "reason"),
        (
            (str(p.position), p.topic, p.component, str(p.attempts), p.since, p.reason)
            for p in found
        ),
    )
    remedies = [*dict.fromkeys(cut_line(each.remedy, ALL) for each in found)]
    for remedy in bounded(remedies, TEXT_LINES, ALL):
        screen.line(remedy, "cyan")
    return OK


@click.command()
@click.argument("position", type=EventPosition(), metavar="EVENT")
@with_component
@with_home
@with_screen
def retry(position: int, component: str, home: Home, screen: Screen) -> int:
    """Let the component that gave up a parked event handle it once more.

    Cortex records the result as if it had come the first time. Ends with 1 if the event fails
    again. A component of a worker or a plugin handles it when its host runs.
    """
    from ..running import Session

    with Session.open(home, screen) as session:
        event = _parked(session.history, position, component)
        _refuse_unheard(event)
        asked = session.publish(ComponentRetry(component=event.component, position=position))
        _until_handled(session, screen, event.component, asked)
        again = [each for each in parked_of(session.history) if _same(each, event)]
        screen.document(again)
        if again:
            screen.line(f"{event.component} failed again: {again[0].reason}", "red")
            return FAILED
        screen.line(f"{event.component} handled event {position}", "green")
    return OK


@click.command()
@click.argument("position", type=EventPosition(), metavar="EVENT")
@with_component
@click.option("--note", default="", help="Why, for the record.")
@with_home
@with_screen
def drop(position: int, component: str, note: str, home: Home, screen: Screen) -> int:
    """Remove a parked event from the list.

    No component handles it any more. The event itself stays in the log.
    """
    from ..running import Session

    with Session.open(home, screen) as session:
        event = _parked(session.history, position, component)
        said = ComponentDrop(component=event.component, position=position, note=note)
        session.publish(said)
    screen.document(event)
    screen.line(f"event {position} of {event.component} is dropped")
    return OK


def _parked(history: History, position: int, component: str) -> ParkedEvent:
    """The parked event that is meant.

    Raises:
        NotFoundError: There is none.
        RefusedError: Several components gave it up.
    """
    found = [p for p in parked_of(history) if p.position == position]
    found = [p for p in found if component in ("", p.component)]
    if not found:
        raise NotFoundError(
            "parked event",
            str(position),
            "is not parked: `cortex events parked` lists the parked events",
        )
    if len(found) > 1:
        names = ", ".join(each.component for each in found)
        raise RefusedError(f"{names} gave up event {position}: name one with --component")
    return found[0]


def _refuse_unheard(event: ParkedEvent) -> None:
    """See that its component hears of it.

    Raises:
        RefusedError: It does not: it takes work, subscribes to something else, or is gone.
    """
    if not event.retry:
        raise RefusedError(
            f"{event.component} cannot be asked to handle event {event.position} once more: "
            f"{event.remedy}"
        )


def _until_handled(session: "Session", screen: Screen, component: str, position: int) -> None:
    """Wait until *component* has come past *position*.

    Raises:
        RefusedError: It did not in time.
    """
    began = time.monotonic()
    until, said = began + RETRY_S, False
    while time.monotonic() < until:
        if not said and time.monotonic() > began + QUIET_S:
            screen.note(f"waits for {component} to come to it, {RETRY_S:.0f} s at most")
            said = True
        session.interrupts.check()
        standings = session.log.state().standings
        if any(each.name == component and each.cursor >= position for each in standings):
            return
        time.sleep(LOOK_S)
    raise RefusedError(
        f"{component} has not handled it within {RETRY_S:.0f} s; it will when its host runs: "
        "start that worker, or see `cortex plugin list`"
    )


def _same(one: ParkedEvent, other: ParkedEvent) -> bool:
    return (one.component, one.position) == (other.component, other.position)
