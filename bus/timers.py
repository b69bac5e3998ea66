"""Calls that are due at given times: pure, without a clock, a lock or a thread."""

import heapq
import itertools

from .port import Wake


class TimerQueue:
    """Keeps calls by their time; those of one time in the order in which they were set."""

    def __init__(self) -> None:
        self._calls: list[tuple[int, int, Wake]] = []  # heap; the count keeps calls uncompared
        self._count = itertools.count()

    def set(self, at_ns: int, call: Wake) -> None:
        """Have *call* due at *at_ns*."""
        heapq.heappush(self._calls, (at_ns, next(self._count), call))

    @property
    def next_ns(self) -> int | None:
        """When the next one is due."""
        return self._calls[0][0] if self._calls else None

    def pop(self) -> Wake:
        """Take out the next one, whenever it is due."""
        return heapq.heappop(self._calls)[2]

    def due(self, now_ns: int) -> list[Wake]:
        """Take out all that are due by *now_ns*."""
        due: list[Wake] = []
        while self._calls and self._calls[0][0] <= now_ns:
            due.append(self.pop())
        return due
