"""The dice of a simulation: what strikes when, as long as faults last."""

import random

from .faults import Faults
from .timeline import MS, SECOND_NS, Timeline

LATENCY_NS = 2 * MS
STRAY_NS = 6 * SECOND_NS
STALL_NS = 3 * SECOND_NS  # the longest that a disk stands still
CUT_NS = 8 * SECOND_NS  # the longest that a client is cut off


class Weather:
    """Draws every chance of a schedule from one seed; after `lasting_s` nothing strikes."""

    def __init__(self, faults: Faults, chance: random.Random, time: Timeline) -> None:
        self.faults, self.chance, self._time = faults, chance, time
        self._calm_ns = time.now_ns() + int(faults.lasting_s * SECOND_NS)
        self._stalled_ns = 0  # until then no write ends

    def calm(self) -> bool:
        """Whether faults are over."""
        return self._time.now_ns() >= self._calm_ns

    def strikes(self, often: float) -> bool:
        """Whether a fault of that chance happens now."""
        return bool(often) and not self.calm() and self.chance.random() < often

    def up_to(self, most_ns: int) -> int:
        """Some time."""
        return self.chance.randrange(most_ns + 1)

    def latency_ns(self) -> int:
        """How long a message travels."""
        return 1 + int(self.chance.random() * LATENCY_NS)

    def disk_ns(self) -> int:
        """How long a write takes."""
        stalled_ns = max(0, self._stalled_ns - self._time.now_ns())
        return 1 + stalled_ns + int(self.chance.random() * self.faults.disk_s * SECOND_NS)

    def stall(self) -> None:
        """Let the disk stand still for a while."""
        self._stalled_ns = self._before_calm_ns(STALL_NS)

    def cut_until_ns(self) -> int:
        """How long a client that is cut off now stays so."""
        return self._before_calm_ns(CUT_NS)

    def _before_calm_ns(self, most_ns: int) -> int:
        return min(self._time.now_ns() + self.up_to(most_ns), self._calm_ns)

    def arrivals_ns(self) -> list[int]:
        """When a message arrives: not at all, once, or again later."""
        if self.calm():
            return [self.latency_ns()]
        faults = self.faults
        arrivals = [] if self.strikes(faults.drop) else [self._travel_ns()]
        if self.strikes(faults.duplicate):
            arrivals.append(self._travel_ns() + self.up_to(STRAY_NS))
        return arrivals

    def _travel_ns(self) -> int:
        stray_ns = self.up_to(STRAY_NS) if self.strikes(self.faults.stray) else 0
        return self.latency_ns() + stray_ns

    def wait_ns(self, mean_s: float) -> int:
        """Until the next of something that happens every *mean_s* on average."""
        return int(self.chance.expovariate(1 / mean_s) * SECOND_NS)
