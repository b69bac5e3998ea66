"""Logs in which thousands of lines announce failures: enough of each kind is looked at."""

from collections import Counter

from .rules import FailureRule, Hit

_MAX_EACH = 4_000  # lines of one rule that are told apart; a report lists far fewer
_MAX_ALL = 16_000
_MAX_SILENT = 30_000  # lines of distinct shapes that no rule knew
_ALARM = 3.0  # as loud as a line can be: looked at even then


class Flood:
    """Says which lines need no closer look, because enough of their like was looked at.

    A rule that has spoken `_MAX_EACH` times is asked first: what it knows is one more of the many.
    """

    def __init__(self) -> None:
        self._heard: Counter[int] = Counter()
        self._many: list[FailureRule] = []
        self._hits = self._silent = 0

    def knows(self, text: str) -> bool:
        """Return whether *text* is one more of what a rule has said often."""
        for rule in self._many:  # noqa: SIM110  # a generator costs more than most answers
            if rule.fits(text):
                return True
        return False

    def is_over(self, loud: float) -> bool:
        """Return whether enough was looked at for a line that is so *loud*."""
        return self._hits >= _MAX_ALL or (self._silent >= _MAX_SILENT and loud < _ALARM)

    def saw(self, hit: Hit | None) -> None:
        """Count what was looked at."""
        if hit is None:
            self._silent += 1
            return
        self._hits += 1
        self._heard[id(hit.rule)] += 1
        if self._heard[id(hit.rule)] == _MAX_EACH:
            self._many.append(hit.rule)
