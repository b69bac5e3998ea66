"""Virtual time: what is to happen, in order, and what has happened."""

from collections.abc import Callable

from cortex.bus import TimerQueue

START_NS = 1_700_000_000_000_000_000
MS = 1_000_000
SECOND_NS = 1_000 * MS

Act = Callable[[], None]


class Timeline:
    """The clock of a simulation; it jumps to whatever comes next."""

    def __init__(self) -> None:
        self._now_ns = START_NS
        self._coming = TimerQueue()
        self._trace: list[tuple[int, str, str, object]] = []

    def now_ns(self) -> int:
        """The time, as a clock says it."""
        return self._now_ns

    def monotonic_ns(self) -> int:
        """The same time: nobody sets this clock."""
        return self._now_ns

    def at(self, at_ns: int, act: Act) -> None:
        """Do *act* at that time, or next where it is past."""
        self._coming.set(at_ns, act)

    def after(self, delay_ns: int, act: Act) -> None:
        """Do *act* in so many nanoseconds."""
        self.at(self._now_ns + delay_ns, act)

    def run(self, most: int) -> bool:
        """Do what is to be done until nothing is; False where *most* acts were not enough."""
        for _ in range(most):
            at_ns = self._coming.next_ns
            if at_ns is None:
                return True
            self._now_ns = max(self._now_ns, at_ns)
            self._coming.pop()()
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
