"""What is due: by counts of what was recorded, never by a clock."""

from msgspec import Struct

from .generations import OLDEST
from .policy import HeapPolicy


class Counts(Struct, kw_only=True):
    """What a heap has counted."""

    number: int = 0  # of the last recorded collection; each part counts
    allocations: int = 0  # since the last whole collection
    minors: int = 0  # collections of generation 0 alone, since one of an older one
    middles: int = 0  # of generation 1, since one of generation 2
    whole: tuple[int, int, int] = (0, 0, 0)  # whole collections ever, by generation

    def ended(self, generation: int) -> None:
        """A whole collection of *generation* is recorded."""
        self.allocations = 0
        self.minors = self.minors + 1 if generation == 0 else 0
        if generation > 0:
            self.middles = self.middles + 1 if generation < OLDEST else 0
        young, middle, old = self.whole
        self.whole = (
            young + (generation == 0),
            middle + (generation == 1),
            old + (generation == OLDEST),
        )


def due(counts: Counts, policy: HeapPolicy) -> int | None:
    """The generation whose collection is due; None if none is."""
    if counts.allocations < policy.allocations:
        return None
    if counts.minors < policy.minors:
        return 0
    return 1 if counts.middles < policy.middles else OLDEST
