"""The fold: the state of an execution after one more event.

An event that is late, repeated, or about an attempt that is over returns the same object, so
`after is before` means that it changed nothing.
"""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from cortex.bus import Event
from cortex.bus.events import (
    ContextCompile,
    ContextCompiled,
    ContextEdited,
    ContextRefused,
    EffectIntended,
    EffectSettled,
    EffectUnknown,
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
    ExecutionRefused,
    ExecutionRequest,
    ExecutionResumed,
    ExecutionStarted,
    GateEvaluate,
    GateEvaluated,
    KnowledgeRequest,
    KnowledgeRequested,
    MemoryRequest,
    MemoryRequested,
    ModelFailed,
    ModelInvoke,
    ModelResponded,
    StepCompleted,
    StepDelegated,
    StepExecute,
    StepFailed,
    StepFanned,
    StepInherited,
    StepItemChanged,
    StepProposed,
    StepReopened,
    StepSettled,
    StepSkipped,
    StepUnclaimed,
    ToolCall,
    ToolDenied,
    ToolEnabled,
    ToolFailed,
    ToolReturned,
)

from . import folds, goals, lifecycle, turns
from .asked import ANSWERS, ENGINE, MANAGER, asked_for, asker, names_of, speaks_for
from .failures import with_step, without_step
from .state import (
    ATTEMPTING,
    Execution,
    Stage,
    afresh,
    anew,
    answers,
    entered,
    without,
    without_fan,
)

_STAGES: Mapping[type[Event], Stage] = {
    KnowledgeRequest: "knowledge",
    MemoryRequest: "memory",
    ContextCompile: "context",
    StepExecute: "handler",
    StepDelegated: "child",
}
_CARRIED_OUT: tuple[Stage, ...] = ("child", "handler")


def evolve(
    state: Execution, event: Event, time_ns: int, *, own: bool = False, source: str = ""
) -> Execution:
    """The execution after *event*, which was recorded at *time_ns*.

    *own* events are the engine's: the same events from others mean less, or nothing.
    *source* is the publisher, as authenticated by the hub.
    """
    kind = type(event)
    fold = (OUTPUTS if own else INPUTS).get(kind)
    if fold is None or getattr(event, "execution_id", None) != state.execution_id:
        return state
    if isinstance(event, ExecutionStarted) and event.part is not None and source != ENGINE:
        return state  # only the engine begins the items of a step
    if kind is StepInherited and source != MANAGER:
        return state
    if kind in ANSWERS and not own and not speaks_for(source, asked_for(state, event)):
        return state
    after = folds.called(fold(state, event, time_ns), event) if own else fold(state, event, time_ns)
    if after.pursuit is not None and after is not state and not own:
        after = goals.ticked(after, time_ns)
    if after.status == "requested" and isinstance(event, ExecutionRequest) and after is not state:
        tree = event.tree if source == ENGINE else ""
        return replace(after, requested_by=asker(source, event.requested_by), tree=tree)
    return after


def stood_at(state: Execution, event: Event, position: int) -> Execution:
    """*state*, once it is known that the engine's own *event* was recorded at *position*."""
    if state.unrecorded and isinstance(event, ExecutionPaused | ExecutionHalted):
        return replace(state, stood=position, unrecorded=state.unrecorded - 1)
    return state


def _attempted(
    state: Execution,
    event: KnowledgeRequest | MemoryRequest | ContextCompile | StepExecute | StepDelegated,
    _: int,
) -> Execution:
    """A new attempt of a step begins, or the handler is asked in the one that is under way."""
    if isinstance(event, StepDelegated):
        if event.purpose == "item":
            return folds.item_begun(state, event)
        state = replace(state, children=state.children | {event.child})
        if event.purpose == "cleanup":
            return replace(state, stage="cleanup", child=event.child)
    if state.status != "running" or state.adhoc:
        return state
    asked = state.asked
    if isinstance(event, StepExecute):
        asked = names_of(event)
        if state.stage == "answered":
            return replace(state, stage="handler", asked=asked)
    if isinstance(event, ContextCompile) and turns.is_again(state, event):
        return turns.compiled_again(state)
    if isinstance(event, ContextCompile) and event.turn:
        return turns.another_turn(goals.come_back(state, event.step_id), event)
    same = event.step_id == state.step_id
    if isinstance(event, ContextCompile) and event.edits:
        state = folds.asked(state, event)
    begun = replace(
        anew(state) if same else entered(state, event.step_id),
        stage=_STAGES[type(event)],
        asked=asked,
        attempt=event.attempt,
        attempts={**state.attempts, event.step_id: event.attempt},
        parameters=getattr(event, "parameters", {}),  # a child, and a store, are given none
        found=_kept_passages(state, event),
        remembered=event.remembered if isinstance(event, ContextCompile) else "",
        child=event.child if isinstance(event, StepDelegated) else "",
        statuses=without(state.statuses, event.step_id),
    )
    if isinstance(event, ContextCompile) and event.linked:
        return goals.begun(begun, begun.attempt)
    return begun


