"""Two outcomes side by side: of an execution, and of a what-if about it."""

from collections.abc import Iterator
from typing import Any

import msgspec

from cortex.bus import Event, Recorded
from cortex.bus.events import (
    ExecutionStarted,
    GateEvaluate,
    GateEvaluated,
    ModelFailed,
    ModelInvoke,
    ModelResponded,
    StepExecute,
    ToolCall,
)
from cortex.runtime.executions import counted, family
from cortex.runtime.executions.view import History, changed_of, outermost
from cortex.runtime.kernel import RefusedError

from .changes import head_of
from .plans import Plan


class ExecutionOutcome(msgspec.Struct, kw_only=True):
    """What came of an execution, with those that it called."""

    execution: str
    status: str
    reason: str = ""
    outputs: dict[str, Any] = {}
    gates: dict[str, str] = {}  # by "step/gate", the last outcome
    tokens: int = 0
    cost: float = 0.0  # US dollars, those on record included
    prompts: int = 0  # that a model was asked
    sent: int = 0  # of them, not from the record
    sent_cost: float = 0.0  # US dollars for those
    calls: int = 0  # of actions, tools and gates
    done: int = 0  # of them, not from the record
    effects: int = 0  # that were not on record


class WhatIfDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A what-if beside the execution that it is about."""

    plan: Plan | None = None  # None: it was made before, and has begun
    recorded: ExecutionOutcome
    changed: tuple[str, ...] = ()  # in words
    what_if: ExecutionOutcome | None = None  # None: it was planned alone
    differs: tuple[str, ...] = ()  # fields of the outcomes


_COMPARED = ("status", "outputs", "gates", "tokens", "cost")


def compared(history: History, what_if: str, plan: Plan | None = None) -> WhatIfDocument:
    """The what-if with the id *what_if* beside the execution that it is about.

    Args:
        history: Of the home, open.
        what_if: What has come of it counts, also while it runs.
        plan: By which it was begun, if that is at hand.

    Raises:
        RefusedError: It is no what-if.
        CortexError: The log cannot be read.
    """
    if plan is not None:
        about, changed = plan.execution, plan.changed
    else:
        began = _began(history, what_if)
        about, changed = began.fork_of, changed_of(began)
    then, now = outcome_of(history, about), outcome_of(history, what_if)
    differs = tuple(name for name in _COMPARED if getattr(then, name) != getattr(now, name))
    return WhatIfDocument(plan=plan, recorded=then, changed=changed, what_if=now, differs=differs)


def planned(history: History, plan: Plan) -> WhatIfDocument:
    """A what-if that has not begun, and the execution that it is about."""
    recorded = outcome_of(history, plan.execution)
    return WhatIfDocument(plan=plan, recorded=recorded, changed=plan.changed)


def _began(history: History, execution_id: str) -> ExecutionStarted:
    """How a what-if began."""
    history.refuse_erased(execution_id)
    began = history.execution(execution_id).started
    variation = began.variation if began is not None else None
    if began is None or variation is None or not variation.what_if:
        raise RefusedError(
            f"execution {execution_id} is no what-if: `cortex what-if {execution_id}` with what "
            "is to be other makes one, and `cortex diff` compares any two executions"
        )
    if variation.path:
        whole = outermost(history, execution_id)
        raise RefusedError(
            f"execution {execution_id} is a part of what-if {whole}: "
            f"`cortex what-if {whole} --compare`"
        )
    return began


def outcome_of(history: History, execution_id: str) -> ExecutionOutcome:
    """What came of an execution, as the log has it."""
    state = history.execution(execution_id)
    found = ExecutionOutcome(
        execution=execution_id,
        status=state.status,
        reason=state.reason if state.status != "completed" else "",
        outputs=state.outputs,
        tokens=state.tokens,
        cost=state.cost,
    )
    for _, event in _events(history, execution_id):
        _count(found, event)
    return found


def _events(history: History, execution_id: str) -> Iterator[tuple[Recorded, Event]]:
    own = family(execution_id, head_of(history), history.stream, history.vocabulary)
    for _, records in own:
        yield from counted(records, history.vocabulary)


def _count(found: ExecutionOutcome, event: Event) -> None:
    match event:
        case ModelInvoke():
            found.prompts += 1
            found.sent += not event.recorded
        case ModelResponded() | ModelFailed() if not event.recorded:
            found.sent_cost += event.cost
        case GateEvaluated():
            found.gates[f"{event.step_id}/{event.gate}".lstrip("/")] = event.outcome
        case StepExecute() | ToolCall() | GateEvaluate():
            found.calls += 1
            found.done += not event.recorded
            found.effects += getattr(event, "anew", False)
        case _:
            pass
