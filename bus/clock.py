"""Where time and randomness come from; both are handed in, a simulator hands in its own."""

import secrets
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
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
        return time.time_ns() if _pace is None else _pace.of(0, time.time_ns())

    def steady_ns(self) -> int:
        """Nanoseconds since some moment; does not jump when somebody sets the clock."""
        return time.monotonic_ns() if _pace is None else _pace.of(1, time.monotonic_ns())

    def uptime_ns(self) -> int:
        """The same, but that it goes on while the machine sleeps."""
        uptime_ns = time.clock_gettime_ns(_UPTIME)
        return uptime_ns if _pace is None else _pace.of(2, uptime_ns)

    @staticmethod
    def uptime_of(clock: Clock) -> Callable[[], int]:
        """What the log's time is compared with: a system's uptime, any other's only one."""
        if not isinstance(clock, SystemClock):
            return clock.now_ns
        return partial(time.clock_gettime_ns, _UPTIME) if _pace is None else clock.uptime_ns

    @staticmethod
    def steady_of(clock: Clock) -> Callable[[], int]:
        """What durations are measured by: a system's steady clock, any other's only one.

        It is asked some twenty times a step, and so is what Python has for it where that will do.
        """
        if not isinstance(clock, SystemClock):
            return clock.now_ns
        return time.monotonic_ns if _pace is None else clock.steady_ns


def steady_s() -> float:
    """Seconds since some moment, by the steady clock: what every timer here is set by."""
    return time.monotonic() if _pace is None else _pace.of(1, time.monotonic_ns()) / 1e9


def lasting(seconds: float) -> float:
    """How long the machine is to wait for *seconds* of a timer; every wait with a time asks."""
    if _pace is None:
        return seconds
    return min(seconds * _pace.times, threading.TIMEOUT_MAX / 2)


@contextmanager
def slowed(times: int) -> Generator[None, None, None]:
    """Let every timer that is made from now on take so many times as long, for tests.

    What is woken by what it waits for takes no longer than before; what is not, does.
    """
    global _pace  # there is one time in a process
    _pace = _Pace(times)
    try:
        yield
    finally:
        _pace = None


class _Pace:
    """The clocks from now on, so many times as slow: of the wall, steady, up."""

    def __init__(self, times: int) -> None:
        self.times = times
        self._since_ns = (time.time_ns(), time.monotonic_ns(), time.clock_gettime_ns(_UPTIME))

    def of(self, clock: int, now_ns: int) -> int:
        since_ns = self._since_ns[clock]
        return since_ns + (now_ns - since_ns) // self.times


_pace: _Pace | None = None


def system_entropy(size_bytes: int) -> bytes:
    """Randomness of the operating system."""
    return secrets.token_bytes(size_bytes)
