"""Where time and randomness come from; both are handed in, a simulator hands in its own."""

import secrets
import time
from collections.abc import Callable
from typing import Protocol

# Linux has one for that; where CLOCK_MONOTONIC is another one than Python's, it does the same.
_UPTIME = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


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

    def uptime_ns(self) -> int:
        """The same, but that it goes on while the machine sleeps."""
        return time.clock_gettime_ns(_UPTIME)

    @staticmethod
    def uptime_of(clock: Clock) -> Callable[[], int]:
        """What the log's time is compared with: a system's uptime, any other's only one."""
        return clock.uptime_ns if isinstance(clock, SystemClock) else clock.now_ns

    @staticmethod
    def steady_of(clock: Clock) -> Callable[[], int]:
        """What durations are measured by: a system's steady clock, any other's only one."""
        return clock.steady_ns if isinstance(clock, SystemClock) else clock.now_ns


def system_entropy(size_bytes: int) -> bytes:
    """Randomness of the operating system."""
    return secrets.token_bytes(size_bytes)
