"""Handles a parked event once more, when a person requests it with `component.retry`.

Every component with an ordered feed receives the request, wherever it is hosted, as an event of its
own subscription. It fetches the named event by that subscription too, so it sees no more than the
events that it could receive before.
"""

from functools import partial

import msgspec

from cortex.bus import Page, Pair, Recorded
from cortex.bus.events import ComponentRetry

from .intents import alone

RETRY = ComponentRetry.topic_name()

_READ = msgspec.msgpack.Decoder(ComponentRetry).decode


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
