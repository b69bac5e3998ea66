"""Parked events, until they are retried or dropped: a fold over the log."""

import msgspec

from cortex.bus import Filter, SubscriptionState
from cortex.bus.events import ComponentDrop, ComponentFailed, ComponentRetry
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import iso
from cortex.runtime.projections import Selection

RESUMABLE = ("halted", "paused")  # executions that may wait for the event of a failed step
PARKED = Selection(topics=("component.failed", "component.retry", "component.drop"))


class ParkedEvent(msgspec.Struct):
    """An event that is parked."""

    position: int
    topic: str
    component: str
    reason: str
    attempts: int
    since: str  # UTC
    execution: str = ""  # the execution that it belongs to
    key: str = ""
    retry: bool = False  # whether `cortex events retry` reaches it
    remedy: str = ""  # what to do


def parked_of(history: History) -> list[ParkedEvent]:
    """The currently parked events, in the order of the log."""
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
                    _key_at(history, position),
                )
            case ComponentRetry() | ComponentDrop() as event:
                found.pop((event.component, event.position), None)
    log = history.log
    standings = {each.name: each for each in log.state().standings} if log and found else {}
    for each in found.values():
        standing = standings.get(each.component)
        if standing is not None and standing.kind == "ordered":
            each.retry = Filter(standing.filter).matches(each.topic, each.key or None)
        each.remedy = _remedy(history, each, standing)
    return sorted(found.values(), key=lambda each: (each.position, each.component))


def _remedy(history: History, event: ParkedEvent, standing: SubscriptionState | None) -> str:
    if event.retry:
        return f"cortex events retry {event.position}"
    drop = f"cortex events drop {event.position}"
    if standing is None:
        return f"start what hosts {event.component}, or {drop}"
    if standing.kind == "ordered":
        return f"{event.component} does not subscribe to {event.topic} any more: {drop}"
    if not event.execution:
        return f"have what caused it happen again: {event.component} takes work; then {drop}"
    status = history.execution(event.execution).status
    if status in RESUMABLE:
        return f"cortex execution resume {event.execution}"
    return f"execution {event.execution} is {status} and does not wait for it: {drop}"


def _key_at(history: History, position: int) -> str:
    record = history.at(position)
    return (record.key if record else "") or ""
