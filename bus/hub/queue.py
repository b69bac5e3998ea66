"""The waiting and held work of one work subscription; oldest first, each for one worker."""

import heapq
from collections.abc import Iterable, Iterator

from ..log import Work


class WorkQueue:
    """Work by position. Lease and backoff are the same: the work is unavailable until a time."""

    def __init__(self, works: Iterable[Work] = ()) -> None:
        self.touched = 0  # how often a worker showed a sign of life
        self._works: dict[int, Work] = {}
        self._ready: list[int] = []  # heap of positions; may contain finished ones
        self._later: list[tuple[int, int]] = []  # heap of (not before, position); the same
        for work in works:
            self.put(work)

    def __len__(self) -> int:
        return len(self._works)

    def __iter__(self) -> Iterator[Work]:
        return iter(self._works.values())

    def get(self, position: int) -> Work | None:
        """The work at *position*, waiting or held."""
        return self._works.get(position)

    def put(self, work: Work) -> None:
        """Add work, or replace the work at its position."""
        self._works[work.position] = work
        if work.epoch:
            self.touched += 1
        if work.not_before_ns:
            heapq.heappush(self._later, (work.not_before_ns, work.position))
        else:
            heapq.heappush(self._ready, work.position)

    def remove(self, position: int) -> None:
        """Forget finished work."""
        self.touched += 1
        self._works.pop(position, None)

    def claimable(self, now_ns: int) -> Iterator[Work]:
        """Work that may be taken now, oldest first.

        The caller puts changed work back before it asks for the next, or this queue loses it.
        """
        self.mature(now_ns)
        last = 0
        while self._ready:
            position = heapq.heappop(self._ready)
            work = self._works.get(position)
            if work is not None and work.not_before_ns <= now_ns and position != last:
                last = position  # work that was renewed after it lapsed is in the heap twice
                yield work

    def may_have_free(self, now_ns: int) -> bool:
        """Whether some work may be free; False only if a worker holds all there is."""
        return bool(self._ready) or bool(self._later and self._later[0][0] <= now_ns)

    def any_claimable(self, now_ns: int) -> bool:
        """Whether there is work that may be taken now."""
        self.mature(now_ns)
        while self._ready:
            work = self._works.get(self._ready[0])
            if work is not None and work.not_before_ns <= now_ns:
                return True
            heapq.heappop(self._ready)  # it is finished, or comes back when it matures
        return False

    def mature(self, now_ns: int) -> bool:
        """Make work claimable whose lease or backoff is over; return whether there was any."""
        found = False
        while self._later and self._later[0][0] <= now_ns:
            not_before_ns, position = heapq.heappop(self._later)
            work = self._works.get(position)
            if work is not None and work.not_before_ns == not_before_ns:
                heapq.heappush(self._ready, position)
                found = True
        return found

    def again(self, position: int) -> None:
        """Make work that `claimable` returned claimable again."""
        heapq.heappush(self._ready, position)

    def next_due_ns(self) -> int | None:
        """When the next held or backed-off work may be taken; None if there is none."""
        while self._later:
            not_before_ns, position = self._later[0]
            work = self._works.get(position)
            if work is not None and work.not_before_ns == not_before_ns:
                return not_before_ns
            heapq.heappop(self._later)
        return None
