"""How loudly one line says that something went wrong, whatever wrote it.

Searching for a substring is ten times faster than searching for a pattern, so every pattern here
stands behind a substring and is tried only where that occurs.
"""

# ruff: noqa: RUF001  # the very marks that tools print

import re

_MAX_CHARS = 400  # longer lines are judged by their beginning and their end
_HEAD_CHARS, _TAIL_CHARS = 300, 100

_CUES = (
    "error", "fail", "exception", "traceback", "assert", "expect", "fatal", "panic", "undefined",
    "cannot", "can't", "couldn", "could not", "unable to", "not found", "no such", "timed out",
    "timeout", "time-out", "exit", "killed", "abort", "segmentation", "core dumped", "crash",
    "denied", "not ok", "refused", "unresolved", "conflict", "invalid", "missing", "mismatch",
    "violation", "deadlock", "out of memory", "overflow", "corrupt", "broken", "unhandled",
    "uncaught", "rejected", "illegal", "sigsegv", "sigkill", "sigbus", "cancel", "terminated",
    "would reformat", "differ", "non-zero", "unsatisf", "unrecogni", "unknown", "forbidden",
    "unauthorized", "too many", "no space", "exceeded", "interrupted", "goroutine", "leak",
    "caused by", " died", "not recognized", "wstat", "maximum", "unsuccessful",
    "testcase: ",
    "wrong", "problem", "giving up", "stopped", " bad ", "fault", "unreachable", "unavailable",
    "incompatible", "malformed", "severe", "hung", "stuck", " stdout ----", "disagree", "not equal",
)  # fmt: skip
_MARKS = re.compile("[✕✗✖✘×●❌🚨💥⨯❯›─│»]")
_SHAPE = re.compile(  # what tests and linters print without any such word
    r"_+ \S|\s{0,12}\d{1,4}\) \S|E  |\[-\] |e: |==> X|\s+\d+:\d+\s|\s+X |cucumber |rspec "
    r"|\s*(?:MethodSource \[|JUnit \w)|.{1,200}\.(?:t|pm|pl) line \d"
    r"|.{1,200}:\d+:(?:\d+:)? \S|.{1,200}\(\d+,\d+\): |.{1,200}\[X\]|.{1,60} \[E\]|.{0,40}#test_"
    r"|Diff in |In \S+ line \d|[\w:]+#test|make(?:\[\d+\])?: \*\*\*|\S+\.md:\d+ "
)

_Gate = tuple[str, re.Pattern[str] | None]


def _gates(*pairs: str | tuple[str, str]) -> tuple[_Gate, ...]:
    return tuple((p, None) if isinstance(p, str) else (p[0], re.compile(p[1])) for p in pairs)


