"""The fold: what an event makes of an execution.

An event that comes late, twice, or about an attempt that is over leaves the very same object
behind, so that `after is before` says "this changes nothing".
"""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from cortex.bus import Event
from cortex.bus.events import (
    ContextCompile,
    ContextCompiled,
    ContextRefused,
    ExecutionCancelled,
    ExecutionCompleted,
    ExecutionFailed,
    ExecutionHalted,
    ExecutionPause,
    ExecutionPaused,
    ExecutionRequest,
    ExecutionResumed,
    ExecutionStarted,
    GateEvaluate,
    GateEvaluated,
    ModelFailed,
    ModelInvoke,
    ModelResponded,
    StepCompleted,
    StepDelegated,
    StepExecute,
    StepFailed,
    StepSkipped,
)

from . import lifecycle
from .state import ATTEMPTING, Execution, Stage, entered, without

_STAGES: Mapping[type[Event], Stage] = {
    ContextCompile: "context",
    StepExecute: "handler",
    StepDelegated: "child",
}


def evolve(state: Execution, event: Event, time_ns: int, *, own: bool = False) -> Execution:
    """The execution after *event*, which was recorded at *time_ns*.

    What the engine says itself is its *own*: the same words from others mean less, or nothing.
    """
    fold = (OUTPUTS if own else INPUTS).get(type(event))
    if fold is None or getattr(event, "execution_id", None) != state.execution_id:
        return state
    return fold(state, event, time_ns)


def _gate_asked(state: Execution, event: GateEvaluate, _: int) -> Execution:
    if state.status != "running":
        return state
    if event.step_id != state.step_id:
        state = entered(state, event.step_id)
    return replace(state, stage="gate", gate_attempt=event.attempt)


def _gate_answered(state: Execution, event: GateEvaluated, _: int) -> Execution:
    asked = (state.step_id, state.gates_passed, state.gate_attempt)
    if state.status != "running" or state.stage != "gate":
        return state
    if asked != (event.step_id, event.index, event.attempt):
        return state
    if event.outcome != "passed":
        return replace(state, stage="gate_open")
    return replace(
        state,
        stage="idle",
        gates_passed=state.gates_passed + 1,
        gate_attempt=0,
        gate_answer=("", ""),
    )


def _attempted(
    state: Execution, event: ContextCompile | StepExecute | StepDelegated, _: int
) -> Execution:
    """A new attempt of a step begins, or the handler is asked in the one that is under way."""
    if isinstance(event, StepDelegated) and event.purpose == "cleanup":
        return replace(state, stage="cleanup", child=event.child)
    if state.status != "running" or state.adhoc:
        return state
    if isinstance(event, StepExecute) and state.stage == "answered":
        return replace(state, stage="handler")
    if event.step_id != state.step_id:
        state = entered(state, event.step_id)
    return replace(
        state,
        stage=_STAGES[type(event)],
        attempt=event.attempt,
        parameters={} if isinstance(event, StepDelegated) else event.parameters,
        child=event.child if isinstance(event, StepDelegated) else "",
        compiled=None,
        answer={},
        statuses=without(state.statuses, event.step_id),
    )


def _compiled(state: Execution, event: ContextCompiled, _: int) -> Execution:
    if not _answers(state, event, "context"):
        return state
    return replace(state, stage="compiled", compiled=event)


def _refused(state: Execution, event: ContextRefused, _: int) -> Execution:
    # The step fails by the `step.failed` that follows; until then the attempt only knows why.
    if not _answers(state, event, "context"):
        return state
    return replace(state, reason=event.reason)


def _invoked(state: Execution, event: ModelInvoke, _: int) -> Execution:
    return replace(state, stage="model") if _answers(state, event, "compiled") else state


def _responded(state: Execution, event: ModelResponded, _: int) -> Execution:
    prompt = state.compiled
    if not _answers(state, event, "model") or prompt is None:
        return state
    sent = event.input_tokens + event.cached_read_tokens + event.cached_write_tokens
    return replace(
        state,
        stage="answered",
        answer=event.answer,
        tokens=state.tokens + (sent or prompt.tokens) + event.output_tokens,
    )


