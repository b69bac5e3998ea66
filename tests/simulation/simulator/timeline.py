"""Virtual time: what is to happen, in order, and what has happened."""

import heapq
import itertools
from collections.abc import Callable

START_NS = 1_700_000_000_000_000_000
MS = 1_000_000
SECOND_NS = 1_000 * MS

Act = Callable[[], None]


class Timeline:
    """The clock of a simulation; it jumps to whatever comes next."""

    def __init__(self) -> None:
        self._now_ns = START_NS
        self._coming: list[tuple[int, int, Act]] = []
        self._count = itertools.count()
        self._trace: list[tuple[int, str, str, object]] = []

    def now_ns(self) -> int:
        """The time, as a clock says it."""
        return self._now_ns

    def at(self, at_ns: int, act: Act) -> None:
        """Do *act* at that time, or next where it is past."""
        heapq.heappush(self._coming, (at_ns, next(self._count), act))

    def after(self, delay_ns: int, act: Act) -> None:
        """Do *act* in so many nanoseconds."""
        self.at(self._now_ns + delay_ns, act)

    def run(self, most: int) -> bool:
        """Do what is to be done until nothing is; False where *most* acts were not enough."""
        coming, pop = self._coming, heapq.heappop
        for _ in range(most):
            if not coming:
                return True
            at_ns, _, act = pop(coming)
            if at_ns > self._now_ns:
                self._now_ns = at_ns
            act()
        return False

    def note(self, who: str, what: str, about: object = "") -> None:
        """Add a line to the trace."""
        self._trace.append((self._now_ns, who, what, about))

    def trace(self) -> str:
        """What happened: a line each with the time, who, what."""
        return "\n".join(
            f"{(at_ns - START_NS) / SECOND_NS:10.4f}  {who:14} {what:10} {about}"
            for at_ns, who, what, about in self._trace
        )
