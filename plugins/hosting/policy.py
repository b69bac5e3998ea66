"""When a plugin is ended, and whether it is started again: pure, on a clock that is passed in."""

from msgspec import Struct

FIRST_S = 1.0  # before the first restart; twice as long before each that follows
LONGEST_S = 60.0
STEADY_S = 60.0  # a plugin that worked so long is forgiven what it did before
BURST_S = 5.0  # seconds' worth of events that may come at once


class Next(Struct, frozen=True):
    """What comes after a crash."""

    times: int  # crashes in a row, this one included
    again_s: float = 0.0
    given_up: bool = False


def after_crash(times: int, worked_s: float, restarts: int) -> Next:
    """What to do about a plugin that crashed after *worked_s*, and *times* before in a row."""
    times = 1 if worked_s >= STEADY_S else times + 1
    if times > restarts:
        return Next(times, given_up=True)
    return Next(times, min(LONGEST_S, FIRST_S * 2 ** (times - 1)))


class Meter:
    """Counts what a plugin publishes; a bucket that leaks as fast as it may publish."""

    def __init__(self, events_per_s: int) -> None:
        self._rate = events_per_s
        self._level = 0.0
        self._last_ns = 0

    def take(self, events: int, now_ns: int) -> bool:
        """Count *events* at *now_ns* (steady); False once that is a flood."""
        leaked = self._rate * (now_ns - self._last_ns) / 1e9
        self._level = max(0.0, self._level - max(0.0, leaked)) + events
        self._last_ns = max(self._last_ns, now_ns)
        return self._level <= self._rate * BURST_S
