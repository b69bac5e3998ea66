"""What a person may change at a breakpoint or a halt: a prompt, or the result of a step."""

from typing import Final

from msgspec import UNSET

from cortex.bus.events import ContextEdit, ExecutionEdit, ExecutionResume, StepSettle, StepSettled
from cortex.runtime.processes import LinkedProcess, did_you_mean, listed
from cortex.runtime.secrets import masks_in

from . import editing
from .outbox import Outbox
from .people import OUTCOMES, PARTS, REPLACED, SKIPPED
from .requests import context_compile
from .room import too_large
from .speakers import asker
from .step_sequencer import StepSequencer
from .values import not_as_declared

Change = ExecutionEdit | StepSettle | ContextEdit

DONE: Final = ("completed", "skipped")


def change(
    course: StepSequencer, voice: Outbox, event: Change, refused: str
) -> ExecutionResume | None:
    """Follow what a person asks, or refuse it; how the execution is to go on then, if it is.

    *refused* is what is against going on at all.
    """
    match event:
        case ExecutionEdit():
            return editing.edit(course, voice, event, refused)
        case StepSettle():
            return _settle(course, voice, event, refused)
        case ContextEdit():
            _edit_context(course, voice, event, refused)
            return None


def _settle(
    course: StepSequencer, voice: Outbox, event: StepSettle, refused: str
) -> ExecutionResume | None:
    state = voice.state
    refused = editing.against(course, state, event.from_step) or refused
    refused = refused or _against_settling(course, voice, event)
    settled = StepSettled(
        execution_id=state.execution_id,
        step_id=event.step_id,
        outcome=event.outcome,
        by=asker(voice.source, ""),
        result=event.result if event.outcome == REPLACED else {},
        note=event.note,
    )
    refused = refused or too_large(settled) or ""
    if refused:
        voice.refuse(event, refused)
        return None
    before = voice.state.settled
    voice.say(settled)
    done = voice.state.settled is before
    # What the gates of the step at hand saw is another result now: they are asked again.
    again = state.step_id if done and state.step_id in course.reached() else ""
    return ExecutionResume(
        execution_id=event.execution_id,
        note=event.note,
        from_step=event.from_step or again,
        seen=event.seen,
    )


def no_step(process: LinkedProcess, step_id: str) -> str:
    """That *process* has no step *step_id*, with the nearest that it has."""
    steps = [step.id for step in process.steps]
    hint = did_you_mean(step_id, steps, f"it has {listed(steps)}")
    return f"{process.name} has no step {step_id[:40]!r}: {hint}"


def _against_settling(course: StepSequencer, voice: Outbox, event: StepSettle) -> str:
    state, steps = voice.state, {step.id: step for step in course.process.steps}
    step = steps.get(event.step_id)
    if step is None:
        return no_step(course.process, event.step_id)
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


def _edit_context(course: StepSequencer, voice: Outbox, event: ContextEdit, refused: str) -> None:
    state = voice.state
    refused = editing.against(course, state) or refused or _against_edit(voice, event)
    if refused or state.compiled is None:
        voice.refuse(event, refused)
        return
    by = asker(voice.source, "")
    new = tuple({**each, "by": by, "note": event.note} for each in event.edits)
    place = (state, course.process, course.step, state.attempt, state.parameters, state.turn)
    asked = context_compile(*place, new_edits=new)
    refused = too_large(asked) or ""
    if refused:
        voice.refuse(event, refused)
        return
    voice.resume(by=by, note="its context is compiled again, with an edit")
    voice.ask(asked)


def _against_edit(voice: Outbox, event: ContextEdit) -> str:
    state = voice.state
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
