"""How often an artefact is used, with ageing: a use counts half as much after each half-life.

The heat of an artefact is a moment: that at which one single use would weigh as much as all its
uses do. So a heat changes with a use alone, and the order of two heats never with time. An artefact
that was used twice as often as another is one half-life ahead of it.
"""

import math
from typing import Final

HALF_LIVES: Final = 4  # in a window: 7.5 days of the default 30


def half_life_ns(window_ns: int) -> int:
    """The half-life of a use, for a window."""
    return max(1, window_ns // HALF_LIVES)


def heated(heat_ns: float, used_ns: int, uses: int, half_life_ns: int) -> float:
    """The heat after *uses* more at *used_ns*; a heat of 0 is that of nothing."""
    more = used_ns + half_life_ns * math.log2(uses)
    if not heat_ns:
        return more
    apart = abs(heat_ns - more) / half_life_ns
    return max(heat_ns, more) + half_life_ns * math.log2(1.0 + 2.0**-apart)
