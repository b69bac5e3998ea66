"""Timing without a clock, lock or thread: due calls, backoff, throttled reports."""

import heapq
import itertools
import math

from msgspec import Struct

from .port import Wake


class TimerQueue:
    """Calls by their time; calls at the same time keep the order in which they were set."""

    def __init__(self) -> None:
        self._calls: list[tuple[int, int, Wake]] = []  # heap; the count avoids comparing calls
        self._count = itertools.count()

    def set(self, at_ns: int, call: Wake) -> None:
        """Schedule *call* for *at_ns*."""
        heapq.heappush(self._calls, (at_ns, next(self._count), call))

    @property
    def next_ns(self) -> int | None:
        """When the next call is due."""
        return self._calls[0][0] if self._calls else None

    def pop(self) -> Wake:
        """Remove and return the next call, whenever it is due."""
        return heapq.heappop(self._calls)[2]

    def due(self, now_ns: int) -> list[Wake]:
        """Remove and return all calls that are due by *now_ns*."""
        due: list[Wake] = []
        while self._calls and self._calls[0][0] <= now_ns:
            due.append(self.pop())
        return due


class Backoff(Struct, frozen=True):
    """A wait that grows with each failure in a row, up to the longest."""

    first_s: float  # after the first failure
    longest_s: float
    factor: float = 2.0  # from one wait to the next
    forgiven_s: float = math.inf  # after this long without a failure the count starts again

    def after_s(self, failures: int) -> float:
        """Seconds to wait after so many failures in a row, counted from 1."""
        wait_s = self.first_s
        for _ in range(failures - 1):  # not a power, which overflows long before the ceiling
            if wait_s >= self.longest_s:
                break
            wait_s *= self.factor
        return min(wait_s, self.longest_s)

    def after_ns(self, failures: int) -> int:
        """The same in nanoseconds."""
        return round(self.after_s(failures) * 1e9)

    def failures(self, before: int, worked_s: float = 0.0) -> int:
        """Failures in a row, with one that comes after *worked_s* without any."""
        return 1 if worked_s >= self.forgiven_s else before + 1


class Throttle:
    """Allows a report of one thing at most once a second, with a count."""

    KEPT = 1_000  # different things; above this the oldest are forgotten

    def __init__(self, every_ns: int = 1_000_000_000) -> None:
        self._every_ns = every_ns
        self._seen: dict[str, tuple[int, int]] = {}  # last report, occurrences since

    def take(self, what: str, now_ns: int) -> int:
        """Occurrences of *what* since its last report; 0 if it must not be reported now."""
        last_ns, since = self._seen.pop(what, (now_ns - self._every_ns, 0))
        if now_ns - last_ns < self._every_ns:
            self._seen[what] = (last_ns, since + 1)
            return 0
        self._seen[what] = (now_ns, 0)
        while len(self._seen) > self.KEPT:
            self._seen.pop(next(iter(self._seen)))
        return since + 1
