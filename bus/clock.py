"""Where time and randomness come from; both are handed in, a simulator hands in its own."""

import secrets
import time
from collections.abc import Callable
from typing import Protocol


class Clock(Protocol):
    """The time, as a hub stamps it."""

    def now_ns(self) -> int:
        """UTC nanoseconds since 1970."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def now_ns(self) -> int:
        """UTC nanoseconds since 1970."""
        return time.time_ns()

    def steady_ns(self) -> int:
        """Nanoseconds since some moment; does not jump when somebody sets the clock."""
        return time.monotonic_ns()

    @staticmethod
    def steady_of(clock: Clock) -> Callable[[], int]:
        """What durations are measured by: a system's steady clock, any other's only one."""
        return clock.steady_ns if isinstance(clock, SystemClock) else clock.now_ns


def system_entropy(size_bytes: int) -> bytes:
    """Randomness of the operating system."""
    return secrets.token_bytes(size_bytes)
