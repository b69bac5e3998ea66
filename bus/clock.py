"""Time and randomness are parameters: a simulator passes its own."""

import secrets
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from typing import Protocol

# CLOCK_BOOTTIME (Linux) includes sleep, as does macOS's CLOCK_MONOTONIC.
_UPTIME = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Clock(Protocol):
    """The time: a hub stamps events with it and measures durations by it."""

    def now_ns(self) -> int:
        """UTC nanoseconds since 1970."""
        ...

    def monotonic_ns(self) -> int:
        """Nanoseconds since some moment; does not jump when the clock is set."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def now_ns(self) -> int:
        """UTC nanoseconds since 1970."""
        return time.time_ns() if _pace is None else _pace.of(0, time.time_ns())

    def monotonic_ns(self) -> int:
        """Nanoseconds since some moment; does not jump when the clock is set."""
        return steady_ns()

    def uptime_ns(self) -> int:
        """The same, but it includes the time in which the machine sleeps."""
        uptime_ns = time.clock_gettime_ns(_UPTIME)
        return uptime_ns if _pace is None else _pace.of(2, uptime_ns)

    @staticmethod
    def uptime_of(clock: Clock) -> Callable[[], int]:
        """The clock that the log's time is compared with: for the system, its uptime."""
        if not isinstance(clock, SystemClock):
            return clock.monotonic_ns
        return partial(time.clock_gettime_ns, _UPTIME) if _pace is None else clock.uptime_ns


def steady_s() -> float:
    """Seconds since some moment, by the steady clock; every timer here uses it."""
    return time.monotonic() if _pace is None else _pace.of(1, time.monotonic_ns()) / 1e9


def steady_ns() -> int:
    """The same in nanoseconds."""
    return time.monotonic_ns() if _pace is None else _pace.of(1, time.monotonic_ns())


def lasting(seconds: float) -> float:
    """How long the machine waits for a timer of *seconds*; every timed wait calls this."""
    if _pace is None:
        return seconds
    return min(seconds * _pace.times, threading.TIMEOUT_MAX / 2)


@contextmanager
def slowed(times: int) -> Generator[None, None, None]:
    """Slow all timers that are created from now on by this factor, for tests.

    A wait that something else ends takes no longer than before; a wait for time alone does.
    """
    global _pace  # time is global to a process
    _pace = _Pace(times)
    try:
        yield
    finally:
        _pace = None


class _Pace:
    """Three clocks that are slowed from now on: wall, steady, uptime."""

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
