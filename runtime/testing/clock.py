"""A clock that a test moves."""

import threading

NOON_NS = 1_700_000_000_000_000_000  # 14 November 2023, 22:13:20 UTC


class VirtualClock:
    """Stands still until `advance`; everything that a runtime times goes by it.

    Args:
        now_ns: Where it begins, UTC nanoseconds since 1970.
    """

    def __init__(self, now_ns: int = NOON_NS) -> None:
        self._now_ns, self._lock = now_ns, threading.Lock()

    def now_ns(self) -> int:
        """UTC nanoseconds since 1970."""
        return self._now_ns

    def advance(self, seconds: float) -> None:
        """Let so much time pass."""
        with self._lock:
            self._now_ns += int(seconds * 1e9)
