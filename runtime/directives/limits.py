"""How long a directive may be, and how many marks may follow one letter.

Normalising a text sorts the combining marks behind each letter; beyond some dozens, that costs
the square of their number. Thirty in a row are the bound of the Stream-Safe Text Format (UAX #15),
which no language comes near.
"""

from itertools import groupby
from typing import Final
from unicodedata import combining

MOST_CHARACTERS: Final = 16_000  # of an operand, as it is written and as it is stored
MOST_OF_TEXT: Final = 65_536  # characters; two quoted operands of which each character is escaped
MOST_MARKS: Final = 30  # combining marks in a row

# Marks that decompose into two marks, though `combining` gives 0 or counts them once.
_DOUBLE: Final = frozenset("\u0344\u0f73\u0f75\u0f81")
LIMITS: Final = (
    f"An operand may have {MOST_CHARACTERS:,} characters, the whole text {MOST_OF_TEXT:,}, and "
    f"{MOST_MARKS} combining marks may follow one another."
)


def text_is_over_limit(text: str) -> bool:
    """Whether *text* is too long to be read as a directive, or has too many marks in a row."""
    return len(text) > MOST_OF_TEXT or _has_many_marks(text)


def is_over_limit(operand: str) -> bool:
    """Whether *operand* is too long to be stored, or has too many marks in a row."""
    return len(operand) > MOST_CHARACTERS or _has_many_marks(operand)


def _has_many_marks(text: str) -> bool:
    if text.isascii() or not (any(map(combining, text)) or not _DOUBLE.isdisjoint(text)):
        return False
    return any(
        is_mark and sum(2 if each in _DOUBLE else 1 for each in run) > MOST_MARKS
        for is_mark, run in groupby(text, _is_mark)
    )


def _is_mark(character: str) -> bool:
    return combining(character) != 0 or character in _DOUBLE
