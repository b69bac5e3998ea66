"""Events that a component gave up, until they are tried again or dropped: a fold over the log."""

import msgspec

from cortex.bus.events import ComponentDrop, ComponentFailed, ComponentRetry

from .history import History
from .selection import Selection
from .times import iso

PARKED = Selection(topics=("component.failed", "component.retry", "component.drop"))


class ParkedEvent(msgspec.Struct):
    """An event that is parked."""

    position: int
    topic: str
    component: str
    reason: str
    attempts: int
    since: str  # UTC
    execution: str = ""  # the one it serves


def parked_of(history: History) -> list[ParkedEvent]:
    """Those that are parked now, in the order of the log."""
    found: dict[tuple[str, int], ParkedEvent] = {}
    for record in history.select(PARKED):
        match history.event(record):
            case ComponentFailed(position=position) as event if position:
                found[event.component, position] = ParkedEvent(
                    position,
                    event.about,
                    event.component,
                    event.reason,
                    event.attempts,
                    iso(record.time_ns),
                    record.correlation or "",
                )
            case ComponentRetry() | ComponentDrop() as event:
                found.pop((event.component, event.position), None)
    return sorted(found.values(), key=lambda each: (each.position, each.component))
