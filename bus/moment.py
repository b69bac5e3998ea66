"""Where a moment is in a log."""

from .event import decode
from .log import Log


def last_before(log: Log, head: int, time_ns: int) -> int:
    """Position of the last event before *time_ns*; times never go back in a log."""
    low, high = 0, head
    while low < high:
        middle = (low + high + 1) // 2
        if decode(log.read(middle - 1, 1, 1)[0]).time_ns < time_ns:
            low = middle
        else:
            high = middle - 1
    return low
