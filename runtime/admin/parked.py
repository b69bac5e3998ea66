"""Finds parked events, and asks components to retry them."""

import time

from cortex.bus import steady_s
from cortex.bus.events import ComponentDrop, ComponentRetry
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import NotFoundError, RefusedError
from cortex.runtime.serving import ParkedEvent, parked_of
from cortex.runtime.sessions import Session

RETRY_S = 60.0  # within which a component has to reach the event
LOOK_S = 0.05
QUIET_S = 2.0  # after which it is said what is waited for


def retry_parked(
    session: Session, position: int, component: str = ""
) -> tuple[str, list[ParkedEvent]]:
    """Ask the component that parked an event to retry it.

    Returns:
        The component, and the event if it was given up again.

    Raises:
        NotFoundError: No such event is parked.
        RefusedError: Several components parked it, or it cannot be retried, or not in time.
    """
    event = _parked(session.history, position, component)
    if not event.retry:  # it takes work, subscribes to something else, or is gone
        raise RefusedError(
            f"{event.component} cannot be asked to handle event {position} once more: "
            f"{event.remedy}"
        )
    asked = session.publish(ComponentRetry(component=event.component, position=position))
    _until_handled(session, event.component, asked)
    again = [each for each in parked_of(session.history) if _key(each) == _key(event)]
    return event.component, again


def drop_parked(
    session: Session, position: int, component: str = "", note: str = ""
) -> ParkedEvent:
    """Take an event off the list: no component handles it any more.

    Raises:
        NotFoundError: No such event is parked.
        RefusedError: Several components parked it.
    """
    event = _parked(session.history, position, component)
    session.publish(ComponentDrop(component=event.component, position=position, note=note))
    return event


def _parked(history: History, position: int, component: str) -> ParkedEvent:
    """The parked event that is meant."""
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


def _until_handled(session: Session, component: str, position: int) -> None:
    """Wait until *component* has come past *position*."""
    began = steady_s()
    until, said = began + RETRY_S, False
    while steady_s() < until:
        if not said and steady_s() > began + QUIET_S:
            session.front.note(f"waits for {component} to reach the event, {RETRY_S:.0f} s at most")
            said = True
        session.check()
        standings = session.log.state().standings
        if any(each.name == component and each.cursor >= position for each in standings):
            return
        time.sleep(LOOK_S)
    raise RefusedError(
        f"{component} has not handled it within {RETRY_S:.0f} s; it will when its host runs: "
        "start that worker, or see `cortex plugin list`"
    )


def _key(event: ParkedEvent) -> tuple[str, int]:
    return event.component, event.position
