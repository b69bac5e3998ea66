"""The lines about each event that a component handles, if `CORTEX_LOG` asks for them."""

import os
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from cortex.bus import Draft, Event, Recorded

LEVEL = "CORTEX_LOG"


class Detail:
    """Log lines about the handlers of one component; what they log themselves is bound as well."""

    def __init__(self, component: str, *, every: bool) -> None:
        self._component = component
        self._every = every  # also what comes in, and each event that comes of it

    @classmethod
    def asked(cls, component: str) -> "Detail | None":
        """The details of *component*, where `CORTEX_LOG` is debug or trace; else None."""
        level = os.environ.get(LEVEL, "").lower()
        return cls(component, every=level == "trace") if level in ("debug", "trace") else None

    @contextmanager
    def of(self, record: Recorded, event: Event, attempt: int) -> "Iterator[Handled]":
        """Bind component, execution and step while *event* is handled, and say how that went."""
        # Not above: a spawned component that logs nothing would start 0.1 s later.
        import structlog
        from structlog.contextvars import bound_contextvars

        log = structlog.get_logger("cortex.kernel")
        bound = {
            "component": self._component,
            "execution": getattr(event, "execution_id", "") or record.correlation,
            "step": getattr(event, "step_id", ""),
        }
        about = {"topic": record.topic, "position": record.position, "attempt": attempt}
        with bound_contextvars(**{name: value for name, value in bound.items() if value}):
            if self._every:
                log.debug("event_taken", source=record.source, **about)
            handled, began = Handled(), time.perf_counter()
            try:
                yield handled
            finally:
                took_ms = round((time.perf_counter() - began) * 1e3, 1)
                drafts = handled.drafts
                if self._every:
                    for draft in drafts or ():
                        log.debug("event_given", topic=draft.topic, stream=draft.stream)
                given = "failed" if drafts is None else len(drafts)
                if given or self._every:  # most components hear of much that they only note
                    log.debug("event_handled", given=given, took_ms=took_ms, **about)


class Handled:
    """What came of an event; None until that is known, and where its handler failed."""

    def __init__(self) -> None:
        self.drafts: Collection[Draft] | None = None
