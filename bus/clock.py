"""Where time and randomness come from; both are handed in, a simulator hands in its own."""

import secrets
import time
from typing import Protocol


class Clock(Protocol):
    """The time, as a hub stamps it."""

    def now_ns(self) -> int:
        """UTC nanoseconds since 1970."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now_ns(self) -> int:
        """UTC nanoseconds since 1970."""
        return time.time_ns()


def system_entropy(size_bytes: int) -> bytes:
    """Randomness of the operating system."""
    return secrets.token_bytes(size_bytes)
