"""Changes of a paused or halted execution by a person: its inputs, and its cost limit."""

import math
from collections.abc import Sequence
from typing import Any, Final

from msgspec.structs import replace

from cortex.bus.events import ExecutionEdit, ExecutionResume
from cortex.runtime.processes import Field

from .goals import GOAL
from .outbox import Outbox
from .room import too_large
from .spending import dollars
from .state import Execution
from .step_sequencer import StepSequencer
from .values import checked_inputs

UNDER_WAY: Final = ("compiled", "waiting", "tools", "model", "handler")  # made of what was


def edit(
    course: StepSequencer, voice: Outbox, event: ExecutionEdit, refused: str
) -> ExecutionResume | None:
    """Record the change, if there is nothing against it; how the execution is to go on then.

    An attempt that was made of the inputs as they were is begun anew. *refused* is what is against
    going on at all.
    """
    state = voice.state
    refused = _against(course, state, event) or refused
    if refused:
        voice.refuse(event, refused)
        return None
    started, process = state.begun(), course.process
    given = {**started.inputs, **event.inputs}
    fields = process.inputs if started.part is None else _of_part(process.inputs, given)
    inputs, wrong = checked_inputs(fields, given)
    changed = tuple(sorted(name for name in inputs if inputs[name] != started.inputs.get(name)))
    max_cost = started.max_cost if event.max_cost is None else event.max_cost
    refused = "; ".join(wrong) or too_large(replace(started, inputs=inputs)) or ""
    if not refused and not changed and max_cost == started.max_cost:
        refused = "it would change nothing"
    if refused:
        voice.refuse(event, f"{process.name} is not changed: {refused}")
        return None
    voice.edit(inputs, changed, max_cost, event.note)
    # A model was chosen for what could be spent: a prompt that waits is for another, or for none.
    less = max_cost is not None and (started.max_cost is None or max_cost < started.max_cost)
    unfit = changed or (less and state.stage == "compiled")
    anew = unfit and not event.from_step and state.stage in UNDER_WAY
    return ExecutionResume(
        execution_id=event.execution_id,
        note=event.note,
        from_step=state.step_id if anew else event.from_step,
        seen=event.seen,
    )


def _of_part(fields: Sequence[Field], given: dict[str, Any]) -> list[Field]:
    """The inputs of an item, which is given those that its step refers to, and no others."""
    return [
        field if field.name in given else replace(field, required=False, default=None)
        for field in fields
    ]


def _against(course: StepSequencer, state: Execution, event: ExecutionEdit) -> str:
    """Why an execution that stands as this one is not changed; "" where it may be."""
    if state.stage == "fan" and event.inputs and not event.from_step:
        step = state.step_id
        return f"the items of {step} keep their earlier inputs: --from {step} begins them again"
    return against(course, state, event.from_step) or _against_cost(event.max_cost, state.cost)


def against(course: StepSequencer, state: Execution, from_step: str = "") -> str:
    """Why a person changes nothing of *state*, whatever it is; "" where they may."""
    if state.status not in ("paused", "halted") or state.adhoc:
        return "only an execution of a process can be changed, while it is paused or halted"
    if state.stage in ("child", "cleanup"):
        return f"execution {state.child}, which it runs, is the one that waits: change that"
    waits = state.question or (state.open_gate and state.status == "paused")
    # Of several items each is answered by itself; and at a goal nothing is asked that has to be
    # answered before the work goes on: whoever can is to do something, or a model that fits is.
    if waits and state.stage != "fan" and state.reason != GOAL:
        return "it waits for an answer: give that first"
    if from_step and from_step not in course.reached():
        return f"it was not at a step {from_step!r}"
    return ""


def _against_cost(max_cost: float | None, spent: float) -> str:
    if max_cost is None:
        return ""
    if not math.isfinite(max_cost) or max_cost < 0:
        return f"{max_cost} is not an amount that it may spend"
    if max_cost <= spent:
        return f"it has spent {dollars(spent)}, so that {dollars(max_cost)} is no more to spend"
    return ""
