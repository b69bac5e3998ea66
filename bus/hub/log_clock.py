"""The time of a log: it follows the machine's clock, but never goes back.

If the clock is set back, the log's time continues from where it is, ahead of the clock by
the difference, until the clock is set forward again. Waiting times are measured by the log's
time, so nothing waits until the clock has caught up. If the clock is set forward, the log's
time follows; the clock reports how much of that did not pass, so that durations keep their length.
"""

import msgspec

from ..event import decode
from ..events.log import CLOCK_STREAM, LogClockJumped
from ..log import Log

# Smaller steps are normal clock synchronisation: the log's time waits, or catches up.
JUMP_NS = 2_000_000_000


class Jump(msgspec.Struct, frozen=True):
    """The clock was set."""

    by_ns: int  # how far; negative for back
    clock_ns: int  # the clock after the jump, UTC nanoseconds
    ahead_ns: int  # how far the log's time is ahead of the clock after the jump
    skipped_ns: int  # how much of the log's jump was not real time

    def event(self) -> LogClockJumped:
        """What the log records of it."""
        return LogClockJumped(
            by_ns=self.by_ns,
            clock_ns=self.clock_ns,
            ahead_ns=self.ahead_ns,
            skipped_ns=self.skipped_ns,
        )


def recorded_ahead_ns(log: Log) -> int:
    """How far the log's time was ahead of the clock at the newest jump that *log* has; 0: none."""
    version = log.stream_version(CLOCK_STREAM)
    for data in log.read_stream(CLOCK_STREAM, version - 1, 1) if version else ():
        return msgspec.msgpack.decode(decode(data).body, type=LogClockJumped).ahead_ns
    return 0


def clock_behind_ns(newest_ns: int, clock_ns: int) -> int:
    """How far the clock is behind a log's newest event; 0 if it is not, or negligibly."""
    behind_ns = newest_ns - clock_ns
    return behind_ns if behind_ns >= JUMP_NS else 0


class LogClock:
    """Tells the log's time; a state machine that gets the readings of two clocks.

    Args:
        newest_ns: The time of the log's newest event; 0 for an empty log.
        ahead_ns: How far the log's time was ahead of the clock at the newest jump.
        clock_ns: The wall clock, UTC nanoseconds.
        lasts_ns: A monotonic clock, in nanoseconds.
    """

    def __init__(self, newest_ns: int, ahead_ns: int, clock_ns: int, lasts_ns: int) -> None:
        self._clock_ns, self._lasts_ns = clock_ns, lasts_ns
        self.found: Jump | None = None  # the jump since the last write of the log
        self.ahead_ns = max(0, ahead_ns if clock_ns < newest_ns else 0)
        if clock_ns + self.ahead_ns < newest_ns - JUMP_NS:
            self.ahead_ns = newest_ns - clock_ns
        if self.ahead_ns != ahead_ns:
            self.found = Jump(ahead_ns - self.ahead_ns, clock_ns, self.ahead_ns, 0)
        self.time_ns = max(newest_ns, clock_ns + self.ahead_ns)

    def read(self, clock_ns: int, lasts_ns: int) -> Jump | None:
        """Process new readings: updates `time_ns`; returns a jump, if there was one."""
        follows_ns, before_ns = clock_ns + self.ahead_ns, self.time_ns
        by_ns = clock_ns - self._clock_ns - lasts_ns + self._lasts_ns
        if follows_ns > before_ns and -JUMP_NS < by_ns < JUMP_NS:  # the usual case
            self._clock_ns, self._lasts_ns, self.time_ns = clock_ns, lasts_ns, follows_ns
            return None
        passed_ns = max(0, lasts_ns - self._lasts_ns)
        by_ns = clock_ns - self._clock_ns - passed_ns
        self._clock_ns, self._lasts_ns = clock_ns, lasts_ns
        if abs(by_ns) < JUMP_NS and follows_ns > before_ns - JUMP_NS:
            self.time_ns = max(before_ns, follows_ns)
            return None
        on_ns = before_ns + passed_ns  # where it would be if the clock had not been set
        self.time_ns = max(on_ns, clock_ns)
        ahead_ns = self.time_ns - clock_ns
        self.ahead_ns = ahead_ns if ahead_ns >= JUMP_NS else 0  # a smaller lead is waited out
        return Jump(by_ns, clock_ns, self.ahead_ns, self.time_ns - on_ns)
