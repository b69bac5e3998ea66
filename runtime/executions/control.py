"""What an execution does when a person asks it to pause, resume, take an answer or end."""

from typing import Final

from cortex.bus.events import ContextEdit, ExecutionCancel, ExecutionPause, ExecutionResume

from . import fanning, settlement
from .changing import Change
from .outbox import UNSEEN, Outbox
from .state import ATTEMPTING, DELEGATED, PARENT_PAUSES, Execution
from .step_sequencer import StepSequencer

VERDICTS: Final = ("approved", "denied")  # what a gate that asks a person is answered
SHOWN_CHARS: Final = 40  # of an answer that is none


def pause(course: StepSequencer, voice: Outbox, event: ExecutionPause) -> None:
    """Pause at once where that is possible, else once the step at hand is done."""
    state = voice.state
    if state.status != "running" or state.pausing is None:
        return
    if state.stage == "model" and event.question:  # a person is the model
        course.drop_deadlines()
        voice.pause(state.pausing, state.step_id, question=event.question, prompt=event.prompt)
        return
    if state.stage in ("failed", "waiting"):
        course.drop_deadlines()
        voice.pause(state.pausing, state.step_id)
    elif state.stage == "fan":
        fanning.paused(course, voice, f"{PARENT_PAUSES}: {state.pausing}")
    elif state.stage in ("child", "cleanup"):
        voice.pause_child(f"{PARENT_PAUSES}: {state.pausing}")
    else:
        pause_unclaimed(course, voice)


def pause_unclaimed(course: StepSequencer, voice: Outbox) -> None:
    """Take a pause at once where the step at hand waits for somebody to take it."""
    state = voice.state
    if state.stage == "handler" and state.unclaimed and state.pausing is not None:
        course.drop_deadlines()
        voice.pause(state.pausing, state.step_id)


def resume(course: StepSequencer, voice: Outbox, event: ExecutionResume) -> None:
    """Go on, take the answer of a person, or go back to an earlier step."""
    state = voice.state
    if event.gate:
        _answer_gate(course, voice, event)
        return
    stands = state.status in ("paused", "halted")
    if not stands and (state.over or state.pausing is None):
        return
    refused = not_to_resume(voice, event) if stands else ""
    if refused:
        voice.refuse(event, refused)
        return
    if event.answer and state.open_gate:
        return  # an answer to a gate names it: it takes a grant of its own
    if refused := fanning.not_to_resume(voice, event):
        voice.refuse(event, refused)
        return
    if event.from_step:
        _resume_from(course, voice, event)
        return
    voice.resume(event.answer, voice.asked_by(event), event.note)
    _go_on(course, voice, event, state)


def not_to_resume(voice: Outbox, event: ExecutionResume | Change) -> str:
    """Why a resume of what stands is not followed; "" where it is."""
    state = voice.state
    if not voice.was_seen(event.seen):
        return UNSEEN
    if state.unknown:
        return f"the outcome of an effect that began is not known: {settlement.HOW}"
    if not isinstance(event, ContextEdit) and event.from_step and state.effects:
        return "an effect of the step at hand is under way: wait for its outcome"
    return ""


def cancel(course: StepSequencer, voice: Outbox, event: ExecutionCancel) -> None:
    """End it, and what it had others do."""
    state = voice.state
    if state.over or state.status == "unknown":
        return
    reason = event.reason or "asked for"
    course.drop_deadlines()
    if state.stage in DELEGATED:
        voice.cancel_child(f"its parent was cancelled: {reason}")
    voice.cancel(reason)


def _go_on(course: StepSequencer, voice: Outbox, event: ExecutionResume, before: Execution) -> None:
    """Go on where the execution is, which was at *before* when *event* came."""
    stage, stood = voice.state.stage, before.status in ("paused", "halted")
    if voice.state.step_id in voice.state.settled and stage in ATTEMPTING:
        course.take_settled(course.step)
    elif stage == "fan":
        fanning.resumed(course, voice, event, stood=stood)
    elif stage in ("child", "cleanup"):
        voice.resume_child(event)
        if stood:
            course.restart_timeout()
    elif stage == "model":
        course.restart_timeout()  # whoever is asked answers now, or asks again
    elif not stood:
        return  # the pause was not taken yet, so that something is asked
    elif stage == "handler":
        course.restart_timeout()  # it still waits for somebody to take it
    elif before.statuses.get(before.step_id) == "completed":
        course.settle()  # somebody did take it during the pause
    elif stage in ("compiled", "waiting", "tools"):
        course.go_on_attempting()
    else:
        course.go_on()


def _answer_gate(course: StepSequencer, voice: Outbox, event: ExecutionResume) -> None:
    """Take the answer of a person to a gate, if it is this gate that asks; nothing else goes on."""
    state = voice.state
    if event.from_step or not event.answer or state.over:
        return
    if state.fan is not None:
        child, problem = fanning.asking(state.fan, event.gate)
        if problem:
            voice.refuse(event, problem)
        else:
            voice.resume_child(event, child)
    elif state.stage in ("child", "cleanup"):
        voice.resume_child(event)  # which resumes this one, once the answer is taken
    elif state.stage == "gate_open" and state.open_gate == event.gate:
        if not voice.was_seen(event.seen):
            voice.refuse(event, UNSEEN)
            return
        if event.answer not in VERDICTS:
            said = event.answer[:SHOWN_CHARS]
            voice.refuse(event, f"{said!r} does not answer a gate: {' or '.join(VERDICTS)} does")
            return
        voice.resume(event.answer, voice.asked_by(event), event.note)
        course.go_on()


def _resume_from(course: StepSequencer, voice: Outbox, event: ExecutionResume) -> None:
    if event.from_step not in course.reached():
        return
    leaving = voice.state.alive if voice.state.stage in ("child", "fan") else ()
    if leaving:
        voice.cancel_child(f"its parent goes back to {event.from_step}")
    voice.resume("", voice.asked_by(event), event.note, event.from_step)
    course.go_back(event.from_step, event.note, leaving=leaving)
