"""What runners of tests print around a test: headings, prefixes, verdicts on a group."""

# ruff: noqa: RUF001  # the very marks that tools print

import re
from bisect import bisect_left
from collections.abc import Sequence

from .rules import Hit

_HEADING = "▶ "  # how Node's spec reporter opens a group
_TIME = re.compile(r" \(\d[\d.]*m?s\)$")
_SUBTESTS_FAILED = re.compile(r"\s*failureType: ['\"]?subtestsFailed")
_ENDS_DETAILS = "..."
_MAX_DETAILS = 12  # lines of a TAP verdict in which its type stands
_MARKS = ("✖", "✔", "▶", "ℹ", "﹣")
_VERDICT = re.compile(r"\s*\d+/\d+ Test +#(?P<number>\d+): ")
_BOOKKEEPING = re.compile(r"\s*\d+: (?:Test command|Working Directory|Test timeout|Environment)\b")
_MAX_LINES = 40
_PREFIX = re.compile(
    r"\s{1,12}\[(?:java|exec|junitlauncher)\] ?"  # ant sets its tasks' names to the right
    r"|(?::[\w-]{1,60}){1,6}(?=/\S{1,300}\.\w{1,9}:\d)"  # Gradle: the task on the same line
    r"|#\d{1,4} \d{1,6}\.\d{1,3} "  # BuildKit: step and seconds
    r"|[A-Za-z][\w.-]{0,60}[-_]\d{1,4} {1,40}\| ?"  # compose: service and number
)
_MAX_CHARS = 400  # of a line, where a prefix and what it is known by stand
_GO_HEADING = re.compile(r"=== (?:RUN|CONT|NAME) +(?P<name>\S+)$")
_GO_ENDS = re.compile(r"=== |\s*--- (?:FAIL|PASS|SKIP|BENCH): |(?:PASS|FAIL|ok)\b|panic: ")
_MAX_GO_LINES = 40  # the last ones
_MAX_HEADINGS = 8  # of one test: it has several where others ran beside it
_MAX_LOOKED = 400  # lines under one heading


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


def printed_above(index: int, texts: Sequence[str]) -> list[int]:
    """Return the positions of what the test printed whose verdict stands at *index*."""
    found = _VERDICT.match(texts[index])
    if not found:
        return []
    mark = f"{found['number']}: "
    lines: list[int] = []
    for i in range(index - 1, max(-1, index - 1 - _MAX_LINES), -1):
        text = texts[i].lstrip()
        if text.startswith(mark) and not _BOOKKEEPING.match(text):
            lines.append(i)
        elif text:
            break
    return lines[::-1]


def bare(texts: Sequence[str]) -> Sequence[str]:
    """Return *texts* as the programs printed them; where no line has a prefix, the same object."""
    shorter = {i: cut for i, text in enumerate(texts) if (cut := _bare(text)) is not None}
    if not shorter:
        return texts
    return [shorter.get(i, text) for i, text in enumerate(texts)]


def _bare(text: str) -> str | None:
    if text[:1] not in "#: " and "| " not in text[:_MAX_CHARS]:
        return None
    found = _PREFIX.match(text[:_MAX_CHARS])
    return text[found.end() :] if found else None


class GoVerbose:
    """Where each test of a log speaks; a log of another kind has none."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._headings: dict[str, list[int]] = {}
        for i, text in enumerate(texts):
            found = _GO_HEADING.match(text) if text.startswith("=== ") else None
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
                if _GO_ENDS.match(self._texts[i]):
                    break
                if self._texts[i].strip():
                    told.append(i)
            lines = told[-_MAX_GO_LINES:] + lines
            if len(lines) >= _MAX_GO_LINES or self._texts[heading].startswith("=== RUN"):
                break
        return lines[-_MAX_GO_LINES:]
