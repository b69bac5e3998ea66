"""The time for schedules, and the times at which they ran, across changes of the clock.

The log's time never goes back. If it is ahead of the clock, schedules use the clock; a schedule
does not run again when the clock passes its time for a second time.
"""

import msgspec

from cortex.bus.events import LogClockJumped
from cortex.runtime.processes import ScheduleTrigger

from .schedules import next_due_ns

KEPT = 8  # intervals kept, of the clock and of a schedule's runs; clocks are not set more often


class Calendar(msgspec.Struct):
    """A fold over events about the clock and schedules; times are the clock's."""

    ahead_ns: int = 0  # how far the log's time is ahead of the clock
    since_ns: int = 0  # the clock after it was last set
    lived: list[tuple[int, int]] = msgspec.field(
        default_factory=list
    )  # the interval that it passed before
    skipped: tuple[int, int] = (0, 0)  # the interval that it skipped when it was last set
    # By deadline: intervals (first, last) in which it ran at each of its times.
    ran: dict[str, list[tuple[int, int]]] = msgspec.field(default_factory=dict)

    def jumped(self, event: LogClockJumped) -> bool:
        """Note that the clock was set; return whether this moves schedules in the log's time."""
        before_ns, self.ahead_ns = self.ahead_ns, event.ahead_ns
        self.lived.append((self.since_ns, event.clock_ns - event.by_ns))
        del self.lived[:-KEPT]
        self.since_ns = event.clock_ns
        self.skipped = (self.through_ns() + 1, event.clock_ns) if event.by_ns > 0 else (0, 0)
        return self.ahead_ns != before_ns

    def through_ns(self) -> int:
        """The time that the clock had reached before it was set.

        Schedules were handled until there; times in between are late.
        """
        now_ns = self.since_ns
        return max(
            (min(end, now_ns) for start, end in self.lived if start <= now_ns), default=now_ns
        )

    def ran_at(self, name: str, schedule: ScheduleTrigger, due_ns: int) -> None:
        """Note that a schedule ran for its time *due_ns*."""
        stretches = self.ran.setdefault(name, [])
        if stretches and next_due_ns(schedule, stretches[-1][1]) == due_ns:
            stretches[-1] = (stretches[-1][0], due_ns)
        else:
            stretches.append((due_ns, due_ns))
            del stretches[:-KEPT]

    def forget(self, name: str) -> None:
        """Note that the schedule of that deadline was replaced or removed."""
        self.ran.pop(name, None)

    def has_run(self, name: str, due_ns: int) -> bool:
        """Whether a schedule ran for its time *due_ns*."""
        return any(first_ns <= due_ns <= last_ns for first_ns, last_ns in self.ran.get(name, ()))

    def to_come(
        self, name: str, schedule: ScheduleTrigger, due_ns: int | None, *, skipped: bool
    ) -> int | None:
        """*due_ns*, or the first of its times after that at which it did not run yet.

        Args:
            name: The name of its deadline.
            schedule: The schedule.
            due_ns: One of its times; None if there is none, which returns None.
            skipped: Whether that may be a time that the clock skipped.
        """
        over = [*self.ran.get(name, ())] if skipped else [*self.ran.get(name, ()), self.skipped]
        for first_ns, last_ns in sorted(over):
            if due_ns is not None and first_ns <= due_ns <= last_ns:
                due_ns = next_due_ns(schedule, last_ns)
        return due_ns
