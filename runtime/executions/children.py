"""What the state of a child execution means for the execution that waits for it.

Both change together: each takes over a pause, a resume and a cancel of the other. A child that
halts also halts its parent, which keeps the child, so that a resume of either continues both.
"""

from collections.abc import Mapping

from cortex.bus import Event
from cortex.bus.events import (
    ExecutionCancelled,
    ExecutionCharged,
    ExecutionCompleted,
    ExecutionFailed,
    ExecutionHalted,
    ExecutionPaused,
    ExecutionRefused,
    ExecutionResumed,
    StepCompleted,
)

from . import fanning, recovery
from .goals import GOAL
from .outbox import Outbox
from .state import DELEGATED, Execution
from .step_sequencer import StepSequencer

Ended = ExecutionCompleted | ExecutionFailed | ExecutionCancelled
Stood = ExecutionHalted | ExecutionPaused | ExecutionResumed | ExecutionRefused
ChildFact = Ended | Stood | ExecutionCharged

# What a parent is told of its children.
CHILD_FACTS: Mapping[type[Event], str] = {
    ExecutionCompleted: "completed",
    ExecutionFailed: "failed",
    ExecutionCancelled: "cancelled",
    ExecutionHalted: "halted",
    ExecutionPaused: "paused",
    ExecutionResumed: "resumed",
    ExecutionRefused: "has not moved",
    ExecutionCharged: "",
}


def left_behind(parent: Execution, child: str) -> str:
    """Why *child*, which *parent* began, may not go on; "" where it may.

    It is asked to end, too, but what came in before that request must not set it going again.
    """
    fan = parent.fan
    if child not in parent.children and (fan is None or not fan.knows(child)):
        return ""  # it says so itself: who its parent is, is the word of whoever asked for it
    if parent.over:
        return f"its parent {'was' if parent.status == 'cancelled' else 'has'} {parent.status}"
    live = fan.live.get(child) if fan is not None else None
    if live is not None and live.status == "ending":
        return f"its step continues without it: {live.reason}"
    if parent.stage in DELEGATED and child in parent.alive:
        return ""
    return "its parent continues without it"


def after_child(course: StepSequencer, voice: Outbox, event: ChildFact) -> None:
    """Something happened to a child, the one that is waited for or one before it."""
    fan = voice.state.fan
    if fan is not None and fan.knows(event.execution_id):
        fanning.after_item(course, voice, event)
        return
    if event.execution_id not in voice.state.children:
        return
    if isinstance(event, Ended) or (isinstance(event, ExecutionCharged) and event.late):
        held = bool(voice.state.leaving)
        voice.charge(event.execution_id, event.tokens, event.cost, event.usage)
        state = voice.state
        if held and not state.leaving and state.status == "running" and state.stage == "idle":
            course.go_on()
            return
    state = voice.state
    if state.over or event.execution_id != state.child or state.stage not in ("child", "cleanup"):
        return
    match event:
        case ExecutionPaused() if state.status == "running":
            _pause(course, voice, event)
        case ExecutionRefused() if state.status == "running":
            course.drop_deadlines()
            voice.pause(f"child {_told(event)}", state.step_id)
        case ExecutionResumed() if state.status in ("paused", "halted"):
            voice.resume(by=event.by, note=f"child {_told(event)}")
            course.restart_timeout()
        case ExecutionHalted() if state.status == "running":
            _halt(course, voice, event)
        case ExecutionCompleted() | ExecutionFailed() | ExecutionCancelled():
            _end(course, voice, event)
        case _:
            return


def _pause(course: StepSequencer, voice: Outbox, event: ExecutionPaused) -> None:
    state = voice.state
    course.drop_deadlines()
    # An approval can be given to the parent as well: a resume hands it on.
    reason = "approval" if event.reason == "approval" else state.pausing or f"child {_told(event)}"
    asks = {"question": event.question, "prompt": event.prompt, "gate": event.gate}
    if event.reason == GOAL:  # that is for whoever looks at the child
        asks = {}
    voice.pause(reason, state.step_id, **asks)


def _halt(course: StepSequencer, voice: Outbox, event: ExecutionHalted) -> None:
    state, told = voice.state, _told(event)
    if state.stage == "cleanup":
        voice.cancel_child(f"its parent failed: {told}")
        voice.fail(f"{state.reason}; cleaning up: {told}", state.step_id)
    elif recovery.halts(state, course.step):
        course.drop_deadlines()
        evidence = {**event.evidence, "child": event.execution_id}
        voice.halt(f"child {told}", state.step_id, gate=event.gate, evidence=evidence)
    else:
        voice.cancel_child(f"its parent continues without it: {told}")
        course.fail(f"child {told}", "failed")


def _end(course: StepSequencer, voice: Outbox, event: Ended) -> None:
    state, told = voice.state, _told(event)
    if state.stage == "cleanup":
        voice.fail(f"{state.reason}; cleaning up: {told}", state.step_id)
    elif isinstance(event, ExecutionCompleted):
        if state.status != "running":
            voice.resume(note=told)
        completed = StepCompleted(
            execution_id=state.execution_id,
            step_id=state.step_id,
            attempt=state.attempt,
            result=event.outputs,
            summary=told,
        )
        voice.say(completed)
        course.settle()
    elif state.status == "running":
        cancelled = isinstance(event, ExecutionCancelled)
        course.fail(f"child {told}", "failed", retry=not cancelled)
    else:  # it stands still until it is resumed; then the step begins anew
        voice.fail_step(state.step_id, state.attempt, f"child {told}", "failed", retry=False)


def _told(event: ChildFact) -> str:
    reason = getattr(event, "reason", "")
    told = f"execution {event.execution_id} {CHILD_FACTS[type(event)]}"
    return f"{told}: {reason}" if reason else told