def _kept_passages(state: Execution, event: Event) -> str:
    """What `find:` brought to the attempt that *event* begins, or goes on with."""
    if isinstance(event, ContextCompile):
        return event.found
    goes_on = isinstance(event, MemoryRequest) and answers(state, event, "knowledge")
    return state.found if goes_on else ""


def _completed(state: Execution, event: StepCompleted, _: int) -> Execution:
    if state.adhoc:
        return _observed(state, event.step_id, event.attempt, "completed", event.result)
    return _settled(state, event) if _ends(state, event) else state


def _said_completed(state: Execution, event: StepCompleted, _: int) -> Execution:
    """Published by the engine for a child, or after a person reported an outcome or result."""
    if state.adhoc:
        return _observed(state, event.step_id, event.attempt, "completed", event.result)
    if event.step_id in state.settled and state.status == "running":
        return _settled(_given_result(state, event), event)
    if goals.is_at(state, event):
        return _settled(goals.come_back(state, event.step_id), event)
    if state.fan is not None and answers(state, event, "fan"):
        return folds.joined(state.fan, _settled(without_fan(state), event), event)
    at_goal = state.stage == "idle" and goals.is_done_with(state, event)
    return _settled(state, event) if at_goal or answers(state, event, *_CARRIED_OUT) else state


def _given_result(state: Execution, event: StepCompleted) -> Execution:
    """*state*, at the step whose result a person gave; open requests in it are dropped."""
    return replace(
        afresh(state, event.step_id),
        attempt=event.attempt,
        attempts={**state.attempts, event.step_id: event.attempt},
        settled=without(state.settled, event.step_id),
    )


def _settled(state: Execution, event: StepCompleted) -> Execution:
    return replace(
        state,
        stage="idle",
        results={**state.results, event.step_id: event.result},
        statuses={**state.statuses, event.step_id: "completed"},
        failures=without_step(state.failures, event.step_id),
        pursuit=goals.without(state, event.step_id),
        effects={},
        unknown={},
    )


def _failed(state: Execution, event: StepFailed, _: int) -> Execution:
    if state.adhoc:
        return _observed(state, event.step_id, event.attempt, "failed", {})
    return _broken(state, event) if _ends(state, event) else state


def _unclaimed(state: Execution, event: StepUnclaimed, _: int) -> Execution:
    here = state.status == "running" and (state.stage, state.step_id) == ("handler", event.step_id)
    return replace(state, unclaimed=True) if here else state


def _ends(state: Execution, event: StepCompleted | StepFailed) -> bool:
    """Whether the handler reports on its attempt; an unclaimed step may be done during a pause."""
    stood = state.status == "paused" and state.stage == "handler"
    here = (state.step_id, state.attempt) == (event.step_id, event.attempt)
    return (stood and here) or answers(state, event, "handler")


def _given_up(state: Execution, event: StepFailed, _: int) -> Execution:
    """The engine ends an attempt: time, context, model or child; or it never gets to ask."""
    if state.status == "running" and goals.is_at(state, event):
        state = goals.come_back(state, event.step_id)
    if state.status in ("paused", "halted") and state.stage == "child":
        if event.step_id != state.step_id or event.attempt != state.attempt:
            return state  # otherwise its child ended while both were stopped: it stays stopped
    elif state.status == "running" and (state.stage == "idle" or goals.leads(state, event.step_id)):
        if event.step_id != state.step_id:
            state = entered(state, event.step_id)
    elif not answers(state, event, *ATTEMPTING) and not _never_asked(state, event):
        return state
    return _broken(state, event)


def _never_asked(state: Execution, event: StepFailed) -> bool:
    """Whether it ends a retry of a step before any request was made."""
    here = state.status == "running" and state.stage == "failed"
    return here and (event.step_id, event.attempt) == (state.step_id, state.attempt + 1)


