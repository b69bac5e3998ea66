"""How what is known fades: by its age and by how seldom it is used; it never leaves by that. Pure.

    freshness = 0.9 + 0.1 x 0.5 ^ (days / (180 x (1 + log2(1 + uses))))

`days` have passed since it was so or was last in a prompt; `uses` is how many prompts had it. So
what was never used is half-way down after 180 days, and what was used three times after 540. The
least is `FRESH_FLOOR`: of two memories that fit a question equally the fresher comes first, and a
better one is seldom passed by.
"""

import math
from typing import Final

FRESH_FLOOR: Final = 0.9
HALF_LIFE_DAYS: Final = 180.0


def freshness(days: float, uses: int) -> float:
    """From 1, for what is of now, down to `FRESH_FLOOR`; a time to come counts as now."""
    half_life = HALF_LIFE_DAYS * (1 + math.log2(1 + max(uses, 0)))
    return FRESH_FLOOR + (1 - FRESH_FLOOR) * float(0.5 ** (max(days, 0.0) / half_life))
