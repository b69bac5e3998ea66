"""What an execution and its attempts spent, and whether any budget is left."""

from typing import Any, Final

import msgspec
from msgspec import UNSET

from cortex.bus.events import ModelFailed, ModelResponded
from cortex.runtime.models import Usage
from cortex.runtime.processes import LinkedStep

from .state import Execution

GOAL_TURNS: Final = 30  # towards a goal, unless its budget gives another number
TURNS: Final = 12  # of an attempt that may use tools, unless its budget gives another number


def added(one: Usage, other: Usage) -> Usage:
    """Both together; no count takes anything back."""
    return Usage(
        input=max(0, one.input) + max(0, other.input),
        cached_read=max(0, one.cached_read) + max(0, other.cached_read),
        cached_write=max(0, one.cached_write) + max(0, other.cached_write),
        output=max(0, one.output) + max(0, other.output),
    )


def tokens_of(usage: Usage) -> int:
    """Tokens of all classes; one below nothing takes nothing from the others."""
    return sum(
        max(0, n) for n in (usage.input, usage.cached_read, usage.cached_write, usage.output)
    )


def by_class(usage: Usage) -> dict[str, int]:
    """*usage* as events hold it: the classes that are not zero."""
    plain: dict[str, int] = msgspec.to_builtins(usage)
    return {name: tokens for name, tokens in plain.items() if tokens}


def usage_of(plain: dict[str, Any]) -> Usage:
    """Usage as events have it."""
    return Usage(**{name: int(plain.get(name, 0)) for name in Usage.__struct_fields__})


def left(state: Execution, step: LinkedStep) -> float | None:
    """US dollars that the attempt may still spend; None where nothing bounds it."""
    bounds: list[float] = []
    if state.begun().max_cost is not None:
        bounds.append((state.begun().max_cost or 0.0) - state.cost)
    if step.budget.cost is not None:
        bounds.append(step.budget.cost - state.attempt_cost)
    return max(0.0, min(bounds)) if bounds else None


def spent_by_execution(state: Execution) -> str | None:
    """Why the execution may ask no model any more, or None."""
    allowed = state.begun().max_cost
    if allowed is None or state.cost < allowed or state.cost == 0:
        return None
    return (
        f"the execution has spent {dollars(state.cost)} of the {dollars(allowed)} that it may: "
        f"{may_spend_more(state)}"
    )


def more_to_spend(state: Execution, step: LinkedStep) -> str:
    """How a person lets the execution spend more, if its own bound is what there is too little of.

    A bound of the step is that of its process, and stays.
    """
    allowed, of_step = state.begun().max_cost, step.budget.cost
    if allowed is None:
        return ""
    if of_step is not None and of_step - state.attempt_cost < allowed - state.cost:
        return ""
    return may_spend_more(state)


def may_spend_more(state: Execution) -> str:
    """How a person lets the execution spend more."""
    return f"`cortex execution resume {state.execution_id} --max-cost USD` lets it spend more"


def spent(state: Execution, step: LinkedStep, *, correcting: bool = False) -> str | None:
    """Why the attempt may ask its model no more, or None.

    Asking once more for an answer that did not fit is no turn that counts.
    """
    budget = step.budget
    turns = state.turn + 1 - state.problems
    if step.goal is not UNSET and state.pursuit is not None:
        turns = state.turn + 1 - state.pursuit.turns_before
    allowed = budget.turns or (TURNS if step.goal is UNSET else GOAL_TURNS)
    if not correcting and turns >= allowed:
        return f"{step.id} took the {_turns(allowed)} that its budget allows, and wants another"
    if budget.tokens is not None and state.attempt_tokens >= budget.tokens:
        return (
            f"{step.id} has spent {state.attempt_tokens:,} of the {budget.tokens:,} tokens that "
            "its budget allows"
        )
    if budget.cost is not None and state.attempt_cost >= budget.cost:
        return (
            f"{step.id} has spent {dollars(state.attempt_cost)} of the {dollars(budget.cost)} that "
            "its budget allows"
        )
    return spent_by_execution(state)


def dollars(cost: float) -> str:
    """*cost* for people: small amounts keep their digits."""
    return f"${cost:,.2f}" if cost >= 1 or cost == 0 else f"${cost:.4g}"


def _turns(number: int) -> str:
    return "turn" if number == 1 else f"{number} turns"


def usage_of_answer(event: ModelResponded | ModelFailed) -> Usage:
    """Tokens of a model's answer by class."""
    return Usage(
        input=event.input_tokens,
        cached_read=event.cached_read_tokens,
        cached_write=event.cached_write_tokens,
        output=event.output_tokens,
    )
