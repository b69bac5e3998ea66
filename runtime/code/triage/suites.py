"""Verdicts on a group of tests: what failed in it is reported of the tests themselves."""

# ruff: noqa: RUF001  # the very marks that tools print

import re
from collections.abc import Sequence

from .rules import Hit

_HEADING = "▶ "  # how Node's spec reporter opens a group
_TIME = re.compile(r" \(\d[\d.]*m?s\)$")
_SUBTESTS_FAILED = re.compile(r"\s*failureType: ['\"]?subtestsFailed")
_ENDS_DETAILS = "..."
_MAX_DETAILS = 12  # lines of a TAP verdict in which its type stands
_MARKS = ("✖", "✔", "▶", "ℹ", "﹣")


class Suites:
    """Knows the groups of a log; a log of another runner has none."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._names = {
            _TIME.sub("", text.strip().removeprefix(_HEADING))
            for text in texts
            if _HEADING in text and text.lstrip().startswith(_HEADING)
        }

    def is_of(self, hit: Hit) -> bool:
        """Return whether *hit* is the verdict on a group that says nothing of its own."""
        if hit.rule.framework == "tap":
            return self._has_failing_subtests(hit.index)
        return (
            hit.rule.framework == "javascript"
            and hit.title in self._names
            and not self._has_a_reason(hit.index)
        )

    def _has_failing_subtests(self, index: int) -> bool:
        for text in self._texts[index + 1 : index + 1 + _MAX_DETAILS]:
            if _SUBTESTS_FAILED.match(text):
                return True
            if text.strip() == _ENDS_DETAILS:
                return False
        return False

    def _has_a_reason(self, index: int) -> bool:
        below = "".join(self._texts[index + 1 : index + 2])
        deeper = len(below) - len(below.lstrip()) > _indent(self._texts[index])
        return deeper and not below.lstrip().startswith(_MARKS)


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())
