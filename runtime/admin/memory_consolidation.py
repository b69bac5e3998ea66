"""Consolidating the memory of a home now: what was said, and what executions left."""

import time
from typing import Final

from cortex.bus import Event, Recorded
from cortex.bus.events import (
    MemoryConsolidate,
    MemoryConsolidated,
    MemoryRecurred,
    MemoryRefused,
)
from cortex.runtime.kernel import Home, RefusedError
from cortex.runtime.sessions import BRIEF_S, Session

WAIT_S: Final = 60.0
HEARD_S: Final = 0.1  # how long one look takes


def consolidations_of(home: Home, asked: MemoryConsolidate) -> list[tuple[MemoryConsolidated, int]]:
    """The consolidations that follow from *asked*, with their positions.

    The first is of what was said; there is a second one if something recurs in executions.

    Raises:
        RefusedError: The scope or the budget is none, or nothing answered in time.
    """
    with Session.open(home, patience_s=BRIEF_S) as session:
        feed = session.client.follow(("memory.*", None))
        try:
            awaited = _Awaited(session.publish(asked))
            until = time.monotonic() + WAIT_S
            while time.monotonic() < until:
                session.check()
                for record in feed.next(HEARD_S):
                    awaited.take(record, session.client.vocabulary.read(record))
                if awaited.is_complete:
                    return awaited.found
        finally:
            feed.close()
    raise RefusedError(f"nothing answered memory.consolidate within {WAIT_S:g} s: try again")


class _Awaited:
    """What answers one request to consolidate."""

    def __init__(self, position: int) -> None:
        self._asked, self._causes = position, {position}
        self._looked = False  # whether the collector has looked at executions
        self.found: list[tuple[MemoryConsolidated, int]] = []

    @property
    def is_complete(self) -> bool:
        return self._looked and not self._causes

    def take(self, record: Recorded, event: Event) -> None:
        """Raises `RefusedError` if the request was refused."""
        cause = record.causation
        if isinstance(event, MemoryRefused) and cause == self._asked:
            raise RefusedError(event.reason)
        if isinstance(event, MemoryRecurred) and cause == self._asked:
            self._looked = True
            self._causes.update([record.position] if event.found else [])
        elif isinstance(event, MemoryConsolidated) and cause in self._causes:
            self._causes.discard(cause)
            self.found.append((event, record.position))