def _broken(state: Execution, event: StepFailed) -> Execution:
    if state.fan is not None:
        state = folds.given_up(state, state.fan)
    state = goals.broken(state, event.step_id)
    return replace(
        state,
        stage="failed",
        attempt=event.attempt,
        attempts={**state.attempts, event.step_id: event.attempt},
        failures=with_step(state.failures, event, state.compiled.model if state.compiled else ""),
        reason=event.error,
        results=without(state.results, event.step_id),
        statuses={**state.statuses, event.step_id: "failed"},
        effects={},
        unknown={},
    )


def _skipped(state: Execution, event: StepSkipped, _: int) -> Execution:
    if state.status != "running" and state.pursuit is None:
        return state  # what was chosen towards a goal is dropped where that ends, too
    if event.step_id in state.settled:
        settled = without(state.settled, event.step_id)
        state = replace(afresh(state, event.step_id), stage="idle", settled=settled)
    return replace(state, statuses={**state.statuses, event.step_id: "skipped"})


def _person_settled(state: Execution, event: StepSettled, _: int) -> Execution:
    """A person gives the result of a step: applied at once if the step is done."""
    if state.statuses.get(event.step_id) is None or event.step_id == state.step_id:
        return replace(state, settled={**state.settled, event.step_id: event})
    if event.outcome == "skipped":
        statuses = {**state.statuses, event.step_id: "skipped"}
        return replace(state, results=without(state.results, event.step_id), statuses=statuses)
    return replace(
        state,
        results={**state.results, event.step_id: event.result},
        statuses={**state.statuses, event.step_id: "completed"},
    )


def _observed(
    state: Execution, step_id: str, attempt: int, status: str, result: dict[str, Any]
) -> Execution:
    if state.status not in ("running", "paused") or (step_id, attempt) in state.observed:
        return state
    over = [k for k, e in state.effects.items() if (e.step_id, e.attempt) == (step_id, attempt)]
    return replace(
        state,
        effects={key: each for key, each in state.effects.items() if key not in over},
        unknown={key: each for key, each in state.unknown.items() if key not in over},
        observed=state.observed | {(step_id, attempt)},
        results={**state.results, step_id: result},
        statuses={**state.statuses, step_id: status},
    )


Fold = Callable[[Execution, Any, int], Execution]

# What anyone may say; the engine subscribes to these.
INPUTS: Mapping[type[Event], Fold] = {
    ExecutionRequest: lifecycle.request,
    ExecutionStarted: lifecycle.started,
    StepInherited: lifecycle.inherited,
    ExecutionPause: lifecycle.pause,
    ExecutionFailed: lifecycle.refused,
    GateEvaluated: folds.gate_answered,
    KnowledgeRequested: folds.found,
    MemoryRequested: folds.remembered,
    ContextCompiled: turns.compiled,
    ContextRefused: turns.refused,
    ModelResponded: turns.responded,
    ModelFailed: turns.model_failed,
    ToolReturned: turns.told,
    ToolFailed: turns.told,
    ToolDenied: turns.told,
    StepCompleted: _completed,
    StepFailed: _failed,
    StepUnclaimed: _unclaimed,
    EffectIntended: folds.intended,
    EffectUnknown: folds.unknown,
}

# Events of the engine: folded when published, and not again when read back from the log.
OUTPUTS: Mapping[type[Event], Fold] = {
    ExecutionPaused: lifecycle.paused,
    ExecutionResumed: lifecycle.resumed,
    ExecutionHalted: lifecycle.halted,
    ExecutionCompleted: lifecycle.ended,
    ExecutionFailed: lifecycle.ended,
    ExecutionCancelled: lifecycle.ended,
    ExecutionCharged: lifecycle.charged,
    ExecutionIgnored: lifecycle.ignored,
    ExecutionBreakpointsChanged: lifecycle.breakpoints_changed,
    ExecutionEdited: lifecycle.edited,
    ExecutionRefused: lifecycle.stays,
    GateEvaluate: folds.gate_asked,
    KnowledgeRequest: _attempted,
    MemoryRequest: _attempted,
    ContextCompile: _attempted,
    ModelInvoke: turns.invoked,
    ToolCall: turns.called,
    ToolDenied: turns.called,
    ToolEnabled: turns.enabled,
    ToolFailed: turns.told,
    StepExecute: _attempted,
    StepDelegated: _attempted,
    StepFanned: folds.fanned,
    StepItemChanged: folds.item_changed,
    StepCompleted: _said_completed,
    StepFailed: _given_up,
    StepSkipped: _skipped,
    StepProposed: goals.proposed,
    StepReopened: lifecycle.reopened,
    StepSettled: _person_settled,
    ContextEdited: folds.edited,
    EffectUnknown: folds.unknown,
    EffectSettled: folds.settled,
    ToolReturned: turns.told,
}
