"""Shapes of lines without their numbers: how often each was seen, and how loudly it speaks."""

import math
import re
from collections import Counter
from collections.abc import Iterable

from .signals import alarm_strength, ends_of, has_cue, strength

MAX_TEMPLATES = 65_536  # about 12 MB; a shape that comes after them counts as common
_SHAPE_CHARS = 160
_END_CHARS = 40  # the end of a long line may say something else than that of its likes
_VARIABLE = re.compile(r"0x[0-9a-fA-F]+|\b[0-9a-f]{7,}\b|\d+")
_MAX_KNOWN = 30_000  # shapes judged with care; of the lines after them only alarms are heard


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


class Loudness:
    """Judges lines and counts the shapes of those that say anything."""

    def __init__(self) -> None:
        self.counts = TemplateCounts()
        self._known: dict[str, float] = {}

    def hear(self, text: str, times: int = 1, *, closely: bool = False) -> tuple[float, str]:
        """Return the strength of *text* and its shape; the shape of a line without any is empty.

        Equal lines may be heard at once, with how many *times* they were there. What is heard
        *closely* is judged with care in the longest of logs too.
        """
        text = ends_of(text)
        full = len(self._known) >= _MAX_KNOWN and not closely
        alarm = alarm_strength(text) if full else 0.0
        if not (alarm if full else has_cue(text)):
            return 0.0, ""
        shape = self.counts.add(text, times)
        loud = self._known.get(shape)
        if loud is not None:
            return loud, shape
        if full:
            return alarm, shape
        loud = strength(text)
        if len(self._known) < _MAX_KNOWN:
            self._known[shape] = loud
        return loud, shape
