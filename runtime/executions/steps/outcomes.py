"""How an execution stands or ended, as it is recorded: with all that it used until then."""

from typing import Any

from msgspec.structs import replace

from cortex.bus.events import (
    ExecutionCancelled,
    ExecutionCompleted,
    ExecutionFailed,
    ExecutionHalted,
)

from ..state.spending import by_class
from ..state.state import Execution
from ..state.values import clipped, too_large


def halted(
    state: Execution, reason: str, step_id: str, gate: str, evidence: dict[str, Any]
) -> ExecutionHalted:
    """It waits until a resume tries it again; without the *evidence* if that is too large."""
    event = ExecutionHalted(
        execution_id=state.execution_id,
        reason=clipped(reason),
        step_id=step_id,
        gate=gate,
        evidence=evidence,
        tokens=state.tokens,
        cost=state.cost,
        usage=by_class(state.usage),
    )
    # `gate.evaluated` holds it, too.
    return replace(event, evidence={}) if too_large(event) else event


def completed(state: Execution, outputs: dict[str, Any], now_ns: int) -> ExecutionCompleted:
    """It ended with these *outputs*, which may be too large to be recorded."""
    return ExecutionCompleted(
        execution_id=state.execution_id,
        outputs=outputs,
        tokens=state.tokens,
        own_tokens=state.own_tokens,
        cost=state.cost,
        own_cost=state.own_cost,
        usage=by_class(state.usage),
        own_usage=by_class(state.own_usage),
        duration_s=(now_ns - state.started_ns) / 1e9,
    )


def failed(state: Execution, reason: str, step_id: str) -> ExecutionFailed:
    """It cannot continue."""
    return ExecutionFailed(
        execution_id=state.execution_id,
        reason=clipped(reason),
        step_id=step_id,
        tokens=state.tokens,
        cost=state.cost,
        usage=by_class(state.usage),
    )


def cancelled(state: Execution, reason: str) -> ExecutionCancelled:
    """It ended because somebody asked for it."""
    return ExecutionCancelled(
        execution_id=state.execution_id,
        reason=clipped(reason),
        tokens=state.tokens,
        cost=state.cost,
        usage=by_class(state.usage),
    )
