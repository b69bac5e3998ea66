"""Trying an event again: when it failed, and when a person asks for one that was parked.

A person asks with `component.retry`. Every component that is fed in order hears of it, wherever it
is hosted: the request is an event of its own subscription, and what it names is fetched by that
subscription too, so that nobody sees more than what was handed to them before.
"""

from functools import partial

import msgspec

from cortex.bus import Attempted, Backoff, Draft, Lease, Page, Pair, Recorded
from cortex.bus.events import ComponentFailed, ComponentRetry

from .host import Effects
from .intents import alone

BACKOFF = Backoff(first_s=0.1, longest_s=30.0)  # of an event that failed
FALLS = 10  # tries that ended with the whole runtime; then an event is parked for that

Begun = Attempted | Lease  # a try that was counted before it began
RETRY = ComponentRetry.topic_name()

_READ = msgspec.msgpack.Decoder(ComponentRetry).decode


def own(begun: Begun) -> int:
    """Tries since the runtime started, this one included."""
    return begun.attempts - begun.fallen


def shown(begun: Begun) -> int:
    """What a handler is told: 2 or more if it was begun before, the limit only at the last try."""
    return max(own(begun), min(begun.attempts, 2), 1)


def blamed(max_attempts: int, begun: Begun, otherwise: str) -> str:
    """Why an event is parked untried; empty where it is not."""
    if begun.fallen >= max(FALLS, max_attempts):
        return "the whole runtime ended each time while it was handled"
    return otherwise if own(begun) > max_attempts else ""


def backoff_ns(attempt: int) -> int:
    """How long a failed event waits after its *attempt*-th try, counted from 1."""
    return BACKOFF.after_ns(attempt)


def parked(
    component: str, record: Recorded, reason: str, attempts: int, trace: str = ""
) -> Effects:
    """What is said of an event that *component* gives up; *trace* is a blob's digest."""
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
    """What a component that is fed in order subscribes to, with requests of this kind."""
    return (*pairs, (RETRY, component)) if pairs else pairs


def up_to_retry(page: Page, component: str) -> tuple[Page, bool]:
    """The part of *page* before its first request of this kind, or that one alone; whether that."""
    for record in page.records:
        if record.topic == RETRY and record.key == component:
            return alone(page, partial(_asks_again, component)), record is page.records[0]
    return page, False  # as nearly always


def position_of(asked: Recorded) -> int:
    """Position of the event that *asked* names; 0 where it names none of an earlier time."""
    position = _READ(asked.body).position
    return position if 0 < position < asked.position else 0


def _asks_again(component: str, record: Recorded) -> bool:
    return record.topic == RETRY and record.key == component
