"""Actions that take a model's answer: as it stands, or as a report on a failure with its proof."""

import re
from collections.abc import Iterator, Sequence

import msgspec

from cortex.runtime.code.source import Location
from cortex.runtime.code.triage import Finding
from cortex.runtime.functions import ActionStep, action
from cortex.runtime.kernel import Component, many

FINDINGS = 3
PROOF_LINES = 4  # of one finding
PLACES = 5
LONGEST = 140  # characters of a line
LONGEST_MESSAGE = 400  # of the headline and of what a failure says
_PYTEST_LINE = re.compile(r"(?:E {2}(?!\s+\+ )|>)\s")
_TELLING = ("message", "frame", "title", "context")  # roles of evidence, the most telling first


class AnalyzeFailureParameters(msgspec.Struct, frozen=True):
    """Say why a build or its tests failed, by a model; all of it may come from earlier steps."""

    summary: str = ""  # one line from `read_ci_log`
    failed_command: str = ""  # from `read_ci_log`
    findings: list[Finding] = []  # from `read_ci_log`
    locations: list[Location] = []  # from `find_relevant_code`


class AnalyzeFailureResult(msgspec.Struct, frozen=True):
    """What `analyze_failure` gives."""

    report: str  # plain text for people: failures, proof, places, analysis
    analysis: str  # the answer of the model
    extractive: bool  # True: the answer only quotes the context
    failing: list[str]  # titles of the findings, in their order
    locations: list[str]  # "path:line", the most likely first


class AnalyzeFailure(Component):
    """Writes a report from the findings in a log and the answer of a model."""

    rests = True

    @action("analyze_failure", effect="none", asks_model=True, needs={"reasoning": "medium"})
    def execute(self, asked: AnalyzeFailureParameters, step: ActionStep) -> AnalyzeFailureResult:
        """Write the report."""
        analysis = str(step.answer.get("text", ""))
        step.summary = (
            f"{many(len(asked.findings), 'failure')}, "
            f"{many(len(asked.locations), 'place')} to look at"
        )
        return AnalyzeFailureResult(
            report=write_report(
                asked.summary, asked.failed_command, asked.findings, asked.locations, analysis
            ),
            analysis=analysis,
            extractive=bool(step.answer.get("extractive")),
            failing=[finding.title for finding in asked.findings],
            locations=[f"{place.path}:{place.line}" for place in asked.locations],
        )


def write_report(
    summary: str,
    failed_command: str,
    findings: Sequence[Finding],
    locations: Sequence[Location],
    analysis: str,
) -> str:
    """The report as plain text, at most some sixty lines."""
    lines = [_cut(summary, LONGEST_MESSAGE) or "Nothing in the log says that something failed."]
    if failed_command:
        lines += ["", f"Failing command: {_cut(failed_command)}"]
    for number, finding in enumerate(findings[:FINDINGS], 1):
        lines += ["", *_finding(number, finding)]
    if len(findings) > FINDINGS:
        others = [f"   {_cut(finding.title)}" for finding in findings[FINDINGS:]]
        lines += ["", "Also failed:", *others]
    if locations:
        lines += ["", "Where to look:"]
        lines += [f"   {line}" for line in _places(locations, findings)]
    if analysis:
        lines += ["", "Analysis:", *(f"   {line}" for line in analysis.splitlines())]
    return "\n".join(lines)


def _finding(number: int, finding: Finding) -> Iterator[str]:
    yield f"{number}. {finding.kind.replace('_', ' ')}: {_cut(finding.title)}"
    if finding.message:
        yield f"   error: {_cut(finding.reason(), LONGEST_MESSAGE)}"
    for number, (at, text) in enumerate(_proof(finding)):
        yield f"   {'proof, log line' if number == 0 else '':>15} {at:>6}  {_cut(text)}"


def _places(locations: Sequence[Location], findings: Sequence[Finding]) -> Iterator[str]:
    """One line a place: why it is one, but for the message that a finding above has told."""
    told = [finding.message for finding in findings[:FINDINGS] if finding.message]
    shown: set[tuple[str, str]] = set()
    for place in locations[:PLACES]:
        if (place.path, place.symbol) in shown and place.why.startswith("defines "):
            continue  # the line that failed in it was shown
        shown.add((place.path, place.symbol))
        symbol = f" in {place.symbol}" if place.symbol else ""
        why, colon, said = place.why.partition(": ")
        if not colon or not any(said in message for message in told):
            why = place.why
        yield _cut(f"{place.path}:{place.line}{symbol} ({why})")


def _proof(finding: Finding) -> list[tuple[int, str]]:
    """The most telling lines of the evidence, in the order of the log."""
    ranked = sorted(finding.evidence, key=lambda e: (_TELLING.index(e.role), e.first))
    lines = [
        (at, text, evidence.role)
        for evidence in ranked
        for at, text in enumerate(evidence.text.split("\n"), evidence.first)
        if text.strip()
    ]
    if any(role != "title" and _PYTEST_LINE.match(text) for _, text, role in lines):
        # What pytest marks proves it; around that stand the source and, again, the name.
        lines = [each for each in lines if each[2] == "frame" or _PYTEST_LINE.match(each[1])]
    return sorted((at, text) for at, text, _ in lines[:PROOF_LINES])


def _cut(text: str, longest: int = LONGEST) -> str:
    line = " ".join(text.split("\n")).rstrip()
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


class AnswerQuestionParameters(msgspec.Struct, frozen=True):
    """Answer a question from what is known, by a model."""

    question: str  # the model sees it in its prompt


class AnswerQuestionResult(msgspec.Struct, frozen=True):
    """What `answer_question` gives."""

    text: str  # the answer
    extractive: bool  # True: the answer only quotes the context


class AnswerQuestion(Component):
    """Asks a model a question, and returns its answer."""

    rests = True

    @action("answer_question", effect="none", asks_model=True)
    def execute(self, asked: AnswerQuestionParameters, step: ActionStep) -> AnswerQuestionResult:
        """Pass the answer on."""
        # Only what quotes knows whether the context held an answer.
        held = step.answer.get("answered", True)
        step.summary = "answered" if held else "no answer was found"
        text = str(step.answer.get("text", ""))
        return AnswerQuestionResult(text, bool(step.answer.get("extractive")))
