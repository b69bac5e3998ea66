"""A clock that stands still while components run for real: whoever waits for a timer shows."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

NOON_NS = 1_700_000_000_000_000_000


class StillClock:
    """No time passes by it, so that no timer of a hub or a component ever expires.

    A run that needs one would stand still for good, and tell nobody which: `watched` lets the time
    pass once *patience_s* real seconds are over, and what was recorded then shows where it waited.
    """

    def __init__(self) -> None:
        self._passes_since_ns: int | None = None

    def now_ns(self) -> int:
        """UTC nanoseconds, the same ones each time."""
        since_ns = self._passes_since_ns
        return NOON_NS if since_ns is None else NOON_NS + time.monotonic_ns() - since_ns

    def monotonic_ns(self) -> int:
        """The same time: nobody sets this clock."""
        return self.now_ns()

    @property
    def stands(self) -> bool:
        """Whether no time has passed."""
        return self._passes_since_ns is None

    @contextmanager
    def watched(self, patience_s: float) -> Iterator[None]:
        """Let the time pass from *patience_s* on, where what is inside takes as long."""
        watchdog = threading.Timer(patience_s, self._pass)
        watchdog.daemon = True
        watchdog.start()
        try:
            yield
        finally:
            watchdog.cancel()

    def _pass(self) -> None:
        self._passes_since_ns = time.monotonic_ns()
