"""Where one stack trace ends and the next begins, and which of a chain is the root cause."""

import re
from typing import Literal

# How a trace is tied to the one before: "wraps" means the earlier one is nearer to the root cause.
Link = Literal["none", "wraps", "caused"]

_WRAPS = re.compile(
    r"The above exception was the direct cause|--- End of (?:inner exception|stack trace from prev)"
    r"|^Next \S|^\s*Suppressed: |^(?:freed|previously allocated) by "
    r"|^==\d+==\s+(?:Address 0x|Block was)"
    r"|^Previous (?:write|read) at"
)
_CAUSED = re.compile(
    r"During handling of the above exception|^\s*Caused by:|\[cause\]: |^\s*\+[-+]+ 1 -+$"
)
_GOROUTINE = re.compile(r"^goroutine \d+ ")
_PANIC = re.compile(r"^panic: |^fatal error: ")
_HEADER = re.compile(
    r"^[\s|+-]*(?:Exception Group )?Traceback \(most recent call last|^_{3,} .+ _{3,}$|^={12,}"
    r"|^Exception in thread|^thread '.*panicked at|^\s*--- FAIL: |^\s*[●✕\u00d7] |^\s*\d+\) \S"
    r"|^==\d+==\s*ERROR|^-{4} .+ stdout -{4}$|^WARNING: DATA RACE|^Thread \d+ "
    r"|^Unhandled exception\b"
)
_LOG_NOISE = re.compile(r"\b(?:WARN|WARNING|INFO|DEBUG|TRACE)\b|Warning: ")
_UNHANDLED = re.compile(
    r"\b(?:fatal|uncaught|unhandled|panic|error)\b|Exception in thread", re.IGNORECASE
)
_NO_EXCEPTION = re.compile(r"^\s*(?:$|stack backtrace:|Stack trace:|note: |\.{3} )")

# Other lines that may stand between two frames of one trace.
_GAP_LINES = {"python": 10_000, "rust": 60, "javascript": 6}
_GAP_LINES_ELSE = 3


class TraceCounter:
    """Numbers the traces of a log while it is read line by line.

    A chain is a group of traces that explain one another: an exception, its cause, its wrappers.
    """

    def __init__(self) -> None:
        self.reversed_trace = False  # the interpreter says "most recent call last"
        self._links: list[tuple[int, Link]] = []  # by trace: its chain, its tie to the trace before
        self._pending: Link = "none"
        self._fresh = True
        self._last_at = 0
        self._language = ""
        self._goroutines = 0

    def see(self, line: str) -> None:
        """Take note of a line that holds no frame."""
        if _WRAPS.search(line):
            self._pending, self._fresh = "wraps", True
        elif _CAUSED.search(line):
            self._pending, self._fresh = "caused", True
        elif _PANIC.match(line):
            self._goroutines, self._fresh = 0, True
        elif _GOROUTINE.match(line):
            self._goroutines += 1
            self._pending = "wraps" if self._goroutines > 1 else "none"
            self._fresh = True
        elif _HEADER.match(line):
            self._fresh = True
            self.reversed_trace = "most recent call last" in line

    def place(self, at: int, language: str) -> int:
        """Return the number of the trace that a frame on line *at* belongs to."""
        gap = at - self._last_at - 1
        too_far = gap > _GAP_LINES.get(language, _GAP_LINES_ELSE)
        if self._fresh or too_far or language != self._language:
            if too_far and not self._fresh:
                self.reversed_trace = False
            chain = self._links[-1][0] + (self._pending == "none") if self._links else 0
            self._links.append((chain, self._pending))
            self._pending, self._fresh, self._language = "none", False, language
        self._last_at = at
        return len(self._links) - 1

    def is_upwards(self, language: str) -> bool:
        """Whether the deepest frame of the present trace comes last."""
        return language == "python" or (language == "ruby" and self.reversed_trace)

    def chains(self) -> list[tuple[int, int]]:
        """Return for each trace its chain and its rank there, 0 for the root cause."""
        ordered: dict[int, list[int]] = {}
        for trace, (chain, link) in enumerate(self._links):
            members = ordered.setdefault(chain, [])
            members.insert(0 if link == "caused" else len(members), trace)
        return [(chain, ordered[chain].index(t)) for t, (chain, _) in enumerate(self._links)]


def is_handled(lines: list[str], at: int) -> bool:
    """Whether the line on which a trace begins, or one just above, was logged below error level."""
    if _UNHANDLED.search(lines[at]):
        return False
    return any(
        _LOG_NOISE.search(line) and "ERROR" not in line for line in lines[max(0, at - 2) : at + 1]
    )


def heading(lines: list[str], first: int) -> str:
    """Return the nearest line above *first* that can name an exception, or an empty string."""
    for line in reversed(lines[max(0, first - 6) : first]):
        if not _NO_EXCEPTION.match(line):
            return line.strip()
    return ""


def conclusion(lines: list[str], last: int) -> str:
    """Return the line below a Python trace that names its exception, or an empty string."""
    for line in lines[last + 1 : last + 12]:
        text = line.lstrip(" |+")
        if text and (line[:1] not in (" ", "|", "+") or "Error" in text.split(":", 1)[0]):
            return text.strip()
    return ""


def pytest_error(lines: list[str], first: int, last: int) -> str:
    """Return the first line that pytest marks with `E` in a trace's block, or an empty string."""
    said = ""
    for at, line in enumerate(lines[max(0, first - 60) : last + 9], start=max(0, first - 60)):
        if line.startswith(("____", "_ _ _", "====")):
            if at > last:
                break
            said = ""
        elif line.startswith("E  ") and not said:
            said = line[2:].strip()
    return said
