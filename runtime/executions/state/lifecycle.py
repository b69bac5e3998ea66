"""The fold of what happens to an execution as a whole: begun, paused, halted, ended."""

from typing import Literal

from msgspec.structs import replace

from cortex.bus import Event
from cortex.bus.events import (
    ExecutionBreakpointsChanged,
    ExecutionCancelled,
    ExecutionCharged,
    ExecutionCompleted,
    ExecutionEdited,
    ExecutionFailed,
    ExecutionHalted,
    ExecutionIgnored,
    ExecutionPause,
    ExecutionPaused,
    ExecutionRequest,
    ExecutionResumed,
    ExecutionStarted,
    StepInherited,
    StepReopened,
)

from . import folds, goals
from .failures import with_result
from .items import with_redo
from .spending import added, usage_of
from .state import AGREEMENT, Execution, Stage, entered, without


def request(state: Execution, event: ExecutionRequest, _: int) -> Execution:
    """It was asked for."""
    if state.status != "unknown":
        return state
    return replace(state, status="requested", parent=event.parent, parent_step=event.parent_step)


def inherited(state: Execution, event: StepInherited, _: int) -> Execution:
    """A fork takes over the outcome of a step, before it begins."""
    if state.status != "requested":
        return state
    done = event.status == "completed"
    return replace(
        state,
        results={**state.results, event.step_id: event.result} if done else state.results,
        statuses={**state.statuses, event.step_id: event.status},
    )


def started(state: Execution, event: ExecutionStarted, time_ns: int) -> Execution:
    """It began."""
    if state.status not in ("unknown", "requested"):
        return state
    if event.part is not None:
        state = replace(
            state,
            results=event.part.results,
            statuses=event.part.statuses,
            requested_by=event.part.requested_by,
            tree=event.part.tree,
            breaks=event.part.breaks,
        )
    return replace(
        state,
        status="running",
        started=event,
        started_ns=time_ns,
        parent=event.parent,
        parent_step=event.parent_step,
    )


def pause(state: Execution, event: ExecutionPause, _: int) -> Execution:
    """A pause was asked for; it is taken before the next step."""
    if state.status not in ("requested", "running"):
        return state
    if state.pausing is not None and not event.question:
        return state
    return replace(state, pausing=event.reason or "asked for")


def paused(state: Execution, event: ExecutionPaused, _: int) -> Execution:
    """It waits for a resume."""
    if state.status != "running":
        return state
    if event.step_id != state.step_id:
        state = entered(state, event.step_id)
    elif state.stage == "failed":  # the pause came between two attempts
        state = replace(state, stage="idle", statuses=without(state.statuses, state.step_id))
    if event.reason == goals.GOAL:
        state = goals.held(state)
    stopped, shown = state.stopped, state.shown
    if event.reason == "breakpoint":
        stopped = stopped if event.step_id in stopped else (*stopped, event.step_id)
        if event.prompt and event.step_id not in shown:
            shown = (*shown, event.step_id)
    return replace(
        folds.shown(state),
        status="paused",
        pausing=None,
        reason=event.reason,
        question=event.question,
        asked_at=event.gate,
        stopped=stopped,
        shown=shown,
        broke_at=event.step_id if event.reason == "breakpoint" else state.broke_at,
        stepping=None,
        pursuit=goals.stood_still(state),
        unrecorded=state.unrecorded + 1,
    )


def resumed(state: Execution, event: ExecutionResumed, _: int) -> Execution:
    """It continues where it stopped, or retries what stopped it."""
    stepping = state.step_id if event.stepping else None
    if state.status in ("requested", "running") and state.pausing is not None:
        return replace(state, pausing=None, stepping=stepping)  # before the pause was taken
    if state.status not in ("paused", "halted"):
        return state
    if state.status == "halted":
        state = goals.revived(state)
    statuses, first = state.statuses, state.first_attempt
    if state.status == "halted":
        # If a child stopped it, the attempt is not over: the child continues.
        first = state.attempt if state.stage in ("child", "fan") else state.attempt + 1
    if state.stage == "failed":
        statuses = without(statuses, state.step_id)
    fan = state.fan
    if fan is not None and state.status == "halted":
        fan = with_redo(fan)
    stage: Stage = "idle" if state.stage in ("failed", "gate_open") else state.stage
    return replace(
        state,
        status="running",
        stage=stage,
        fan=fan,
        statuses=statuses,
        first_attempt=first,
        gate_answer=(event.answer, event.by) if state.stage == "gate_open" else ("", ""),
        agreed=state.reason == AGREEMENT and event.answer == "approved",
        pursuit=goals.noted(state, event.note),
        stepping=stepping,
        reason="",
        question="",
        asked_at="",
    )


