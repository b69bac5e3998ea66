"""The actions chosen in an execution, and those that are possible next."""

import contextlib
from collections.abc import Iterable
from typing import Any

import msgspec

from cortex.bus import Event
from cortex.bus.events import StepCompleted, StepFailed, StepProposed, StepSkipped
from cortex.runtime.kernel import Home
from cortex.runtime.log import Blobs
from cortex.runtime.processes import LinkedProcess, LinkedStep, MissingValueError, fill

from .. import GOAL, Execution

BREAKPOINT = "breakpoint"  # reason of a pause that shows the next step


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
    """The work tree of an execution; "" if it has none."""
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


class NextStep(msgspec.Struct):
    """The action or process that runs when the execution continues."""

    step: str
    does: str  # name of the action, or of the process or interface
    parameters: dict[str, Any]


def next_step_of(state: Execution, blobs: Blobs) -> NextStep | None:
    """What comes next; None where nothing does at a breakpoint, or a model is asked first.

    Raises:
        BlobError: The process cannot be read.
    """
    started = state.started
    if (state.status, state.reason) != ("paused", BREAKPOINT) or started is None:
        return None
    for chosen in state.grown:
        if chosen.step_id == state.step_id:
            return NextStep(chosen.step_id, chosen.name, chosen.parameters)
    if not started.linked:
        return None
    process = msgspec.json.decode(blobs.get(started.linked), type=LinkedProcess)
    step = next((each for each in process.steps if each.id == state.step_id), None)
    if step is None or step.asks_model or not (does := _does(step)):
        return None
    try:
        given = fill(step.parameters, state.scope(state.attempts.get(step.id, 0) + 1))
    except MissingValueError:
        given = {}  # when it continues, it fails and reports what is missing
    return NextStep(step.id, does, given)


def _does(step: LinkedStep) -> str:
    if step.action is not None:
        return step.action.name
    return (step.child.process or step.child.interface or "") if step.child else ""
