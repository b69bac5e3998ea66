"""The report: what failed, best first, and the lines that prove it."""

import re
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from cortex.runtime.kernel import many

from .blocks import Reference, references
from .findings import Analysis, LoggedFailure, analyse
from .reader import Log
from .rules import Kind
from .steps import quoted_command

MAX_FINDINGS = 200
_MAX_EVIDENCE_LINES = 40  # of one finding
_MAX_REFERENCES = 12
_MAX_MESSAGE_CHARS = 1_000
_NAMES_ITS_TARGET = frozenset({"make", "ninja", "gradle", "maven", "tox"})
_PYTEST_MARK = re.compile(r"^E\s+(?=\S)")
_LEVEL = re.compile(r"^(?:\[ERROR\]\s+|=> |#\s+)(?=\S)")  # what stands before a reason and is none
_RUST = frozenset({"cargo", "rust"})
_PANICKED = re.compile(r"thread '[^']*' (?:\(\d+\) )?panicked at \S+:\d+:\d+:$")
_TAP_ERROR = re.compile(r"error: (?:\|-?|(?P<q>['\"]?)(?P<said>.*)(?P=q))$")
_CUT = "..."  # where the short summary of pytest had no room for more
_NAMED = 3  # failures that the summary names

Role = Literal["title", "message", "frame", "context"]


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """Consecutive lines of the log that belong to a finding."""

    first: int  # number of the first line in the log, counted from 1
    last: int  # number of the last line
    role: Role  # what the lines say of the failure
    text: str  # without escape codes and the time stamps of the CI service


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that went wrong."""

    kind: Kind
    framework: str  # that reported it, such as "pytest"
    title: str  # full name of the failing test, or the line that reports the failure
    message: str  # the reason that the log gives, or ""
    score: float  # higher: more likely to be the cause
    seen: int  # how many lines report it
    evidence: tuple[Evidence, ...]  # in the order of the log
    references: tuple[Reference, ...]  # the project's own files first

    def reason(self) -> str:
        """The first line of its message, with the next where that says what; "" without one."""
        first, *others = self.message.splitlines() or [""]
        return f"{first} {others[0]}" if others and first.endswith(":") else first


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a log says went wrong."""

    source: str
    summary: str
    failed_command: str | None
    findings: tuple[Finding, ...]  # best first
    lines: int
    size_bytes: int
    omitted_lines: int  # of an endless log, looked at and not kept
    tokens: int | None  # of the whole log, where it was counted


def triage(log: Log) -> Report:
    """Say what went wrong in *log*, best first; an empty or silent log gives no findings."""
    return report_of(log)


def report_of(log: Log, analysis: Analysis | None = None) -> Report:
    """Write the analysis of *log* down; one that is there already saves a second look."""
    analysis = analysis or analyse(log)
    findings = tuple(
        _finding(log, each, analysis.texts) for each in analysis.failures[:MAX_FINDINGS]
    )
    command = _failed_command(analysis, findings)
    return Report(
        source=log.source,
        summary=_summary(log, findings, command),
        failed_command=command,
        findings=findings,
        lines=log.lines,
        size_bytes=log.size_bytes,
        omitted_lines=log.omitted,
        tokens=log.tokens,
    )


def roles_of(failure: LoggedFailure) -> dict[int, Role]:
    """Return what each position of a failure's evidence is good for, the most telling first."""
    roles: dict[int, Role] = {}
    for block in failure.blocks:
        for role, positions in (
            ("title", block.title),
            ("message", block.messages),
            ("frame", block.frames),
        ):
            for i in positions:
                roles.setdefault(i, role)  # type: ignore[arg-type]  # the table's names are roles
    for block in failure.blocks:
        for i in block.rest:
            roles.setdefault(i, "context")
    return roles


