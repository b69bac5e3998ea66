"""The action `read_ci_log`: what failed in a CI log of any size, and the lines that prove it."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import msgspec

from cortex.runtime.code import triage  # imports its parts on use
from cortex.runtime.code.triage import Finding, Log, LogError, LogUnreadableError, Report
from cortex.runtime.context import Offer, TokenCounter
from cortex.runtime.functions import ActionStep, StepError, action
from cortex.runtime.kernel import Component

from .plain_file import open_plain, reason_of

EXCERPT_TOKENS = 3_000
FINDINGS = 10


class ReadCiLogParameters(msgspec.Struct, frozen=True):
    """Read the log of a failed build: its findings, and the lines that say most."""

    log: str  # its path, absolute or relative to the workspace; the file is plain or gzip
    excerpt_tokens: Annotated[int, msgspec.Meta(ge=1)] = EXCERPT_TOKENS  # at most


class ReadCiLogResult(msgspec.Struct, frozen=True):
    """What `read_ci_log` gives."""

    log: str  # absolute path
    summary: str  # one line: what failed
    failed_command: str  # "" if the log names none
    findings: list[Finding]  # the most likely cause first
    lines: int  # of the whole log
    size_bytes: int  # of the whole log
    tokens: int  # of the whole log; over 4 MB estimated from one megabyte in eight
    excerpt: str  # the most informative lines
    context: list[Offer]  # the excerpt, with its line numbers


class ReadCiLog(Component):
    """Finds the failures in a CI log, in a separate process: large logs do not block the hub."""

    rests = True
    cpu = True

    def __init__(self) -> None:
        self._counter = TokenCounter()

    @action("read_ci_log", effect="read")
    def execute(self, asked: ReadCiLogParameters, step: ActionStep) -> ReadCiLogResult:
        """Read, rank, and cut an excerpt."""
        path = Path(step.event.workspace or ".", asked.log).absolute()
        try:
            log = _read(path, self._counter.count)
        except LogError as error:
            raise StepError(str(error), retry=False) from error
        analysis = triage.analyse(log)
        report = triage.report_of(log, analysis)
        lines = triage.excerpt(log, asked.excerpt_tokens, self._counter.count, analysis)
        offer = Offer(
            kind="evidence",
            text="".join(f"{line}\n" for line in lines.texts),
            source=str(path),
            line_numbers=tuple(lines.numbers),
        )
        step.summary = report.summary
        return _result(path, report, lines.text(), offer)


def _read(path: Path, count: Callable[[str], int]) -> Log:
    try:
        with open_plain(path) as file:
            return triage.read_log(file, count=count)
    except (OSError, ValueError) as error:
        raise LogUnreadableError(str(path), reason_of(error)) from error


def _result(path: Path, report: Report, text: str, offer: Offer) -> ReadCiLogResult:
    return ReadCiLogResult(
        log=str(path),
        summary=report.summary,
        failed_command=report.failed_command or "",
        findings=list(report.findings[:FINDINGS]),
        lines=report.lines,
        size_bytes=report.size_bytes,
        tokens=report.tokens or 0,
        excerpt=text,
        context=[offer] if offer.text else [],
    )