def _model_failed(state: Execution, event: ModelFailed, _: int) -> Execution:
    return replace(state, reason=event.error) if _answers(state, event, "model") else state


def _completed(state: Execution, event: StepCompleted, _: int) -> Execution:
    if state.adhoc:
        return _observed(state, event.step_id, event.attempt, "completed", event.result)
    return _settled(state, event) if _answers(state, event, "handler") else state


def _child_completed(state: Execution, event: StepCompleted, _: int) -> Execution:
    return _settled(state, event) if _answers(state, event, "child") else state


def _settled(state: Execution, event: StepCompleted) -> Execution:
    return replace(
        state,
        stage="idle",
        results={**state.results, event.step_id: event.result},
        statuses={**state.statuses, event.step_id: "completed"},
    )


def _failed(state: Execution, event: StepFailed, _: int) -> Execution:
    if state.adhoc:
        return _observed(state, event.step_id, event.attempt, "failed", {})
    return _broken(state, event) if _answers(state, event, "handler") else state


def _given_up(state: Execution, event: StepFailed, _: int) -> Execution:
    """The engine ends an attempt: time, context, model or child; or it never gets to ask."""
    if state.status == "running" and state.stage == "idle":
        if event.step_id != state.step_id:
            state = entered(state, event.step_id)
    elif not _answers(state, event, *ATTEMPTING):
        return state
    return _broken(state, event)


def _broken(state: Execution, event: StepFailed) -> Execution:
    return replace(
        state,
        stage="failed",
        attempt=event.attempt,
        reason=event.error,
        results=without(state.results, event.step_id),
        statuses={**state.statuses, event.step_id: "failed"},
    )


def _skipped(state: Execution, event: StepSkipped, _: int) -> Execution:
    if state.status != "running":
        return state
    return replace(state, statuses={**state.statuses, event.step_id: "skipped"})


def _observed(
    state: Execution, step_id: str, attempt: int, status: str, result: dict[str, Any]
) -> Execution:
    if state.status != "running" or (step_id, attempt) in state.observed:
        return state
    return replace(
        state,
        observed=state.observed | {(step_id, attempt)},
        results={**state.results, step_id: result},
        statuses={**state.statuses, step_id: status},
    )


def _answers(state: Execution, event: Any, *stages: Stage) -> bool:
    return (
        state.status == "running"
        and state.stage in stages
        and state.step_id == event.step_id
        and state.attempt == event.attempt
    )


Fold = Callable[[Execution, Any, int], Execution]

# What anyone may say; the engine subscribes to these.
INPUTS: Mapping[type[Event], Fold] = {
    ExecutionRequest: lifecycle.request,
    ExecutionStarted: lifecycle.started,
    ExecutionPause: lifecycle.pause,
    ExecutionFailed: lifecycle.refused,
    GateEvaluated: _gate_answered,
    ContextCompiled: _compiled,
    ContextRefused: _refused,
    ModelResponded: _responded,
    ModelFailed: _model_failed,
    StepCompleted: _completed,
    StepFailed: _failed,
}

# What the engine says: folded where it says it, and not again when it comes back from the log.
OUTPUTS: Mapping[type[Event], Fold] = {
    ExecutionPaused: lifecycle.paused,
    ExecutionResumed: lifecycle.resumed,
    ExecutionHalted: lifecycle.halted,
    ExecutionCompleted: lifecycle.ended,
    ExecutionFailed: lifecycle.ended,
    ExecutionCancelled: lifecycle.ended,
    GateEvaluate: _gate_asked,
    ContextCompile: _attempted,
    ModelInvoke: _invoked,
    StepExecute: _attempted,
    StepDelegated: _attempted,
    StepCompleted: _child_completed,
    StepFailed: _given_up,
    StepSkipped: _skipped,
}
