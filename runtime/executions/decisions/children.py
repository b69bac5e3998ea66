"""What the state of a child execution means for the execution that waits for it.

Both change together: each takes over a pause, a resume and a cancel of the other. A child that
halts also halts its parent, which keeps the child, so that a resume of either continues both.
"""

from collections.abc import Callable, Mapping

from cortex.bus import Event
from cortex.bus.events import (
    ExecutionBreak,
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

from ..state.goals import GOAL
from ..state.state import DELEGATED, Execution
from ..steps import fanning, recovery
from ..steps.fanning import charge
from ..steps.outbox import Outbox
from ..steps.step_sequencer import StepSequencer

Ended = ExecutionCompleted | ExecutionFailed | ExecutionCancelled
Stood = ExecutionHalted | ExecutionPaused | ExecutionResumed | ExecutionRefused
ChildFact = Ended | Stood | ExecutionCharged

# How a child is described to its parent.
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


def left_behind(state: Execution, parents: Callable[[str], Execution]) -> str:
    """Why *state* may not continue: its parent has ended, or continued without it; "" if it may.

    It is asked to end, too, but an event from before that request must not restart it.
    """
    seen = {state.execution_id}
    while state.parent and state.parent not in seen and not state.over:
        parent = parents(state.parent)
        if reason := _left_by(parent, state.execution_id):
            return reason
        seen.add(state.parent)
        state = parent
    return ""


def _left_by(parent: Execution, child: str) -> str:
    """Why *child*, which *parent* began, may not continue; "" if it may."""
    fan = parent.fan
    if child not in parent.children and (fan is None or not fan.knows(child)):
        return ""  # the child reports it: its parent is only a claim of its requester
    if parent.over:
        return f"its parent {'was' if parent.status == 'cancelled' else 'has'} {parent.status}"
    live = fan.live.get(child) if fan is not None else None
    if live is not None and live.status == "ending":
        return f"its step continues without it: {live.reason}"
    if parent.stage in DELEGATED and child in parent.alive:
        return ""
    return "its parent continues without it"


def after_child(sequencer: StepSequencer, outbox: Outbox, event: ChildFact) -> None:
    """Something happened to a child, the one that is waited for or one before it."""
    if isinstance(event, ExecutionRefused) and event.asked == ExecutionBreak.topic_name():
        return  # which nothing waits for
    fan = outbox.state.fan
    if fan is not None and fan.knows(event.execution_id):
        fanning.after_item(sequencer, outbox, event)
        return
    if event.execution_id not in outbox.state.children:
        return
    if isinstance(event, Ended) or (isinstance(event, ExecutionCharged) and event.late):
        held = bool(outbox.state.leaving)
        charge(outbox, event.execution_id, event.tokens, event.cost, event.usage)
        state = outbox.state
        if held and not state.leaving and state.status == "running" and state.stage == "idle":
            sequencer.go_on()
            return
    state = outbox.state
    if state.over or event.execution_id != state.child or state.stage not in ("child", "cleanup"):
        return
    match event:
        case ExecutionPaused() if state.status == "running":
            _pause(sequencer, outbox, event)
        case ExecutionRefused() if state.status == "running":
            sequencer.drop_deadlines()
            outbox.pause(f"child {_told(event)}", state.step_id)
        case ExecutionResumed() if state.status in ("paused", "halted"):
            note = f"child {_told(event)}"
            outbox.resume(by=event.by, note=note, stepping=event.stepping)
            sequencer.restart_timeout()
        case ExecutionHalted() if state.status == "running":
            _halt(sequencer, outbox, event)
        case ExecutionCompleted() | ExecutionFailed() | ExecutionCancelled():
            _end(sequencer, outbox, event)
        case _:
            return


def _pause(sequencer: StepSequencer, outbox: Outbox, event: ExecutionPaused) -> None:
    state = outbox.state
    sequencer.drop_deadlines()
    # An approval can be given to the parent as well: a resume hands it on.
    reason = "approval" if event.reason == "approval" else state.pausing or f"child {_told(event)}"
    asks = {"question": event.question, "prompt": event.prompt, "gate": event.gate}
    if event.reason == GOAL:  # shown to readers of the child only
        asks = {}
    outbox.pause(reason, state.step_id, **asks)


def _halt(sequencer: StepSequencer, outbox: Outbox, event: ExecutionHalted) -> None:
    state, told = outbox.state, _told(event)
    if state.stage == "cleanup":
        outbox.cancel_child(f"its parent failed: {told}")
        outbox.fail(f"{state.reason}; cleaning up: {told}", state.step_id)
    elif recovery.halts(state, sequencer.step):
        sequencer.drop_deadlines()
        evidence = {**event.evidence, "child": event.execution_id}
        outbox.halt(f"child {told}", state.step_id, gate=event.gate, evidence=evidence)
    else:
        outbox.cancel_child(f"its parent continues without it: {told}")
        sequencer.fail(f"child {told}", "failed")


def _end(sequencer: StepSequencer, outbox: Outbox, event: Ended) -> None:
    state, told = outbox.state, _told(event)
    if state.stage == "cleanup":
        outbox.fail(f"{state.reason}; cleaning up: {told}", state.step_id)
    elif isinstance(event, ExecutionCompleted):
        if state.status != "running":
            outbox.resume(note=told)
        completed = StepCompleted(
            execution_id=state.execution_id,
            step_id=state.step_id,
            attempt=state.attempt,
            result=event.outputs,
            summary=told,
        )
        outbox.say(completed)
        sequencer.settle()
    elif state.status == "running":
        cancelled = isinstance(event, ExecutionCancelled)
        sequencer.fail(f"child {told}", "failed", retry=not cancelled)
    else:  # it waits for a resume; then the step starts again
        outbox.fail_step(state.step_id, state.attempt, f"child {told}", "failed", retry=False)


def _told(event: ChildFact) -> str:
    reason = getattr(event, "reason", "")
    told = f"execution {event.execution_id} {CHILD_FACTS[type(event)]}"
    return f"{told}: {reason}" if reason else told
