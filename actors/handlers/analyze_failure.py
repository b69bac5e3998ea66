"""The action `analyze_failure`: a model's answer on a failure, made a report with its proof."""

import msgspec

from cortex.runtime.code.source import Location
from cortex.runtime.code.triage import Finding
from cortex.runtime.functions import ActionStep, action
from cortex.runtime.kernel import Component, many

from .failure_report import write_report


class AnalyzeFailureParameters(msgspec.Struct, frozen=True):
    """Say why a build or its tests failed, by a model; all of it may come from earlier steps."""

    summary: str = ""
    failed_command: str = ""
    findings: list[Finding] = []
    locations: list[Location] = []


class AnalyzeFailureResult(msgspec.Struct, frozen=True):
    """What `analyze_failure` gives."""

    report: str  # for people
    analysis: str  # what the model answered
    extractive: bool  # True: the answer holds quotations of the context and nothing else
    failing: list[str]  # names of what failed, best first
    locations: list[str]  # "path:line", best first


class AnalyzeFailure(Component):
    """Combines the answer of the model with the findings from the log."""

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
