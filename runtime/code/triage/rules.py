"""What a rule is, and how one line is matched against all of them."""

import re
from functools import cache
from typing import Literal

import msgspec

Kind = Literal[
    "failing_test", "crash", "timeout", "compile_error", "lint", "error", "failing_command"
]
Shape = Literal[
    "indent",  # what follows belongs to it while indented deeper, or until two blank lines
    "section",  # ... until the next ruler or heading
    "trace",  # ... and the first line after that, which says why
    "before",  # what belongs to it stands above, from where the test began
    "short",  # ... the quoted source under a compiler's message
    "line",  # nothing
]


_MAX_CHARS = 1_000  # longer lines are matched by their beginning and their end
_HEAD_CHARS, _TAIL_CHARS = 800, 200
# Substrings of needles; without one in a line, the needles that hold it need not be looked for.
_GUARDS = (
    "FAIL", "rror", "ERR", "ail", "[", "exit", "ime", "*", " > ", "<", ")", "ound", "emory", "SIG",
    "nde", "top", "ode", "not ", ": ", " :", ".", "_", "#", "- ", "S", "X", "ed", "",
)  # fmt: skip


class FailureRule(msgspec.Struct, frozen=True):
    """One way in which one tool announces one kind of failure."""

    kind: Kind
    framework: str
    needles: tuple[str, ...]  # one of them is in the line, or the pattern is not tried
    pattern: str  # groups: t(itle), m(essage)
    shape: Shape
    weight: float  # 0..1: how much a line like this matters on its own

    def fits(self, text: str) -> bool:
        """Return whether this rule knows *text*, whatever others say of it."""
        text = _bounded(text)
        return any(n in text for n in self.needles) and self.match(text) is not None

    def match(self, text: str) -> re.Match[str] | None:
        """Match its pattern from the beginning of *text*."""
        return _compiled(self.pattern).match(text)


class Hit(msgspec.Struct, frozen=True):
    """A line that a rule matched."""

    index: int
    rule: FailureRule
    title: str
    message: str


def rule(
    kind: Kind,
    framework: str,
    needles: str | tuple[str, ...],
    pattern: str,
    shape: Shape = "line",
    weight: float = 1.0,
) -> FailureRule:
    """Return a rule; a pattern starts at the beginning of the line."""
    wanted = (needles,) if isinstance(needles, str) else needles
    return FailureRule(kind, framework, wanted, pattern, shape, weight)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # When a line first needs it: all of them together would cost every start 0.1 s.
    return re.compile(pattern)


def _bounded(text: str) -> str:
    return text if len(text) <= _MAX_CHARS else text[:_HEAD_CHARS] + text[-_TAIL_CHARS:]


class RuleBook:
    """Many rules, tried in order of precedence where one of their needles occurs."""

    def __init__(self, rules: tuple[FailureRule, ...]) -> None:
        self._rules = rules
        by_needle: dict[str, list[int]] = {}
        for number, each in enumerate(rules):
            for needle in each.needles:
                by_needle.setdefault(needle, []).append(number)
        groups: dict[str, list[tuple[str, list[int]]]] = {guard: [] for guard in _GUARDS}
        for needle, numbers in by_needle.items():
            guard = next(guard for guard in _GUARDS if guard in needle)
            groups[guard].append((needle, numbers))
        self._groups = tuple(groups.items())

    def match(self, index: int, text: str) -> Hit | None:
        """Return the hit of the first rule that *text* fits, if any does."""
        text = _bounded(text)
        near: set[int] = set()
        for guard, needles in self._groups:
            if guard in text:
                for needle, numbers in needles:
                    if needle in text:
                        near.update(numbers)
        for number in sorted(near):
            found = self._rules[number].match(text)
            if found:
                named = found.groupdict()
                title = (named.get("t") or text).strip()
                return Hit(index, self._rules[number], title, (named.get("m") or "").strip())
        return None
