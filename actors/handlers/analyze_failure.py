"""The action `analyze_failure`: a model's answer on a failure, made a report with its proof."""

from collections.abc import Iterator

import msgspec

from cortex.bus import Event
from cortex.bus.events import StepExecute, StepFailed
from cortex.runtime.kernel import Component, Delivery, Serves, many, on

from .answers import completed, parameters_of
from .failure_report import write_report
from .source import Location
from .triage import Finding


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
    """Puts what the model answered beside what the log proves."""

    workers = 1
    serves = (
        Serves(
            "action",
            "analyze_failure",
            AnalyzeFailureParameters,
            AnalyzeFailureResult,
            traits={"asks_model": True, "needs": {"reasoning": "medium"}},
            effect="none",
        ),
    )

    @on(StepExecute, where={"action": "analyze_failure"})
    def execute(self, event: StepExecute, delivery: Delivery) -> Iterator[Event]:
        """Write the report."""
        asked = parameters_of(event, AnalyzeFailureParameters)
        if isinstance(asked, StepFailed):
            yield asked
            return
        analysis = str(event.answer.get("text", ""))
        result = AnalyzeFailureResult(
            report=write_report(
                asked.summary, asked.failed_command, asked.findings, asked.locations, analysis
            ),
            analysis=analysis,
            extractive=bool(event.answer.get("extractive")),
            failing=[finding.title for finding in asked.findings],
            locations=[f"{place.path}:{place.line}" for place in asked.locations],
        )
        yield completed(
            event,
            result,
            f"{many(len(asked.findings), 'failure')}, "
            f"{many(len(asked.locations), 'place')} to look at",
        )
