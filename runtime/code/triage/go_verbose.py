"""What `go test -v` prints of a test before its verdict, under headings that name the test."""

import re
from bisect import bisect_left
from collections.abc import Sequence

_HEADING = re.compile(r"=== (?:RUN|CONT|NAME) +(?P<name>\S+)$")
_ENDS = re.compile(r"=== |\s*--- (?:FAIL|PASS|SKIP|BENCH): |(?:PASS|FAIL|ok)\b|panic: ")
_MAX_LINES = 40  # the last ones
_MAX_HEADINGS = 8  # of one test: it has several where others ran beside it
_MAX_LOOKED = 400  # lines under one heading


class GoVerbose:
    """Where each test of a log speaks; a log of another kind has none."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._headings: dict[str, list[int]] = {}
        for i, text in enumerate(texts):
            found = _HEADING.match(text) if text.startswith("=== ") else None
            if found:
                self._headings.setdefault(found["name"], []).append(i)

    def told_by(self, name: str, before: int) -> list[int]:
        """Return the positions, before that of the verdict, of what the test *name* printed."""
        lines: list[int] = []
        headings = self._headings.get(name, [])
        last = bisect_left(headings, before)
        for heading in reversed(headings[max(0, last - _MAX_HEADINGS) : last]):
            told: list[int] = []
            for i in range(heading + 1, min(before, heading + _MAX_LOOKED)):
                if _ENDS.match(self._texts[i]):
                    break
                if self._texts[i].strip():
                    told.append(i)
            lines = told[-_MAX_LINES:] + lines
            if len(lines) >= _MAX_LINES or self._texts[heading].startswith("=== RUN"):
                break
        return lines[-_MAX_LINES:]
