"""What a person may change at a breakpoint or a halt: prompt, result, inputs, cost limit."""

import math
from collections.abc import Collection, Sequence
from typing import Any, Final

from msgspec import UNSET
from msgspec.structs import replace

from cortex.bus.events import ContextEdit, ExecutionEdit, ExecutionResume, StepSettle, StepSettled
from cortex.runtime.kernel import NotFoundError
from cortex.runtime.processes import Field, LinkedProcess, did_you_mean, listed
from cortex.runtime.secrets import masks_in

from ..state.asked import asker
from ..state.goals import GOAL
from ..state.spending import dollars
from ..state.state import Execution
from ..state.values import checked_inputs, not_as_declared, too_large
from ..steps.outbox import Outbox
from ..steps.people import OUTCOMES, PARTS, REPLACED, SKIPPED
from ..steps.requests import context_compile
from ..steps.step_sequencer import StepSequencer

Change = ExecutionEdit | StepSettle | ContextEdit

DONE: Final = ("completed", "skipped")
UNDER_WAY: Final = ("compiled", "waiting", "tools", "model", "handler")  # made of what was


def change(
    sequencer: StepSequencer, outbox: Outbox, event: Change, refused: str
) -> ExecutionResume | None:
    """Apply or refuse a person's request; return how the execution continues, or None.

    *refused* is a reason against continuing, if there is one.
    """
    match event:
        case ExecutionEdit():
            return edit(sequencer, outbox, event, refused)
        case StepSettle():
            return _settle(sequencer, outbox, event, refused)
        case ContextEdit():
            _edit_context(sequencer, outbox, event, refused)
            return None


def _settle(
    sequencer: StepSequencer, outbox: Outbox, event: StepSettle, refused: str
) -> ExecutionResume | None:
    state = outbox.state
    refused = against(sequencer, state, event.from_step) or refused
    refused = refused or _against_settling(sequencer, outbox, event)
    settled = StepSettled(
        execution_id=state.execution_id,
        step_id=event.step_id,
        outcome=event.outcome,
        by=asker(outbox.source, ""),
        result=event.result if event.outcome == REPLACED else {},
        note=event.note,
    )
    refused = refused or too_large(settled) or ""
    if refused:
        outbox.refuse(event, refused)
        return None
    before = outbox.state.settled
    outbox.say(settled)
    done = outbox.state.settled is before
    # What the gates of the step at hand saw is another result now: they are asked again.
    again = state.step_id if done and state.step_id in sequencer.reached() else ""
    return ExecutionResume(
        execution_id=event.execution_id,
        note=event.note,
        from_step=event.from_step or again,
        seen=event.seen,
        stepping=event.stepping,
    )


def no_step(process: LinkedProcess, step_id: str) -> str:
    """That *process* has no step *step_id*, with the nearest that it has."""
    steps = [step.id for step in process.steps]
    hint = did_you_mean(step_id, steps, f"it has {listed(steps)}")
    return f"{process.name} has no step {step_id[:40]!r}: {hint}"


def unknown_step(called: str, step_id: str, steps: Collection[str]) -> NotFoundError:
    """The same for who named the step: *called* has *steps*."""
    hint = did_you_mean(step_id, steps, f"it has {listed(steps)}")
    return NotFoundError("step", step_id[:40], f"is not in {called}: {hint}")


def _against_settling(sequencer: StepSequencer, outbox: Outbox, event: StepSettle) -> str:
    state, steps = outbox.state, {step.id: step for step in sequencer.process.steps}
    step = steps.get(event.step_id)
    if step is None:
        return no_step(sequencer.process, event.step_id)
    if event.outcome not in OUTCOMES:
        return f"the outcome {event.outcome[:40]!r} is not one of {', '.join(OUTCOMES)}"
    if step.goal is not UNSET or any(grown.step_id == step.id for grown in state.grown):
        return f"{step.id} works towards a goal: `cortex execution finish` says how it ended"
    if step.within is not UNSET:
        return f"{step.id} is a branch of {step.within}: settle it in its own execution"
    if step.fan is not UNSET and event.outcome == REPLACED:
        return f"each item of {step.id} has its own result: settle those, in their executions"
    if state.effects:
        return "an effect of the step at hand is under way: wait for its outcome"
    done = state.statuses.get(step.id)
    if event.outcome == SKIPPED:
        return f"step {step.id} is {done}: there is nothing to skip" if done in DONE else ""
    return not_as_declared(step, event.result)


