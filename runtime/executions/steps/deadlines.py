"""When an execution comes back to what is under way: bounds of attempts, retries and looks."""

from collections.abc import Sequence
from typing import Final

from msgspec import UNSET

from cortex.bus import Backoff
from cortex.bus.events import StepFailed, StepWake
from cortex.runtime.kernel import Forget, Later
from cortex.runtime.processes import LinkedStep, Retry

from ..state.state import Execution
from .requests import TOOL_TIMEOUT_S

TOOL_GRACE_S = 30.0  # for the way there and back
GATE_DEADLINE_S = 900.0  # then the gate has not answered: time to wait in a queue, and for retries
MODEL_BACKOFF: Final = Backoff(first_s=2.0, longest_s=300.0)
MODEL_JITTER: Final = 0.5  # of the wait at most, on top: those who were refused together part
LOOKS: Final = Backoff(first_s=0.1, longest_s=2.0)  # for the tools of a step
OFTEN: Final = 34  # looks for tools that come within a minute
SELDOM_S: Final = 10.0  # between the later ones


def wake(
    state: Execution,
    step_id: str,
    attempt: int,
    what: str,
    after_s: float,
    now_ns: int,
    *,
    index: int = 0,
    turn: int = 0,
) -> Later:
    """A deadline *after_s* from now for one attempt of a step."""
    event = StepWake(
        execution_id=state.execution_id,
        step_id=step_id,
        attempt=attempt,
        what=what,
        index=index,
        turn=turn,
    )
    return Later(_deadline(state, step_id, attempt, what), now_ns + round(after_s * 1e9), event)


def model_wake(state: Execution, after_s: float, now_ns: int) -> Later:
    """The time at which the prompt is sent again."""
    place = state.step_id, state.attempt
    return wake(state, *place, "model", after_s, now_ns, index=state.call, turn=state.turn)


def tools_wake(state: Execution, now_ns: int) -> Later:
    """A deadline for the tools that are at work; each that answers begins it anew."""
    after_s, place = TOOL_TIMEOUT_S + TOOL_GRACE_S, (state.step_id, state.attempt)
    index = len(state.open_calls)
    return wake(state, *place, "tools", after_s, now_ns, index=index, turn=state.turn)


def bounds_of(step: LinkedStep) -> Sequence[tuple[str, float]]:
    """What may bound an attempt of *step*, with its seconds."""
    timeout_s, budget_s = step.timeout_s, step.budget.time_s
    if timeout_s is None and budget_s is None:
        return ()
    if step.fan is not UNSET:
        timeout_s = None  # of a step with several items it is that of each
    bounds = (("timeout", timeout_s), ("budget", budget_s))
    return [(what, after_s) for what, after_s in bounds if after_s is not None]


def gate_wake(state: Execution, now_ns: int) -> Later:
    """A deadline for the gate that was just asked."""
    place = (state.step_id, state.gates_passed, state.gate_attempt)
    return Later(
        _gate_deadline(state.execution_id, *place),
        now_ns + round(GATE_DEADLINE_S * 1e9),
        StepWake(
            execution_id=state.execution_id,
            step_id=state.step_id,
            attempt=state.gate_attempt,
            what="gate",
            index=state.gates_passed,
        ),
    )


def forget_gate(execution_id: str, step_id: str, index: int, attempt: int) -> Forget:
    """Drop the deadline of a gate."""
    return Forget(_gate_deadline(execution_id, step_id, index, attempt))


def forget_wake(state: Execution, what: str) -> Forget:
    """Drop the deadline of the current attempt of *state*."""
    return Forget(_deadline(state, state.step_id, state.attempt, what))


def _deadline(state: Execution, step_id: str, attempt: int, what: str) -> str:
    return f"execution/{state.execution_id}/{step_id}/{attempt}/{what}"


def _gate_deadline(execution_id: str, step_id: str, index: int, attempt: int) -> str:
    return f"execution/{execution_id}/{step_id}/gate/{index}/{attempt}"


def wait_before_call(calls: int, asked_s: float | None, fraction: float) -> float:
    """Seconds until a model is asked again.

    Args:
        calls: How often it was asked.
        asked_s: What the endpoint asks for; it is given that, up to the longest wait.
        fraction: From 0 to 1, another one for each that waits.
    """
    longest_s = MODEL_BACKOFF.longest_s
    wait_s = max(MODEL_BACKOFF.after_s(calls), asked_s or 0.0)
    if not wait_s < longest_s:  # what is no number is longer, too
        return longest_s
    return min(longest_s, wait_s * (1 + MODEL_JITTER * fraction))


def wait_before_look(looks: int) -> float:
    """Seconds until it is looked again whether the tools of a step are there."""
    return LOOKS.after_s(looks + 1) if looks < OFTEN else SELDOM_S


def waited_s(looks: int) -> float:
    """Seconds that so many looks took together."""
    return sum(wait_before_look(each) for each in range(looks))


def wait_before_retry(retry: Retry, tries: int, failed: StepFailed) -> float | None:
    """Seconds until the next attempt after *tries* failed ones; None if there is no next."""
    if not failed.retry or tries >= retry.attempts:
        return None
    if retry.on and failed.kind not in retry.on:
        return None
    return Backoff(retry.backoff_s, retry.max_backoff_s, retry.factor).after_s(tries)
