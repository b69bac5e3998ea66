"""What follows a failed attempt: the next attempt, or the step's `on_failure`."""

from typing import TYPE_CHECKING

from msgspec import UNSET

from cortex.bus.events import StepFailed
from cortex.runtime.processes import (
    BackTo,
    Continue,
    GoTo,
    Halt,
    LinkedProcess,
    LinkedStep,
    MissingValueError,
    RunProcess,
    fill,
)

from ..state.state import Execution
from . import pursuing
from .deadlines import GATE_DEADLINE_S, wait_before_retry
from .outbox import Outbox
from .recalling import waited

if TYPE_CHECKING:
    from .step_sequencer import StepSequencer


def recover(sequencer: "StepSequencer", outbox: Outbox, failed: StepFailed) -> None:
    """Try again, or follow the step's `on_failure`."""
    step = sequencer.step
    outbox.drop_timeout(step)
    tries = failed.attempt - outbox.state.first_attempt + 1
    wait_s = wait_before_retry(step.retry, tries, failed)
    if wait_s is None:
        _give_up(sequencer, outbox, step, failed)
    elif outbox.state.pausing is not None:
        outbox.pause(outbox.state.pausing, step.id)
    elif wait_s > 0:
        outbox.retry_after(waited(outbox.state, wait_s))
    else:
        sequencer.try_again()


def halts(state: Execution, step: LinkedStep) -> bool:
    """Whether *step* halts the execution when the attempt that is under way fails."""
    failed = StepFailed(execution_id=state.execution_id, step_id=step.id, error="")
    tries = state.attempt - state.first_attempt + 1
    tried_again = wait_before_retry(step.retry, tries, failed) is not None
    return isinstance(step.on_failure, Halt) and not tried_again


def ran_out(sequencer: "StepSequencer", outbox: Outbox, what: str) -> None:
    """The time of the attempt is over."""
    state, step = outbox.state, sequencer.step
    error, kind = _out_of_time(state, step, what)
    if state.stage == "handler" and step.action is not None and step.action.may_be_once:
        # A worker may begin it at this very moment. None does once the failure is recorded, so
        # that what follows is decided when all that came before that was seen.
        outbox.fail_step(step.id, state.attempt, error, kind, retry=kind == "timeout")
        outbox.look_at_timeout(what, 0.0)
        return
    if state.stage in ("child", "fan"):
        outbox.cancel_child(f"{step.id} of its parent ran out of time")
    sequencer.fail(error, kind, retry=kind == "timeout")


def gave_up(sequencer: "StepSequencer", outbox: Outbox, what: str) -> None:
    """The time was over before anybody began: follow the step's `on_failure`."""
    state = outbox.state
    error, kind = _out_of_time(state, sequencer.step, what)
    failed = StepFailed(
        execution_id=state.execution_id,
        step_id=state.step_id,
        attempt=state.attempt,
        error=error,
        kind=kind,
        retry=kind == "timeout",
    )
    recover(sequencer, outbox, failed)


def _out_of_time(state: Execution, step: LinkedStep, what: str) -> tuple[str, str]:
    if what == "budget":
        took_s = step.budget.time_s or 0
        return f"{step.id} took the {took_s:g} s that its budget allows", "budget"
    return f"attempt {state.attempt} of {step.id} ran out of time", "timeout"


def _give_up(
    sequencer: "StepSequencer", outbox: Outbox, step: LinkedStep, failed: StepFailed
) -> None:
    pursuing.observe(outbox, step.id, "failed")
    match step.on_failure:
        case Halt():
            evidence = {"kind": failed.kind, "attempt": failed.attempt}
            outbox.halt(failed.error, step.id, evidence=evidence)
        case Continue():
            sequencer.go_on()
        case GoTo(target):
            _skip_to(sequencer, outbox, target, step.id)
            sequencer.go_on()
        case BackTo(target, times):
            _go_back(sequencer, outbox, failed, target, times)
        case RunProcess() as cleanup:
            _clean_up(outbox, step, failed, cleanup)


def _go_back(
    sequencer: "StepSequencer", outbox: Outbox, failed: StepFailed, target: str, times: int
) -> None:
    step_id = sequencer.step.id
    went = outbox.state.went_back.get(step_id, 0)
    if went < times:
        sequencer.go_back(target, failed.error, step_id)
    else:
        often = "once" if times == 1 else f"{times} times"
        evidence = {"kind": failed.kind, "attempt": failed.attempt, "went_back": went}
        hint = f"resume --from {target} tries again"
        reason = f"{failed.error} (went back to {target} {often}; {hint})"
        outbox.halt(reason, step_id, evidence=evidence)


def _skip_to(sequencer: "StepSequencer", outbox: Outbox, target: str, failed_id: str) -> None:
    for step in sequencer.process.steps:
        if step.id == target:
            return
        if step.id not in outbox.state.statuses:
            outbox.skip(step.id, f"{failed_id} failed, and the execution continues at {target}")


def _clean_up(outbox: Outbox, step: LinkedStep, failed: StepFailed, cleanup: RunProcess) -> None:
    problem: str | None
    try:
        inputs = fill(cleanup.parameters, outbox.state.scope(failed.attempt))
        child = cleanup.child
        problem = outbox.delegate(step.id, failed.attempt, child, inputs, purpose="cleanup")
    except MissingValueError as error:
        problem = str(error)
    if problem:
        outbox.fail(f"{failed.error}; cleaning up was not possible: {problem}", step.id)


def gate_ran_out(sequencer: "StepSequencer", outbox: Outbox) -> None:
    """The gate that was asked did not answer: stop, and ask it again on a resume."""
    state = outbox.state
    gates = pursuing.gates_of(sequencer.step) if state.step_id else sequencer.process.gates
    name = gates[state.gates_passed].name
    reason = (
        f"gate {name} did not answer within {GATE_DEADLINE_S:g} s: "
        "look whether what evaluates it is at work, then resume"
    )
    outbox.halt(reason, state.step_id, gate=name)


def reached(process: LinkedProcess, state: Execution) -> tuple[str, ...]:
    """The steps from which *state*, paused or halted, may be resumed."""
    chosen = {each.step_id for each in state.grown}
    ids = [s.id for s in process.steps if s.id not in chosen and s.within is UNSET]
    if state.status not in ("paused", "halted") or state.stage == "cleanup":
        return ()
    return tuple(each for each in ids if each in state.statuses or each == state.step_id)
