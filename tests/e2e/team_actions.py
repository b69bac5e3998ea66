"""Actions that the paper's processes name and Cortex does not have, as a plugin of a team's own.

It is confined: it sees neither the home nor the checkout. What its model wrote becomes a change of
the execution's worktree by the tool that everybody uses for that.
"""

from collections.abc import Iterator

import msgspec

from cortex.bus import Event
from cortex.bus.events import (
    StepCompleted,
    StepExecute,
    StepFailed,
    ToolCall,
    ToolDenied,
    ToolFailed,
    ToolReturned,
)
from cortex.plugins import Manifest
from cortex.runtime.kernel import Component, Delivery, Serves, on

READS = ("read_bug_report", "read_feature_spec")
WRITES = ("write_fix", "write_feature")


class Nothing(msgspec.Struct, frozen=True):
    """They take nothing but the goal."""


class Analysis(msgspec.Struct, frozen=True):
    """What is to be done, as a model understood it."""

    analysis: str


class Wanted(msgspec.Struct, frozen=True):
    """What is to be written, bound to what an earlier step gives under that name."""

    analysis: str = ""


class Patch(msgspec.Struct, frozen=True):
    """What the model has to answer."""

    summary: str
    patch: str


class Written(msgspec.Struct, frozen=True):
    """What came of it."""

    summary: str


class Reads(Component):
    """Has a model read what is asked for."""

    workers = 1
    serves = tuple(
        Serves("action", name, Nothing, Analysis, effect="none", traits={"asks_model": True})
        for name in READS
    )

    @on(StepExecute, where={"action": "read_bug_report"})
    @on(StepExecute, where={"action": "read_feature_spec"})
    def execute(self, event: StepExecute, delivery: Delivery) -> Iterator[Event]:
        """Give what it said."""
        said = str(event.answer["text"])
        yield StepCompleted(
            execution_id=event.execution_id,
            step_id=event.step_id,
            attempt=event.attempt,
            result={"analysis": said},
            summary=said,
        )


class Writes(Component):
    """Has what a model wrote applied in the execution's worktree."""

    serves = tuple(
        Serves(
            "action",
            name,
            Wanted,
            Written,
            effect="idempotent",
            answer=Patch,
            traits={"asks_model": True, "needs": {"code": "medium"}},
        )
        for name in WRITES
    )

    @on(StepExecute, where={"action": "write_fix"})
    @on(StepExecute, where={"action": "write_feature"})
    def execute(self, event: StepExecute, delivery: Delivery) -> Iterator[Event]:
        """Ask for the change."""
        yield ToolCall(
            execution_id=event.execution_id,
            step_id=event.step_id,
            attempt=event.attempt,
            turn=1,
            call_id=f"{event.step_id}-{event.attempt}",
            tool="apply_patch",
            provider="files",
            arguments={"patch": event.answer["data"]["patch"]},
            workspace=event.workspace,
            effect="idempotent",
        )

    @on(ToolReturned)
    def applied(self, event: ToolReturned, delivery: Delivery) -> Iterator[Event]:
        """The change stands."""
        yield StepCompleted(
            execution_id=event.execution_id,
            step_id=event.step_id,
            attempt=event.attempt,
            result={"summary": event.summary},
            summary=event.summary,
        )

    @on(ToolFailed)
    @on(ToolDenied)
    def refused(self, event: ToolFailed | ToolDenied, delivery: Delivery) -> Iterator[Event]:
        """The change does not stand."""
        yield StepFailed(
            execution_id=event.execution_id,
            step_id=event.step_id,
            attempt=event.attempt,
            error=event.error if isinstance(event, ToolFailed) else event.reason,
        )


PLUGIN = Manifest(
    name="team",
    version="1.0.0",
    cortex=">=0.1",
    summary="The team's own actions.",
    components=("team_actions:Reads", "team_actions:Writes"),
    subscribes=(
        *(f"step.execute={name}" for name in (*READS, *WRITES)),
        "tool.returned",
        "tool.failed",
        "tool.denied",
    ),
    publishes=("step.completed", "step.failed", "tool.call"),
)
