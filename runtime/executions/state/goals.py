"""The fold of the work towards a goal: events add steps, and the attempt is kept meanwhile.

A step with a goal is one attempt that asks a model turn by turn. What the model or a person chooses
becomes a step: the attempt is set aside while that step runs, and then continues with its next
turn.
"""

from typing import Any, Final

from msgspec.structs import replace

from cortex.bus.events import StepProposed, StepReopened

from .state import Execution, Grown, Pursuit, anew, put_aside

GOAL: Final = "goal"  # reason of a pause: a person chooses the next action


def begun(state: Execution, attempt: int) -> Execution:
    """*state*, with an attempt under way that works towards the goal of its step."""
    pursuit = Pursuit(step_id=state.step_id, attempt=attempt, gates_passed=state.gates_passed)
    return replace(state, pursuit=pursuit, suspended=None)


def broken(state: Execution, step_id: str) -> Execution:
    """*state*, whose attempt at *step_id* failed: a resume can continue towards its goal."""
    if state.pursuit is None or state.pursuit.step_id != step_id:
        return state
    return replace(state, pursuit=None, suspended=put_aside(state).pursuit)


def revived(state: Execution) -> Execution:
    """*state*, continued after a halt: earlier spending towards its goal no longer counts."""
    left = state.suspended
    if left is None or left.step_id != state.step_id:
        return state
    anew_bounded = replace(
        left,
        turns_before=left.turn + 1,
        tokens=-state.tokens,
        cost=-state.cost,
        used_ns=0,
        since_ns=0,
        claims=0,
    )
    return replace(state, pursuit=anew_bounded, suspended=None)


def held(state: Execution) -> Execution:
    """*state*, which waits at its step for a person to say what is done towards the goal."""
    pursuit = state.pursuit
    if pursuit is not None and pursuit.step_id == state.step_id:
        return replace(put_aside(state), stage="idle")
    attempt = state.attempts.get(state.step_id, 0) + 1
    attempts = {**state.attempts, state.step_id: attempt}
    waiting = begun(replace(state, stage="idle", attempt=attempt, attempts=attempts), attempt)
    return put_aside(waiting)


def proposed(state: Execution, event: StepProposed, _: int) -> Execution:
    """A step was chosen; it is done next."""
    if state.status not in ("running", "paused", "halted"):
        return state
    state = revived(state) if state.pursuit is None else state
    if state.pursuit is None:  # a person acts where none was under way
        pursuit = Pursuit(step_id=event.goal, attempt=event.attempt, gates_passed=0, away=True)
        attempts = {**state.attempts, event.goal: event.attempt}
        state = replace(state, pursuit=pursuit, attempts=attempts)
    grown = Grown(
        step_id=event.step_id,
        goal=event.goal,
        attempt=event.attempt,
        name=event.action,
        parameters=event.parameters,
        timeout_s=event.timeout_s,
    )
    return replace(
        state,
        stage="tools" if state.stage in ("answered", "tools") else state.stage,
        grown=(*state.grown, grown),
        chosen=state.chosen + 1,
    )


def come_back(state: Execution, step_id: str) -> Execution:
    """*state*, at the attempt again that works towards the goal of *step_id*, for its next turn."""
    pursuit = state.pursuit
    if pursuit is None or pursuit.step_id != step_id:
        return state
    if not pursuit.away:  # it was said that the goal is reached, and it is not
        at_hand = state.stage in ("answered", "tools")
        stage = state.stage if at_hand else "tools"
        return replace(
            state,
            stage=stage,
            gates_passed=pursuit.gates_passed,
            gate_attempt=0,
            gate_answer=("", ""),  # the next question is another one
        )
    return replace(
        anew(state),
        stage="tools",
        step_id=step_id,
        gates_passed=pursuit.gates_passed,
        gate_attempt=0,
        gate_answer=("", ""),
        attempt=pursuit.attempt,
        first_attempt=pursuit.first_attempt,
        child="",
        turn=pursuit.turn,
        compiled=pursuit.compiled,
        parameters=pursuit.parameters,
        found=pursuit.found,
        remembered=pursuit.remembered,
        enabled=pursuit.enabled,
        problems=pursuit.problems,
        unfit=pursuit.unfit,
        attempt_tokens=pursuit.tokens + state.tokens,
        attempt_cost=pursuit.cost + state.cost,
    )


def pending(state: Execution) -> Grown | None:
    """The step that was chosen and is not done yet."""
    last = state.grown[-1] if state.grown else None
    return None if last is None or last.step_id in state.statuses else last


def checks(state: Execution, index: int) -> bool:
    """Whether the gate at *index* of the step at hand decides whether its goal is reached."""
    pursuit = state.pursuit
    return pursuit is not None and not pursuit.away and index >= pursuit.gates_passed


def is_at(state: Execution, event: Any) -> bool:
    """Whether *event* is about the attempt that works towards a goal."""
    pursuit = state.pursuit
    here = (event.step_id, event.attempt)
    return pursuit is not None and here == (pursuit.step_id, pursuit.attempt)


def is_done_with(state: Execution, event: Any) -> bool:
    """Whether *event* is about the step at hand, of which no attempt is under way any more."""
    here = (state.status, state.step_id, state.attempt)
    return state.pursuit is None and here == ("running", event.step_id, event.attempt)


def leads(state: Execution, step_id: str) -> bool:
    """Whether *step_id* has the goal that is worked towards, or is what was chosen for it."""
    pursuit, grown = state.pursuit, pending(state)
    of_goal = pursuit is not None and pursuit.step_id == step_id
    return of_goal or (grown is not None and grown.step_id == step_id)


def without(state: Execution, step_id: str) -> Pursuit | None:
    """What is left of the work towards a goal, once *step_id* is settled."""
    pursuit = state.pursuit
    return None if pursuit is not None and pursuit.step_id == step_id else pursuit


def kept(state: Execution, event: StepReopened) -> tuple[Grown, ...]:
    """The chosen steps that still count after the execution went back."""
    if not state.grown:
        return ()
    gone = {event.step_id, *event.dropped}
    if state.pursuit is not None:
        gone.add(state.pursuit.step_id)
    return tuple(each for each in state.grown if not {each.step_id, each.goal} & gone)


def ticked(state: Execution, time_ns: int) -> Execution:
    """*state* after something came in at *time_ns*: what passed since the last counts as work."""
    pursuit = state.pursuit
    if pursuit is None or state.status != "running":
        return state
    passed_ns = max(0, time_ns - pursuit.since_ns) if pursuit.since_ns else 0
    now = replace(pursuit, used_ns=pursuit.used_ns + passed_ns, since_ns=time_ns)
    return replace(state, pursuit=now)


def stood_still(state: Execution) -> Pursuit | None:
    """The work towards the goal, whose time does not pass any more."""
    pursuit = state.pursuit
    return pursuit if pursuit is None else replace(pursuit, since_ns=0)


def noted(state: Execution, note: str) -> Pursuit | None:
    """The work towards the goal, with what a person said about it."""
    pursuit = state.pursuit
    return pursuit if pursuit is None else replace(pursuit, note=note)
