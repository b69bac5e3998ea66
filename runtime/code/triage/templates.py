"""The shape of a line without its numbers, and how often each shape was seen."""

import math
import re
from collections import Counter
from collections.abc import Iterable

MAX_TEMPLATES = 65_536  # about 12 MB; a shape that comes after them counts as common
_SHAPE_CHARS = 160
_END_CHARS = 40  # the end of a long line may say something else than that of its likes
_VARIABLE = re.compile(r"0x[0-9a-fA-F]+|\b[0-9a-f]{7,}\b|\d+")


def template(text: str) -> str:
    """Return *text* with every number, address and digest replaced by ``#``."""
    if len(text) > _SHAPE_CHARS + _END_CHARS:
        text = f"{text[:_SHAPE_CHARS]} {text[-_END_CHARS:]}"
    return _VARIABLE.sub("#", text)


class TemplateCounts:
    """How often each shape occurs; bounded, so that no log can fill the memory."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._seen: Counter[str] = Counter()
        self._total = 0
        for text in texts:
            self.add(text)

    def add(self, text: str, times: int = 1) -> str:
        """Count one line, or so many equal ones, and return their shape."""
        self._total += times
        shape = template(text)
        if shape in self._seen or len(self._seen) < MAX_TEMPLATES:
            self._seen[shape] += times
        return shape

    def count(self, text: str) -> int:
        """Return how many lines had the shape of *text*."""
        return self._count(template(text))

    def rarity(self, text: str) -> float:
        """Return 1.0 for a shape seen once, towards 0.0 the more common it is."""
        return self.shape_rarity(template(text))

    def shape_rarity(self, shape: str) -> float:
        """Return the rarity of lines of *shape*."""
        seen = self._count(shape)
        return 1.0 - math.log(seen) / math.log(self._total + 1) if seen > 1 else 1.0

    def _count(self, shape: str) -> int:
        return self._seen.get(shape, 0) or (1 if self._fits() else self._total)

    def _fits(self) -> bool:
        return len(self._seen) < MAX_TEMPLATES
