"""How long to wait between tries of what fails: pure, each user has figures of its own."""

import math

from msgspec import Struct


class Backoff(Struct, frozen=True):
    """A wait that grows with each failure in a row, up to the longest."""

    first_s: float  # after the first failure
    longest_s: float
    factor: float = 2.0  # from one wait to the next
    forgiven_s: float = math.inf  # what worked for so long is forgiven its earlier failures

    def after_s(self, failures: int) -> float:
        """Seconds to wait after so many failures in a row, counted from 1."""
        wait_s = self.first_s
        for _ in range(failures - 1):  # not a power, which overflows long before the ceiling
            if wait_s >= self.longest_s:
                break
            wait_s *= self.factor
        return min(wait_s, self.longest_s)

    def after_ns(self, failures: int) -> int:
        """The same in nanoseconds."""
        return round(self.after_s(failures) * 1e9)

    def failures(self, before: int, worked_s: float = 0.0) -> int:
        """Failures in a row with one that came after *worked_s*, where there were *before*."""
        return 1 if worked_s >= self.forgiven_s else before + 1
