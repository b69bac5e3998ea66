"""What a step will do that is paused at a breakpoint without a prompt."""

from typing import Any

import msgspec

from cortex.runtime.log import Blobs
from cortex.runtime.processes import LinkedProcess, LinkedStep, MissingValueError, fill

from .. import Execution

BREAKPOINT = "breakpoint"  # why an execution is paused that shows what comes next


class NextStep(msgspec.Struct):
    """An action that is carried out, or a process that is run, once the execution goes on."""

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
        given = {}  # as it goes on it fails, and says what is missing
    return NextStep(step.id, does, given)


def _does(step: LinkedStep) -> str:
    if step.action is not None:
        return step.action.name
    return (step.child.process or step.child.interface or "") if step.child else ""
