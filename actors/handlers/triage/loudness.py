"""How loudly each line of a log speaks, remembered by shape: a log repeats itself."""

from .signals import has_cue, strength
from .templates import MAX_TEMPLATES, SHAPE_CHARS, TemplateCounts


class Loudness:
    """Judges lines and counts the shapes of those that say anything."""

    def __init__(self) -> None:
        self.counts = TemplateCounts()
        self._known: dict[str, float] = {}

    def hear(self, text: str) -> tuple[float, str]:
        """Return the strength of *text* and its shape; the shape of a line without any is empty."""
        if not has_cue(text):
            return 0.0, ""
        shape = self.counts.add(text)
        if len(text) > SHAPE_CHARS:  # its end may say something else than that of its likes
            return strength(text), shape
        loud = self._known.get(shape)
        if loud is None:
            loud = strength(text)
            if len(self._known) < MAX_TEMPLATES:
                self._known[shape] = loud
        return loud, shape
