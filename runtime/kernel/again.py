"""Handling a parked event once more, when a person asks for it with `component.retry`."""

from collections.abc import Callable

import msgspec

from cortex.bus import Page, Recorded
from cortex.bus.events import ComponentRetry

from .intents import alone

RETRY = ComponentRetry.topic_name()
Find = Callable[[int], Recorded | None]  # the event at a position of the log

_READ = msgspec.msgpack.Decoder(ComponentRetry).decode


def up_to_retry(page: Page) -> tuple[Page, bool]:
    """The part of *page* before its first request of this kind, or that one alone; whether that."""
    for record in page.records:
        if record.topic == RETRY:
            return alone(page, _asks_again), record is page.records[0]
    return page, False  # as nearly always


def parked_event(asked: Recorded, find: Find) -> Recorded | None:
    """The event that *asked* names; None where it names none of an earlier time."""
    position = _READ(asked.body).position
    return find(position) if 0 < position < asked.position else None


def _asks_again(record: Recorded) -> bool:
    return record.topic == RETRY
