"""How an execution grows: an action that is chosen towards a goal becomes an ordinary step."""

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from cortex.bus.events import StepProposed
from cortex.runtime.processes import (
    Constant,
    Continue,
    Goal,
    Granted,
    LinkedProcess,
    LinkedStep,
    MapOf,
    MissingValueError,
    Origin,
    fill,
    wrong_answer,
)

from ..state.goals import come_back, revived
from ..state.state import Execution, Grown
from ..state.values import too_large
from .outbox import Outbox


def propose(
    outbox: Outbox,
    step: LinkedStep,
    grant: Granted,
    parameters: dict[str, Any],
    *,
    by: str,
    call_id: str = "",
    note: str = "",
) -> str | None:
    """Let a step grow out of what was chosen towards the goal of *step*.

    What is wrong comes back, and nothing was said then; None where all is well.
    """
    state = outbox.state
    if reserved := _not_to_choose(grant, parameters, by_model=bool(call_id)):
        return f"{grant.name} is not done: {reserved}"
    problem = checked_as_declared(parameters, grant.parameters)
    if problem:
        return f"the parameters of {grant.name} are not as declared: {problem}"
    try:
        parameters = {**parameters, **fill(grant.given, state.scope())}
    except MissingValueError as error:
        return f"a fixed parameter of {grant.name} has no value: {error}"
    under_way = state.pursuit or state.suspended
    at_hand = under_way is not None and under_way.step_id == step.id
    attempt = under_way.attempt if at_hand and under_way else _next(state, step)
    proposed = StepProposed(
        execution_id=state.execution_id,
        step_id=f"{step.id}.{state.chosen + 1}",
        goal=step.id,
        attempt=attempt,
        turn=come_back(revived(state), step.id).turn,
        call_id=call_id,
        action=grant.name,
        parameters=parameters,
        timeout_s=left_s(state, step, outbox.now_ns),
        by=by,
        note=note,
    )
    too_much = too_large(proposed)
    if too_much is None:
        outbox.say(proposed)
    return too_much


def _not_to_choose(grant: Granted, parameters: dict[str, Any], *, by_model: bool) -> str:
    """Which of *parameters* may not be chosen, and what to do instead; "" if all may."""
    given = {name for name, _ in grant.given.entries}
    for name in parameters:
        if name in given:
            return f"{name[:100]} is fixed: leave it out"
        if by_model and name in grant.people:
            return f"{name[:100]} is for people to choose: leave it out"
    return ""


def left_s(state: Execution, step: LinkedStep, now_ns: int) -> float | None:
    """Seconds that may still be worked towards the goal of *step*; None where nothing bounds it."""
    bounds = [each for each in (step.timeout_s, step.budget.time_s) if each is not None]
    pursuit = state.pursuit
    if not bounds or pursuit is None:
        return min(bounds, default=None)
    used_ns = pursuit.used_ns
    if pursuit.since_ns and state.status == "running":
        used_ns += max(0, now_ns - pursuit.since_ns)
    return max(0.0, min(bounds) - used_ns / 1e9)


def widened(process: LinkedProcess, state: Execution) -> LinkedProcess:
    """*process*, with the chosen steps each before the step whose goal it was chosen for."""
    if not state.grown:
        return process
    steps: list[LinkedStep] = []
    for step in process.steps:
        if step.goal is not UNSET:
            goal = step.goal
            of_step = (each for each in state.grown if each.goal == step.id)
            steps += [_grown(each, step, goal, state) for each in of_step]
        steps.append(step)
    return replace(process, steps=tuple(steps))


def goal_at_hand(process: LinkedProcess, state: Execution) -> LinkedStep | None:
    """The step of *process* whose goal is worked towards, or else the current one."""
    if state.started is None or state.over:
        return None
    at = state.pursuit.step_id if state.pursuit is not None else state.step_id
    found = (step for step in process.steps if step.id == at and step.goal is not UNSET)
    return next(found, None)


def checked_as_declared(parameters: dict[str, Any], schema: dict[str, Any]) -> str | None:
    """What is wrong with *parameters* that have to fit *schema*; None where they do."""
    known = schema.get("properties", {})
    extra = [name for name in parameters if name not in known]
    if extra and known and not schema.get("additionalProperties"):
        return f"there is no parameter {', '.join(extra)[:100]}"
    return wrong_answer(parameters, schema)


def _grown(grown: Grown, step: LinkedStep, goal: Goal, state: Execution) -> LinkedStep:
    grant = goal.grant(grown.name) or Granted(name=grown.name)
    given = sorted(grown.parameters.items())
    return LinkedStep(
        id=grown.step_id,
        action=grant.action,
        child=grant.child,
        description=f"{grown.name}, towards the goal of {step.id}",
        # Whatever a model wrote is a value: no reference in it is looked up.
        parameters=MapOf(tuple((name, Constant(value)) for name, value in given)),
        timeout_s=grown.timeout_s,
        on_failure=Continue(),
        breakpoint=grant.breakpoint or grown.name in state.begun().breakpoints,
        gates=grant.gates,
        knowledge=step.knowledge,
        needs=step.needs,
        origin=Origin(process=step.origin.process),
    )


def _next(state: Execution, step: LinkedStep) -> int:
    return state.attempts.get(step.id, 0) + 1
