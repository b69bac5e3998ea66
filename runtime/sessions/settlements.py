"""Reads a person's report on effects and steps from the command line, or refuses it."""

from cortex.bus import Client, serving
from cortex.bus.events import EffectSettle, StepSettle
from cortex.runtime.executions import (
    EFFECT,
    Execution,
    do_again,
    give_result,
    it_happened,
    open_effects,
    question_of,
    skip,
)
from cortex.runtime.executions.view import History, asking_items, waiting_child
from cortex.runtime.kernel import RefusedError
from cortex.runtime.processes import SettlementError

from .errors import WaitingError

SAY_WHAT = "--it-happened RESULT` or --do-it-again"


def settlement_of(
    client: Client, history: History, execution_id: str, result: str | None, seen: int
) -> EffectSettle:
    """That what an execution, or a child of it, asks about gave *result*; None: do it again.

    Raises:
        RefusedError: Nobody asks about an effect, or the result is not as its action declares it.
    """
    state = _asking(history, execution_id)
    asking = asking_items(state)
    if len(asking) > 1:
        named = ", ".join(asking)
        raise RefusedError(f"{len(asking)} items of {state.step_id} ask: name one of {named}")
    try:
        if result is None:
            return do_again(state, seen=seen)
        with serving(history.subject_of(state.execution_id)):
            return it_happened(client, history.blobs, state, result, seen=seen)
    except SettlementError as error:
        raise RefusedError(str(error)) from None


def step_settlement(
    client: Client, history: History, execution_id: str, step_id: str, result: str | None
) -> StepSettle:
    """That a step of an execution gave *result*; None: that it is skipped.

    Raises:
        RefusedError: The result is not as its action declares it.
    """
    state = history.execution(execution_id)
    if result is None:
        return skip(state, step_id, seen=0)
    try:
        with serving(history.subject_of(execution_id)):
            return give_result(client, history.blobs, state, step_id, result, seen=0)
    except SettlementError as error:
        raise RefusedError(str(error)) from None


def refuse_unsettled(history: History, execution_id: str) -> None:
    """Refuse to continue an execution that asks about an effect.

    Raises:
        WaitingError: It does, or a child of it does.
    """
    if effects := open_effects(_asking(history, execution_id)):
        raise WaitingError(execution_id, question_of(effects[0]), SAY_WHAT)


def refuse_unanswered(state: Execution) -> None:
    """Refuse to continue a step whose items ask a person something.

    Raises:
        WaitingError: They do; it names the first.
    """
    for child, live in asking_items(state).items():
        options = SAY_WHAT if live.reason == EFFECT else "--approve` or --deny"
        raise WaitingError(child, live.question, options)


def refuse_step(state: Execution, step_id: str) -> None:
    """Refuse to go back to a step that the execution has not reached.

    Raises:
        RefusedError: It has not reached the step, or is running.
    """
    execution_id = state.execution_id
    if state.status not in ("paused", "halted"):
        raise RefusedError(
            f"execution {execution_id} is {state.status}: pause it, then go back to {step_id}"
        )
    chosen = {each.step_id: each.goal for each in state.grown}
    if step_id in chosen:
        raise RefusedError(
            f"{step_id} was chosen towards the goal of {chosen[step_id]}: go back to that"
        )
    reached = dict.fromkeys((*state.statuses, state.step_id))
    if step_id not in reached:
        been = ", ".join(filter(None, reached)) or "none"
        raise RefusedError(
            f"execution {execution_id} was not at a step {step_id!r}: it was at {been}"
        )


def _asking(history: History, execution_id: str) -> Execution:
    """The execution, that or a child of it, that asks about an effect; or that one itself."""
    state = history.execution(execution_id)
    child = waiting_child(state)
    inner = _asking(history, child) if child else state
    return inner if open_effects(inner) else state
