"""Whether a memory can answer a question: by what it knows of its words, and whose memory it is.

The likeness of what was found says little: what cannot be answered is asked in the words of what
was said. That the rarest words of the question occur nowhere says more; and a memory of what
somebody said knows more of that person than of anything else.
"""

import math
from typing import Final

from .reading import read

KNOWN: Final = 9.5  # the same as in retrieval/certainty.py, where nothing but words is known
OWN: Final = 1.0  # that the question is about who asks
BIAS: Final = -8.0


def answerable(question: str, known: float) -> float:
    """From 0 to 1, that the memory of who asks answers *question*.

    Args:
        question: In natural language.
        known: Share of its words, by rarity, that the memory has: `evidence.known` of a ranking.
    """
    x = BIAS + KNOWN * known + OWN * read(question).first_person
    return round(1 / (1 + math.exp(-x)), 4)