_SHOUT = _gates("TEST-UNEXPECTED", "PROCESS-CRASH", "##[error]", "*** ", "... FAILED", "!!!")
_LOUD = (
    *_SHOUT,
    *_gates(
        "::error", "Traceback (most recent", "panicked at", "Segmentation fault", "Sanitizer: ",
        "core dumped", "SIGSEGV", "SIGABRT", "OutOfMemory", "out of memory", "timed out after",
        ("panic: ", r"^panic: "), ("FAIL", r"\bFAIL(?:ED)?\b"), ("not ok", r"^\s*not ok\b"),
        ("fatal", r"\bfatal\b"), ("FATAL", r"\bFATAL\b"), ("CRITICAL", r"\bCRITICAL\b"),
        ("rror", r"^\s*[Ee]rror\b|^\S+:\d+(?::\d+)?: (?:fatal )?error\b"),
        ("error", r"error(?:\[| [A-Z]{1,6}\d+)"),
        ("ERROR", r"^\W*ERROR\b"), ("E  ", r"^E  "), ("Killed", r"Killed$"),
        ("PANIC", r"\bPANIC\b"),
    ),
)  # fmt: skip
_CLEAR = _gates(
    ("rror", r"\bError\b|\wError\b|\berror: "), ("ERROR", r"\bERROR\b"),
    ("xception", r"Exception\b"),
    ("ail", r"\bFail(?:ed|ures?|ing)\b|\bfailed\b"), ("FAIL", r"\bFAILURES?\b"),
    ("xpected", r"[Ee]xpected .{0,200}?(?:got|but|actual|received)"),
    "not found", "cannot find", "undefined reference", "imed out", "No such file", "exit code",
    "exit status", "exited with", "denied", "unexpected", "Assertion", "Caused by",
)  # fmt: skip
_NOTHING_WRONG = r"\b(?:errors?|failures?|failed|fail|broken)\b['\"]?\s*[:=]\s*"
_BUSY = (
    r"^(?:unpacking|setting up|selecting previously|preparing to|collecting|downloading"
    r"|installing|using cached|receiving objects|creating|copying|adding)\b"
)
_BENIGN = _gates(
    (" error", r"\b(?:0|no|without) (?:\w+ )?errors?\b|[: ]errors? (?:count|rate|handl)"),
    ("fail", r"\b(?:0|no|without|of) (?:\w+ )?fail(?:ed|ures?|ing)\b|\b0 fail"),
    (" 0", _NOTHING_WRONG + r"0\b"), ("false", _NOTHING_WRONG + "false"),
    ("null", _NOTHING_WRONG + "null"), ("ok", r"\.{2,} ?ok\b|^\s*ok\b|\[ *ok *\]"),
    ("pass", r"^\s*pass(?:ed)?\b|\bpassed\b|pass(?:ed)? *$"),
    ("skip", r"^\s*skip(?:ped|ping)?\b|\bskipped *$"),
    ("✓", r"^\s*✓"), ("√", r"^\s*√"), ("✔", r"^\s*✔"),
    ("-werror", r"(?<!\[)-werror"), ("exit", r"\bexit(?:ed)?(?: with)?(?: code| status)?[:= ]+0\b"),
    ("subtest", r"\d+ subtests? failed"), ("#", r"^# (?:x?fail|x?pass|total|skip|error): +\d"),
    ("\"", r"^\s*\"\w+\": (?:\"\"|\[\]|\{\}|0|null|false),?$"),  # a result that names no failure
    "mvn <args>", "compilation error :",
    "[help 1]", "re-run maven", "to see the full stack trace of the errors", "please refer to",
    "for more information about the errors", "after correcting the problems",
    "error-prone", "error-handl", "errorhandl", "error_handl", "errorprone",
    "continue-on-error", "fail-fast", "failfast", "if-no-files", "xfail", "expected fail",
    "expected-fail", "known-fail", "known fail", "test-pass", "test-ok", "test-start",
    "test-known", "test-info", "test-skip", "if: failure()", "on-failure", "if: always",
    "retry", "deprecat", "will be ignored", "(ignored)", "non-fatal", "allowed to fail",
    "maxbuffer", ("warn", r"\bwarn(?:ing)?\b"), ("--", r"--[\w-]*(?:fail|error|exit)"),
    ("debug", r"^\s*[\[#<]*debug"), ("at ", r"^\s*at "), ("#", r"^\s*#\d+ +0x"),
    ("|", r"^\s*\d+ ?\|"), ("ing", _BUSY), ("ed", r"^(?:requirement already|fetched|added)\b"),
    ("get:", r"^get:\d"),
)  # fmt: skip

_ALARMS = ("FAIL", "rror: ", "Traceback (most", "panic", "##[error]", "TEST-UNEXPECTED", "fatal")
STRENGTH_MAX = 3.0
_LOUD_STRENGTH, _CLEAR_STRENGTH, _CUE_STRENGTH = 3.0, 2.0, 1.0
SHAPE_STRENGTH = 0.5  # below it no rule needs to be tried
_BENIGN_FACTOR = 0.2


def has_cue(text: str) -> bool:
    """Return whether *text*, no longer than `ends_of` gives, is worth a closer look.

    One line in ten of a usual log is.
    """
    return _is_spoken(text.lower()) or _is_shaped(text)


def strength(text: str) -> float:
    """Return from 0.0 (says nothing) to ``STRENGTH_MAX`` how loudly *text* reports a failure."""
    text = ends_of(text)
    low = text.lower()
    shaped = _is_shaped(text)
    if not _is_spoken(low):
        return SHAPE_STRENGTH if shaped else 0.0
    value = _LOUD_STRENGTH if _any(_LOUD, text) else 0.0
    value = value or (_CLEAR_STRENGTH if _any(_CLEAR, text) else _CUE_STRENGTH)
    if _any(_BENIGN, low) and not _any(_SHOUT, text):
        value *= _BENIGN_FACTOR
    return max(value, SHAPE_STRENGTH) if shaped else value


def alarm_strength(text: str) -> float:
    """Return a guess at the strength of a line, for logs with too many to judge each of them."""
    for word in _ALARMS:
        if word in text:
            return _LOUD_STRENGTH
    return 0.0


def ends_of(text: str) -> str:
    """Return the beginning and the end of a long line, by which it is judged."""
    return text if len(text) <= _MAX_CHARS else text[:_HEAD_CHARS] + text[-_TAIL_CHARS:]


def _is_spoken(low: str) -> bool:
    for cue in _CUES:  # noqa: SIM110  # a generator costs four times the search
        if cue in low:
            return True
    return False


def _is_shaped(text: str) -> bool:
    if _SHAPE.match(text):
        return True
    return not text.isascii() and _MARKS.search(text) is not None


def _any(gates: tuple[_Gate, ...], text: str) -> bool:
    for needle, pattern in gates:
        if needle in text and (pattern is None or pattern.search(text)):
            return True
    return False
