"""Retries of events: after a failure, and when a person asks for a parked one.

A person asks with `component.retry`. Every ordered component gets that request, wherever it
is hosted: it is part of its own subscription. The named event is fetched by that
subscription too, so that no component sees more than what it was given before.
"""

from functools import partial

import msgspec

from cortex.bus import Attempted, Backoff, Draft, Lease, Page, Pair, Recorded
from cortex.bus.events import ComponentFailed, ComponentRetry

from ..hosts.host import Effects
from .intents import alone

BACKOFF = Backoff(first_s=0.1, longest_s=30.0)  # after a failure of an event
FALLS = 10  # attempts that ended with the whole runtime, after which the event is parked

Begun = Attempted | Lease  # an attempt that was counted before it began
RETRY = ComponentRetry.topic_name()

_READ = msgspec.msgpack.Decoder(ComponentRetry).decode


def own(begun: Begun) -> int:
    """Attempts since the runtime started, this one included."""
    return begun.attempts - begun.fallen


def shown(begun: Begun) -> int:
    """The attempt number for the handler: 2 or more after an earlier one, the limit at the last."""
    return max(own(begun), min(begun.attempts, 2), 1)


def blamed(max_attempts: int, begun: Begun, otherwise: str) -> str:
    """Why an event is parked without an attempt; empty if it is not."""
    if begun.fallen >= max(FALLS, max_attempts):
        return "the whole runtime ended each time while it was handled"
    return otherwise if own(begun) > max_attempts else ""


def backoff_ns(attempt: int) -> int:
    """How long a failed event waits after its *attempt*-th attempt, counted from 1."""
    return BACKOFF.after_ns(attempt)


def parked(
    component: str, record: Recorded, reason: str, attempts: int, trace: str = ""
) -> Effects:
    """The event that *component* parks an event; *trace* is a blob's digest."""
    failed = ComponentFailed(
        component=component,
        reason=reason,
        position=record.position,
        about=record.topic,
        attempts=attempts,
        trace=trace,
    )
    draft = Draft.of(failed, correlation=record.correlation, causation=record.position)
    return Effects((draft,))


def hearing(component: str, pairs: tuple[Pair, ...]) -> tuple[Pair, ...]:
    """The subscription of an ordered component, including requests for retries."""
    return (*pairs, (RETRY, component)) if pairs else pairs


def up_to_retry(page: Page, component: str) -> tuple[Page, bool]:
    """The part of *page* before its first request for a retry, or that alone; whether that."""
    for record in page.records:
        if record.topic == RETRY and record.key == component:
            return alone(page, partial(_asks_again, component)), record is page.records[0]
    return page, False  # the usual case


def position_of(asked: Recorded) -> int:
    """Position of the event that *asked* names; 0 if it names no earlier one."""
    position = _READ(asked.body).position
    return position if 0 < position < asked.position else 0


def _asks_again(component: str, record: Recorded) -> bool:
    return record.topic == RETRY and record.key == component
