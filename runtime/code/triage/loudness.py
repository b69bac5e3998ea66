"""How loudly each line of a log speaks, remembered by shape: a log repeats itself."""

from .signals import alarm_strength, ends_of, has_cue, strength
from .templates import TemplateCounts

_MAX_KNOWN = 30_000  # shapes judged with care; of the lines after them only alarms are heard


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
