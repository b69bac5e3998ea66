"""The shape of a line without its numbers, and how often each shape was seen."""

import math
import re
from collections import Counter
from collections.abc import Iterable

MAX_TEMPLATES = 65_536  # about 12 MB; a shape that comes after them counts as common
SHAPE_CHARS = 160
_VARIABLE = re.compile(r"0x[0-9a-fA-F]+|\b[0-9a-f]{7,}\b|\d+")


def template(text: str) -> str:
    """Return *text* with every number, address and digest replaced by ``#``."""
    return _VARIABLE.sub("#", text[:SHAPE_CHARS])


class TemplateCounts:
    """How often each shape occurs; bounded, so that no log can fill the memory."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._seen: Counter[str] = Counter()
        self._total = 0
        for text in texts:
            self.add(text)

    def add(self, text: str) -> str:
        """Count one line and return its shape."""
        self._total += 1
        shape = template(text)
        if shape in self._seen or len(self._seen) < MAX_TEMPLATES:
            self._seen[shape] += 1
        return shape

    def count(self, text: str) -> int:
        """Return how many lines had the shape of *text*."""
        return self._seen.get(template(text), 0) or (1 if self._fits() else self._total)

    def rarity(self, text: str) -> float:
        """Return 1.0 for a shape seen once, towards 0.0 the more common it is."""
        seen = self.count(text)
        return 1.0 - math.log(seen) / math.log(self._total + 1) if seen > 1 else 1.0

    def _fits(self) -> bool:
        return len(self._seen) < MAX_TEMPLATES