def breakpoints_changed(state: Execution, event: ExecutionBreakpointsChanged, _: int) -> Execution:
    """It pauses before other steps from now on."""
    # Where it stands at a breakpoint, that one was reached already.
    here = state.step_id if state.reason == "breakpoint" else None
    new = [each for each in event.added if each != here]
    return replace(
        state,
        breaks=event.breakpoints,
        stopped=tuple(step for step in state.stopped if step not in new),
        shown=tuple(step for step in state.shown if step not in new),
    )


def edited(state: Execution, event: ExecutionEdited, _: int) -> Execution:
    """It goes by other inputs, or another bound, from now on."""
    if state.started is None:
        return state
    started = replace(state.started, inputs=event.inputs, max_cost=event.max_cost)
    # Other inputs can change every prompt, so no prompt counts as shown.
    return replace(state, started=started, shown=() if event.changed else state.shown)


def halted(state: Execution, event: ExecutionHalted, _: int) -> Execution:
    """A gate or a failed step stopped it."""
    if state.status != "running":
        return state
    return replace(
        state,
        status="halted",
        reason=event.reason,
        pausing=None,
        stepping=None,
        pursuit=goals.stood_still(state),
        unrecorded=state.unrecorded + 1,
    )


def refused(state: Execution, event: ExecutionFailed, _: int) -> Execution:
    """It never began; after its begin only the engine can fail it."""
    if state.status not in ("unknown", "requested"):
        return state
    return replace(state, status="failed", reason=event.reason)


def stays(state: Execution, _event: Event, _: int) -> Execution:
    """Nothing changes."""
    return state


def ignored(state: Execution, event: ExecutionIgnored, _: int) -> Execution:
    """Somebody answered who was not asked; nothing else changes."""
    said = (event.by, event.answer, event.step_id, event.attempt)
    return replace(state, ignored=state.ignored | {said})


def charged(state: Execution, event: ExecutionCharged, _: int) -> Execution:
    """A child ended, maybe after the execution itself."""
    return replace(
        state,
        tokens=state.tokens + max(0, event.tokens),
        cost=state.cost + max(0.0, event.cost),
        usage=added(state.usage, usage_of(event.usage)),
        leaving=state.leaving - {event.child} if state.leaving else state.leaving,
    )


def reopened(state: Execution, event: StepReopened, _: int) -> Execution:
    """It goes back: what the dropped steps gave counts no more; that they were tried does."""
    if state.status != "running":
        return state
    failures = state.failures
    for step_id in event.dropped:
        result = state.results.get(step_id, {})
        failures = with_result(failures, step_id, state.attempts.get(step_id, 0), result)
    times = {event.by: event.times} if event.by else {}
    statuses = {k: v for k, v in state.statuses.items() if k not in event.dropped}
    # Where a person went back, each breakpoint on the way shows its prompt again.
    shown = state.shown if event.by else tuple(step for step in state.shown if step in statuses)
    return replace(
        entered(state, event.step_id),
        results={k: v for k, v in state.results.items() if k not in event.dropped},
        statuses=statuses,
        went_back={**state.went_back, **times},
        shown=shown,
        leaving=frozenset(event.leaving),
        pursuit=None,
        suspended=None,
        grown=goals.kept(state, event),
        failures=failures,
        reason="",
    )


def ended(
    state: Execution, event: ExecutionCompleted | ExecutionFailed | ExecutionCancelled, _: int
) -> Execution:
    """Nothing more happens to it."""
    if state.over:
        return state
    state = replace(state, question="", asked_at="", pausing=None)  # the question is closed
    if isinstance(event, ExecutionCompleted):
        return replace(state, status="completed", stage="idle", outputs=event.outputs)
    status: Literal["failed", "cancelled"] = (
        "failed" if isinstance(event, ExecutionFailed) else "cancelled"
    )
    return replace(state, status=status, stage="idle", reason=event.reason)
