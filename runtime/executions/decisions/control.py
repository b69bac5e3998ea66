"""What an execution does when a person asks it to pause, resume, take an answer or end."""

from typing import Final

from cortex.bus.events import ContextEdit, ExecutionCancel, ExecutionPause, ExecutionResume

from ..state.state import AGREEMENT, ATTEMPTING, DELEGATED, PARENT_PAUSES, Execution
from ..steps import fanning
from ..steps.outbox import UNSEEN, Outbox
from ..steps.step_sequencer import StepSequencer
from . import settlement
from .changing import Change

VERDICTS: Final = ("approved", "denied")  # what a gate that asks a person is answered
SHOWN_CHARS: Final = 40  # of an invalid answer


def pause(sequencer: StepSequencer, outbox: Outbox, event: ExecutionPause) -> None:
    """Pause at once where that is possible, else once the step at hand is done."""
    state = outbox.state
    if state.status != "running" or state.pausing is None:
        return
    if state.stage == "model" and event.question:  # a person is the model
        sequencer.drop_deadlines()
        outbox.pause(state.pausing, state.step_id, question=event.question, prompt=event.prompt)
        return
    if state.stage in ("failed", "waiting"):
        sequencer.drop_deadlines()
        outbox.pause(state.pausing, state.step_id)
    elif state.stage == "fan":
        fanning.paused(sequencer, outbox, f"{PARENT_PAUSES}: {state.pausing}")
    elif state.stage in ("child", "cleanup"):
        outbox.pause_child(f"{PARENT_PAUSES}: {state.pausing}")
    else:
        pause_unclaimed(sequencer, outbox)


def pause_unclaimed(sequencer: StepSequencer, outbox: Outbox) -> None:
    """Take a pause at once where the step at hand waits for somebody to take it."""
    state = outbox.state
    if state.stage == "handler" and state.unclaimed and state.pausing is not None:
        sequencer.drop_deadlines()
        outbox.pause(state.pausing, state.step_id)


def resume(sequencer: StepSequencer, outbox: Outbox, event: ExecutionResume) -> None:
    """Go on, take the answer of a person, or go back to an earlier step."""
    state = outbox.state
    if event.gate:
        _answer_gate(sequencer, outbox, event)
        return
    stands = state.status in ("paused", "halted")
    if not stands and (state.over or state.pausing is None):
        return
    refused = not_to_resume(outbox, event) if stands else ""
    if refused:
        outbox.refuse(event, refused)
        return
    if event.answer and state.open_gate:
        return  # an answer to a gate names it: it takes a grant of its own
    if refused := fanning.not_to_resume(outbox, event):
        outbox.refuse(event, refused)
        return
    if event.from_step:
        _resume_from(sequencer, outbox, event)
        return
    outbox.resume(event.answer, outbox.asked_by(event), event.note, stepping=event.stepping)
    _go_on(sequencer, outbox, event, state)


def not_to_resume(outbox: Outbox, event: ExecutionResume | Change) -> str:
    """Why a resume is refused; "" if it is not."""
    state = outbox.state
    if not outbox.was_seen(event.seen):
        return UNSEEN
    if state.unknown:
        return f"the outcome of an effect that began is not known: {settlement.HOW}"
    if not isinstance(event, ContextEdit) and event.from_step and state.effects:
        return "an effect of the step at hand is under way: wait for its outcome"
    return ""


def cancel(sequencer: StepSequencer, outbox: Outbox, event: ExecutionCancel) -> None:
    """End it, and what it had others do."""
    state = outbox.state
    if state.over or state.status == "unknown":
        return
    reason = event.reason or "asked for"
    sequencer.drop_deadlines()
    if state.stage in DELEGATED:
        outbox.cancel_child(f"its parent was cancelled: {reason}")
    outbox.cancel(reason)


def _go_on(
    sequencer: StepSequencer, outbox: Outbox, event: ExecutionResume, before: Execution
) -> None:
    """Go on where the execution is, which was at *before* when *event* came."""
    stage, stood = outbox.state.stage, before.status in ("paused", "halted")
    if outbox.state.step_id in outbox.state.settled and stage in ATTEMPTING:
        sequencer.take_settled(sequencer.step)
    elif stage == "fan":
        fanning.resumed(sequencer, outbox, event, stood=stood)
    elif stage in ("child", "cleanup"):
        outbox.resume_child(event)
        if stood:
            sequencer.restart_timeout()
    elif stage == "model":
        sequencer.restart_timeout()  # the asked component answers now, or asks again
    elif not stood:
        return  # the pause was not taken yet, so that something is asked
    elif stage == "handler":
        sequencer.restart_timeout()  # it still waits for somebody to take it
    elif before.statuses.get(before.step_id) == "completed":
        sequencer.settle()  # somebody did take it during the pause
    elif stage in ("compiled", "waiting", "tools", "answered"):
        sequencer.go_on_attempting()
    else:
        sequencer.go_on()


def _answer_gate(sequencer: StepSequencer, outbox: Outbox, event: ExecutionResume) -> None:
    """Take a person's answer to a gate if this gate asks; nothing else continues."""
    state = outbox.state
    if event.from_step or not event.answer or state.over:
        return
    if state.fan is not None:
        child, problem = fanning.asking(state.fan, event.gate)
        if problem:
            outbox.refuse(event, problem)
        else:
            outbox.resume_child(event, child)
    elif state.stage in ("child", "cleanup"):
        outbox.resume_child(event)  # which resumes this one, once the answer is taken
    elif state.reason == AGREEMENT and state.open_gate == event.gate:
        _agree(sequencer, outbox, event)
    elif state.stage == "gate_open" and state.open_gate == event.gate:
        if not outbox.was_seen(event.seen):
            outbox.refuse(event, UNSEEN)
            return
        if event.answer not in VERDICTS:
            said = event.answer[:SHOWN_CHARS]
            outbox.refuse(event, f"{said!r} does not answer a gate: {' or '.join(VERDICTS)} does")
            return
        by = outbox.asked_by(event)
        outbox.resume(event.answer, by, event.note, stepping=event.stepping)
        sequencer.go_on()


def _agree(sequencer: StepSequencer, outbox: Outbox, event: ExecutionResume) -> None:
    """A person agrees, or not, to what a fork or a what-if would do and is not on record."""
    before = outbox.state
    if not outbox.was_seen(event.seen):
        outbox.refuse(event, UNSEEN)
    elif event.answer not in VERDICTS:
        said = event.answer[:SHOWN_CHARS]
        outbox.refuse(event, f"{said!r} is no answer: {' or '.join(VERDICTS)} is")
    else:
        outbox.resume(event.answer, outbox.asked_by(event), event.note)
        if outbox.state.agreed:
            _go_on(sequencer, outbox, event, before)
        else:
            by = outbox.asked_by(event)
            outbox.halt(f"{by} did not agree: {before.question}", before.step_id, gate=AGREEMENT)


def _resume_from(sequencer: StepSequencer, outbox: Outbox, event: ExecutionResume) -> None:
    if event.from_step not in sequencer.reached():
        return
    leaving = outbox.state.alive if outbox.state.stage in ("child", "fan") else ()
    if leaving:
        outbox.cancel_child(f"its parent goes back to {event.from_step}")
    by = outbox.asked_by(event)
    outbox.resume("", by, event.note, event.from_step, stepping=event.stepping)
    sequencer.go_back(event.from_step, event.note, leaving=leaving)
