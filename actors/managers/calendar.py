"""What time it is for schedules, and at which times they ran, whatever becomes of the clock.

The log's time never goes back. Where it is ahead of the clock, schedules go by the clock; what ran
already does not run again when the clock comes by for a second time.
"""

import msgspec

from cortex.bus.events import LogClockJumped
from cortex.runtime.processes import ScheduleTrigger

from .schedules import next_due_ns

KEPT = 8  # stretches of the clock, and of times a schedule ran at; it is not set more often


class Calendar(msgspec.Struct):
    """Folded from what the log says of its clock and of schedules; times are the clock's."""

    ahead_ns: int = 0  # how far the log's time is ahead of the clock
    since_ns: int = 0  # what the clock said when it was set last
    lived: list[tuple[int, int]] = msgspec.field(
        default_factory=list
    )  # what it went through before
    skipped: tuple[int, int] = (0, 0)  # the stretch that it left out when it was set last
    # By deadline: the stretches, first and last, within which it ran at each of its times.
    ran: dict[str, list[tuple[int, int]]] = msgspec.field(default_factory=dict)

    def jumped(self, event: LogClockJumped) -> bool:
        """The clock was set; whether schedules come at another time of the log now."""
        before_ns, self.ahead_ns = self.ahead_ns, event.ahead_ns
        self.lived.append((self.since_ns, event.clock_ns - event.by_ns))
        del self.lived[:-KEPT]
        self.since_ns = event.clock_ns
        self.skipped = (self.through_ns() + 1, event.clock_ns) if event.by_ns > 0 else (0, 0)
        return self.ahead_ns != before_ns

    def through_ns(self) -> int:
        """Up to when the clock had been through before it was set to what it said then.

        Schedules were looked after until there; what comes between is late.
        """
        now_ns = self.since_ns
        return max(
            (min(end, now_ns) for start, end in self.lived if start <= now_ns), default=now_ns
        )

    def ran_at(self, name: str, schedule: ScheduleTrigger, due_ns: int) -> None:
        """A schedule ran for its time *due_ns*."""
        stretches = self.ran.setdefault(name, [])
        if stretches and next_due_ns(schedule, stretches[-1][1]) == due_ns:
            stretches[-1] = (stretches[-1][0], due_ns)
        else:
            stretches.append((due_ns, due_ns))
            del stretches[:-KEPT]

    def forget(self, name: str) -> None:
        """The schedule of that deadline is another one now, or has gone."""
        self.ran.pop(name, None)

    def has_run(self, name: str, due_ns: int) -> bool:
        """Whether a schedule ran for its time *due_ns*."""
        return any(first_ns <= due_ns <= last_ns for first_ns, last_ns in self.ran.get(name, ()))

    def to_come(
        self, name: str, schedule: ScheduleTrigger, due_ns: int | None, *, skipped: bool
    ) -> int | None:
        """*due_ns*, or the first of its times after that at which it did not run yet.

        Args:
            name: Of its deadline.
            schedule: Whose times.
            due_ns: One of them; None where there is none, and None comes back.
            skipped: Whether that may be a time that the clock left out.
        """
        over = [*self.ran.get(name, ())] if skipped else [*self.ran.get(name, ()), self.skipped]
        for first_ns, last_ns in sorted(over):
            if due_ns is not None and first_ns <= due_ns <= last_ns:
                due_ns = next_due_ns(schedule, last_ns)
        return due_ns
