"""The time of a log: it follows the machine's clock, but never goes back.

If somebody sets the clock back, the log's time continues from where it is, ahead of the clock by
the difference, until somebody sets the clock forward again. Waiting times are measured by the log's
time, so nothing waits until the clock has caught up. If somebody sets the clock forward, the log's
time follows; the clock reports how much of that did not pass, so that durations keep their length.
"""

import msgspec

# Less than this is how clocks are kept right: the log's time waits for them, or hurries after.
JUMP_NS = 2_000_000_000


class Jump(msgspec.Struct, frozen=True):
    """The clock was set."""

    by_ns: int  # how far; less than 0 for back
    clock_ns: int  # what it says since, UTC nanoseconds
    ahead_ns: int  # how far the log's time is ahead of it since
    skipped_ns: int  # how much the log's time left out that did not pass


def clock_behind_ns(newest_ns: int, clock_ns: int) -> int:
    """How far the clock is behind a log's newest event; 0 where it is not, or as good as not."""
    behind_ns = newest_ns - clock_ns
    return behind_ns if behind_ns >= JUMP_NS else 0


class LogClock:
    """Tells the log's time; a state machine that is given what two clocks say.

    Args:
        newest_ns: The time of the log's newest event; 0 for an empty log.
        ahead_ns: How far the log's time was ahead of the clock at the newest jump.
        clock_ns: What the clock says, UTC nanoseconds.
        lasts_ns: Nanoseconds since some moment, by a clock that nobody sets.
    """

    def __init__(self, newest_ns: int, ahead_ns: int, clock_ns: int, lasts_ns: int) -> None:
        self._clock_ns, self._lasts_ns = clock_ns, lasts_ns
        self.found: Jump | None = None  # that happened since the log was written last
        self.ahead_ns = max(0, ahead_ns if clock_ns < newest_ns else 0)
        if clock_ns + self.ahead_ns < newest_ns - JUMP_NS:
            self.ahead_ns = newest_ns - clock_ns
        if self.ahead_ns != ahead_ns:
            self.found = Jump(ahead_ns - self.ahead_ns, clock_ns, self.ahead_ns, 0)
        self.time_ns = max(newest_ns, clock_ns + self.ahead_ns)

    def read(self, clock_ns: int, lasts_ns: int) -> Jump | None:
        """Take in what the clocks say now: `time_ns` follows; a jump, where there was one."""
        follows_ns, before_ns = clock_ns + self.ahead_ns, self.time_ns
        by_ns = clock_ns - self._clock_ns - lasts_ns + self._lasts_ns
        if follows_ns > before_ns and -JUMP_NS < by_ns < JUMP_NS:  # as it nearly always is
            self._clock_ns, self._lasts_ns, self.time_ns = clock_ns, lasts_ns, follows_ns
            return None
        passed_ns = max(0, lasts_ns - self._lasts_ns)
        by_ns = clock_ns - self._clock_ns - passed_ns
        self._clock_ns, self._lasts_ns = clock_ns, lasts_ns
        if abs(by_ns) < JUMP_NS and follows_ns > before_ns - JUMP_NS:
            self.time_ns = max(before_ns, follows_ns)
            return None
        on_ns = before_ns + passed_ns  # where it would be if nobody had set anything
        self.time_ns = max(on_ns, clock_ns)
        ahead_ns = self.time_ns - clock_ns
        self.ahead_ns = ahead_ns if ahead_ns >= JUMP_NS else 0  # it waits for the clock
        return Jump(by_ns, clock_ns, self.ahead_ns, self.time_ns - on_ns)
