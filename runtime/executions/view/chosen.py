"""What was done towards the goals of an execution, and what may be done next."""

import contextlib
from collections.abc import Iterable
from typing import Any

import msgspec

from cortex.bus import Event
from cortex.bus.events import StepCompleted, StepFailed, StepProposed, StepSkipped
from cortex.runtime.kernel import Home
from cortex.runtime.log import Blobs
from cortex.runtime.processes import LinkedProcess, MissingValueError, fill

from .. import GOAL, Execution


class Chosen(msgspec.Struct, kw_only=True):
    """Something that was chosen to be done towards a goal."""

    step: str  # that it became
    goal: str  # the step whose goal it is
    action: str  # or the process
    parameters: dict[str, Any]
    by: str  # the model, or the person as the hub authenticated them
    turn: int  # of the model
    note: str = ""
    status: str = ""  # completed, failed or skipped; "" while it is not done
    said: str = ""  # what it gave in a line, or why it failed


def worktree_of(home: Home, execution_id: str) -> str:
    """The work tree of an execution; "" where there is none."""
    folder = home.path / "worktrees" / execution_id
    return str(folder) if folder.is_dir() else ""


def chosen_of(state: Execution, events: Iterable[Event | None]) -> list[Chosen]:
    """What was chosen towards the goals of an execution, and what became of it."""
    found: dict[str, Chosen] = {}
    for event in events:
        if isinstance(event, StepProposed):
            found[event.step_id] = Chosen(
                step=event.step_id,
                goal=event.goal,
                action=event.action,
                parameters=event.parameters,
                by=event.by,
                turn=event.turn,
                note=event.note,
                status=state.statuses.get(event.step_id, ""),
            )
        elif isinstance(event, StepCompleted | StepFailed | StepSkipped):
            chosen = found.get(event.step_id)
            if chosen is not None:
                chosen.said = _said(event)
    return list(found.values())


def _said(event: StepCompleted | StepFailed | StepSkipped) -> str:
    if isinstance(event, StepCompleted):
        return event.summary
    return event.error if isinstance(event, StepFailed) else event.reason


def may_be_done(state: Execution, blobs: Blobs) -> tuple[str, list[str]]:
    """The goal that a person is asked about, and what may be done towards it."""
    started = state.started
    if state.status != "paused" or state.reason != GOAL or started is None:
        return "", []
    process = msgspec.json.decode(blobs.get(started.linked), type=LinkedProcess)
    for step in process.steps:
        if step.id == state.step_id and step.goal is not msgspec.UNSET:
            goal = started.goal
            with contextlib.suppress(MissingValueError):
                goal = str(fill(step.goal.text, state.scope(state.attempt)))
            return goal, [grant.name for grant in step.goal.grants]
    return "", []