def _finding(log: Log, failure: LoggedFailure, texts: Sequence[str]) -> Finding:
    roles = dict(list(roles_of(failure).items())[:_MAX_EVIDENCE_LINES])
    return Finding(
        kind=failure.hit.rule.kind,
        framework=failure.hit.rule.framework,
        title=failure.hit.title,
        message=_message(texts, failure),
        score=round(failure.score, 4),
        seen=failure.seen,
        evidence=tuple(_evidence(log, roles)),
        references=_references(texts, roles),
    )


def _evidence(log: Log, roles: dict[int, Role]) -> Iterable[Evidence]:
    run: list[int] = []
    for i in [*sorted(roles), -1]:
        if run and (
            i < 0 or roles[i] != roles[run[-1]] or log.numbers[i] != log.numbers[run[-1]] + 1
        ):
            yield Evidence(
                first=log.numbers[run[0]],
                last=log.numbers[run[-1]],
                role=roles[run[0]],
                text="\n".join(log.texts[j] for j in run),
            )
            run = []
        run.append(i)


def _message(texts: Sequence[str], failure: LoggedFailure) -> str:
    said = failure.hit.message
    lines = [_LEVEL.sub("", texts[i].strip()) for block in failure.blocks for i in block.messages]
    if failure.hit.rule.framework == "pytest":
        lines = [_PYTEST_MARK.sub("", line) for line in lines]
        said = _uncut(said, lines)
    if failure.hit.rule.framework == "tap":
        lines = [_TAP_ERROR.sub(r"\g<said>", line) for line in lines]
    if failure.hit.rule.framework in _RUST:  # where it panicked is a reference
        lines = [line for line in lines if not _PANICKED.match(line)] or lines
    if failure.hit.rule.framework == "go":  # what was recovered is thrown, and told, again
        lines = [line for line in lines if f"{line} [recovered]" not in lines]
    told = dict.fromkeys([said, *lines])
    return "\n".join(line for line in told if line and line not in failure.hit.title)[
        :_MAX_MESSAGE_CHARS
    ]


def _uncut(said: str, lines: Sequence[str]) -> str:
    """Return the line that the summary had no room for, where *said* is cut and a line goes on."""
    if not said.endswith(_CUT):
        return said
    begun = said.removesuffix(_CUT)
    return next((line for line in lines if line.startswith(begun) and line != said), said)


def _references(texts: Sequence[str], roles: dict[int, Role]) -> tuple[Reference, ...]:
    found = dict.fromkeys(ref for i in roles for ref in references(texts[i]))
    return tuple(sorted(found, key=lambda ref: ref.library)[:_MAX_REFERENCES])


def _failed_command(analysis: Analysis, findings: Sequence[Finding]) -> str | None:
    commands = [step.command for step in analysis.steps if step.command]
    if commands:
        return commands[-1]
    for finding in findings:
        if finding.kind == "failing_command":
            quoted = quoted_command(finding.title)
            if quoted or finding.framework in _NAMES_ITS_TARGET:
                return quoted or finding.title
    return None


def _summary(log: Log, findings: Sequence[Finding], command: str | None) -> str:
    if not any(text.strip() for text in log.texts):
        return "The log is empty: the step wrote nothing, or its output was not captured."
    if not findings:
        return f"Nothing in {many(log.lines, 'line')} says that anything failed."
    first = findings[0]
    same = [f for f in findings if f.kind == first.kind]
    named = "; ".join(f.title[:200] for f in same[:_NAMED])
    more = f" and {len(same) - _NAMED} more" if len(same) > _NAMED else ""
    why = first.reason()[:300]
    if why and command and why[-1] not in ".!?:":
        why += "."
    noun = first.kind.replace("_", " ")
    noun += ("es" if noun.endswith("sh") else "s") if len(same) > 1 else ""
    ran = f" Failed command: {command[:200]}." if command else ""
    return f"{len(same)} {noun} ({first.framework}): {named}{more}.{f' {why}' if why else ''}{ran}"
