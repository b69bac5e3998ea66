"""What a run of tests said: what failed, and the lines that tell most; pure."""

import os
import re
from pathlib import Path

import msgspec

from ..triage import Finding, analyse, excerpt, parse_log, report_of

EXCERPT_CHARS = 12_000  # a few hundred lines
FAILED = 100  # names
_NONE_RAN = re.compile(r"^(?:Ran 0 tests in|(?:#|\u2139) tests 0$)", re.MULTILINE)
_SOME_RAN = re.compile(r"^(?:Ran [1-9]\d* tests? in|(?:#|\u2139) tests [1-9])", re.MULTILINE)
_SHOWN = 300  # characters of a message


class TestOutput(msgspec.Struct, frozen=True):
    """The output of a run, read."""

    failed: list[str]  # names of failing tests, the most telling first; else what else failed
    excerpt: str
    nothing: bool  # not one test was run, as unittest and node say it; others fail by themselves
    first: str  # the first failure in one line: its name, where it is, what it said


def read_output(output: bytes, root: Path) -> TestOutput:
    """Read what a run in *root* said; paths in it become relative."""
    text = output.decode(errors="replace")
    for folder in dict.fromkeys((str(root), os.path.realpath(root))):
        text = text.replace(f"{folder}/", "").replace(folder, ".")
    log = parse_log(text, source="the tests")
    analysis = analyse(log)
    findings = report_of(log, analysis).findings
    tests = [each for each in findings if each.kind == "failing_test"]
    return TestOutput(
        failed=[each.title for each in (tests or findings)[:FAILED]],
        excerpt=excerpt(log, EXCERPT_CHARS, len, analysis).text(),
        nothing=bool(_NONE_RAN.search(text)) and not _SOME_RAN.search(text),
        first=_line(findings[0]) if findings else _last(text),
    )


def _line(finding: Finding) -> str:
    own = [each for each in finding.references if not each.library]
    place = f" ({own[0].path}:{own[0].line})" if own else ""
    said = " | ".join(line.strip() for line in finding.message.splitlines()[:2])
    return f"{finding.title[:_SHOWN]}{place}{f': {said[:_SHOWN]}' if said else ''}"


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:_SHOWN] if lines else "it said nothing"
