"""What follows a failed attempt: the next attempt, or the step's `on_failure`."""

from typing import TYPE_CHECKING

from cortex.bus.events import StepFailed
from cortex.runtime.processes import (
    BackTo,
    Continue,
    GoTo,
    Halt,
    LinkedStep,
    MissingValueError,
    RunProcess,
    fill,
)

from . import pursuing
from .outbox import Outbox
from .retrying import wait_before_retry
from .state import Execution

if TYPE_CHECKING:
    from .step_sequencer import StepSequencer


def recover(course: "StepSequencer", voice: Outbox, failed: StepFailed) -> None:
    """Try again, or do what the step says about failures."""
    step = course.step
    voice.drop_timeout(step)
    tries = failed.attempt - voice.state.first_attempt + 1
    wait_s = wait_before_retry(step.retry, tries, failed)
    if wait_s is None:
        _give_up(course, voice, step, failed)
    elif voice.state.pausing is not None:
        voice.pause(voice.state.pausing, step.id)
    elif wait_s > 0:
        voice.retry_after(wait_s)
    else:
        course.try_again()


def halts(state: Execution, step: LinkedStep) -> bool:
    """Whether *step* halts the execution when the attempt that is under way fails."""
    failed = StepFailed(execution_id=state.execution_id, step_id=step.id, error="")
    tries = state.attempt - state.first_attempt + 1
    tried_again = wait_before_retry(step.retry, tries, failed) is not None
    return isinstance(step.on_failure, Halt) and not tried_again


def ran_out(course: "StepSequencer", voice: Outbox, what: str) -> None:
    """The time of the attempt is over."""
    state, step = voice.state, course.step
    error, kind = _out_of_time(state, step, what)
    if state.stage == "handler" and step.action is not None and step.action.may_be_once:
        # A worker may begin it at this very moment. None does once the failure is recorded, so
        # that what follows is decided when all that came before that was seen.
        voice.fail_step(step.id, state.attempt, error, kind, retry=kind == "timeout")
        voice.look_at_timeout(what, 0.0)
        return
    if state.stage in ("child", "fan"):
        voice.cancel_child(f"{step.id} of its parent ran out of time")
    course.fail(error, kind, retry=kind == "timeout")


def gave_up(course: "StepSequencer", voice: Outbox, what: str) -> None:
    """The time was over and nobody had begun: do what the step says about failures."""
    state = voice.state
    error, kind = _out_of_time(state, course.step, what)
    failed = StepFailed(
        execution_id=state.execution_id,
        step_id=state.step_id,
        attempt=state.attempt,
        error=error,
        kind=kind,
        retry=kind == "timeout",
    )
    recover(course, voice, failed)


def _out_of_time(state: Execution, step: LinkedStep, what: str) -> tuple[str, str]:
    if what == "budget":
        took_s = step.budget.time_s or 0
        return f"{step.id} took the {took_s:g} s that its budget allows", "budget"
    return f"attempt {state.attempt} of {step.id} ran out of time", "timeout"


def _give_up(course: "StepSequencer", voice: Outbox, step: LinkedStep, failed: StepFailed) -> None:
    pursuing.observe(voice, step.id, "failed")
    match step.on_failure:
        case Halt():
            evidence = {"kind": failed.kind, "attempt": failed.attempt}
            voice.halt(failed.error, step.id, evidence=evidence)
        case Continue():
            course.go_on()
        case GoTo(target):
            _skip_to(course, voice, target, step.id)
            course.go_on()
        case BackTo(target, times):
            _go_back(course, voice, failed, target, times)
        case RunProcess() as cleanup:
            _clean_up(voice, step, failed, cleanup)


def _go_back(
    course: "StepSequencer", voice: Outbox, failed: StepFailed, target: str, times: int
) -> None:
    step_id = course.step.id
    went = voice.state.went_back.get(step_id, 0)
    if went < times:
        course.go_back(target, failed.error, step_id)
    else:
        often = "once" if times == 1 else f"{times} times"
        evidence = {"kind": failed.kind, "attempt": failed.attempt, "went_back": went}
        hint = f"resume --from {target} tries again"
        reason = f"{failed.error} (went back to {target} {often}; {hint})"
        voice.halt(reason, step_id, evidence=evidence)


def _skip_to(course: "StepSequencer", voice: Outbox, target: str, failed_id: str) -> None:
    for step in course.process.steps:
        if step.id == target:
            return
        if step.id not in voice.state.statuses:
            voice.skip(step.id, f"{failed_id} failed, and the execution continues at {target}")


def _clean_up(voice: Outbox, step: LinkedStep, failed: StepFailed, cleanup: RunProcess) -> None:
    problem: str | None
    try:
        inputs = fill(cleanup.parameters, voice.state.scope(failed.attempt))
        child = cleanup.child
        problem = voice.delegate(step.id, failed.attempt, child, inputs, purpose="cleanup")
    except MissingValueError as error:
        problem = str(error)
    if problem:
        voice.fail(f"{failed.error}; cleaning up was not possible: {problem}", step.id)