def _edit_context(
    sequencer: StepSequencer, outbox: Outbox, event: ContextEdit, refused: str
) -> None:
    state = outbox.state
    refused = against(sequencer, state) or refused or _against_edit(outbox, event)
    if refused or state.compiled is None:
        outbox.refuse(event, refused)
        return
    by = asker(outbox.source, "")
    new = tuple({**each, "by": by, "note": event.note} for each in event.edits)
    place = (state, sequencer.process, sequencer.step, state.attempt, state.parameters, state.turn)
    asked = context_compile(*place, new_edits=new)
    refused = too_large(asked) or ""
    if refused:
        outbox.refuse(event, refused)
        return
    outbox.resume(by=by, note="its context is compiled again, with an edit")
    outbox.ask(asked)


def _against_edit(outbox: Outbox, event: ContextEdit) -> str:
    state = outbox.state
    if state.stage != "compiled" or state.compiled is None:
        return "no prompt waits to be sent: a breakpoint before a step that asks a model shows one"
    if state.turn:
        return "the model has read this prompt: only the first prompt of a step can be edited"
    if event.prompt != state.compiled.prompt:
        return "the prompt that waits to be sent is not the edited one: look at it, then edit"
    if not event.edits:
        return "it would change nothing"
    for each in event.edits:
        if set(each) != set(PARTS) or not each["old"]:
            return f"an edit has {', '.join(PARTS)}, and the old text is not empty"
        if masks_in(each["old"]) != masks_in(each["new"]):
            return (
                "an edit may not change a masked secret, and may not add a secret: Cortex "
                "records none"
            )
    return ""


def edit(
    sequencer: StepSequencer, outbox: Outbox, event: ExecutionEdit, refused: str
) -> ExecutionResume | None:
    """Record the change unless it is refused; return how the execution continues.

    An attempt that used the old inputs starts again. *refused* is a reason against continuing, if
    there is one.
    """
    state = outbox.state
    refused = _against(sequencer, state, event) or refused
    if refused:
        outbox.refuse(event, refused)
        return None
    started, process = state.begun(), sequencer.process
    given = {**started.inputs, **event.inputs}
    fields = process.inputs if started.part is None else _of_part(process.inputs, given)
    inputs, wrong = checked_inputs(fields, given)
    changed = tuple(sorted(name for name in inputs if inputs[name] != started.inputs.get(name)))
    max_cost = started.max_cost if event.max_cost is None else event.max_cost
    refused = "; ".join(wrong) or too_large(replace(started, inputs=inputs)) or ""
    if not refused and not changed and max_cost == started.max_cost:
        refused = "it would change nothing"
    if refused:
        outbox.refuse(event, f"{process.name} is not changed: {refused}")
        return None
    outbox.edit(inputs, changed, max_cost, event.note)
    # A model was chosen for what could be spent: a prompt that waits is for another, or for none.
    less = max_cost is not None and (started.max_cost is None or max_cost < started.max_cost)
    unfit = changed or (less and state.stage == "compiled")
    anew = unfit and not event.from_step and state.stage in UNDER_WAY
    return ExecutionResume(
        execution_id=event.execution_id,
        note=event.note,
        from_step=state.step_id if anew else event.from_step,
        seen=event.seen,
        stepping=event.stepping,
    )


def _of_part(fields: Sequence[Field], given: dict[str, Any]) -> list[Field]:
    """The inputs of an item, which is given those that its step refers to, and no others."""
    return [
        field if field.name in given else replace(field, required=False, default=None)
        for field in fields
    ]


def _against(sequencer: StepSequencer, state: Execution, event: ExecutionEdit) -> str:
    """Why an execution in this state cannot be changed; "" if it can."""
    if state.stage == "fan" and event.inputs and not event.from_step:
        step = state.step_id
        return f"the items of {step} keep their earlier inputs: --from {step} begins them again"
    return against(sequencer, state, event.from_step) or _against_cost(event.max_cost, state.cost)


def against(sequencer: StepSequencer, state: Execution, from_step: str = "") -> str:
    """Why a person can make no change to *state*; "" if they can."""
    if state.status not in ("paused", "halted") or state.adhoc:
        return "only an execution of a process can be changed, while it is paused or halted"
    if state.stage in ("child", "cleanup"):
        return f"execution {state.child}, which it runs, is the one that waits: change that"
    waits = state.question or (state.open_gate and state.status == "paused")
    # Several items are answered one by one. At a goal no question blocks the work: a person or a
    # fitting model chooses the next action.
    if waits and state.stage != "fan" and state.reason != GOAL:
        return "it waits for an answer: give that first"
    if from_step and from_step not in sequencer.reached():
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
