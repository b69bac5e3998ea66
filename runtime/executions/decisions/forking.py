"""Whether an execution can be forked at a step, and which outcomes the fork takes over."""

from collections.abc import Callable

from msgspec import UNSET

from cortex.bus.events import ExecutionRequest, ExecutionStarted, Variation
from cortex.runtime.kernel import RefusedError
from cortex.runtime.processes import LinkedProcess

from ..state.state import Execution
from .changing import no_step, unknown_step


def fork_request(
    began: ExecutionStarted,
    from_step: str,
    new_id: Callable[[], str],
    *,
    breakpoints: tuple[str, ...] = (),
    max_cost: float | None = None,
    variation: Variation | None = None,
    subject: str = "",
) -> ExecutionRequest:
    """Ask for a fork, at *from_step*, of the execution that *began*."""
    return ExecutionRequest(
        execution_id=new_id(),
        process=began.process,
        process_version=began.process_version,
        goal=began.goal,
        workspace=began.workspace,
        trigger=new_id(),
        breakpoints=breakpoints,
        max_cost=max_cost,
        fork_of=began.execution_id,
        from_step=from_step,
        variation=variation,
        subject=subject,
    )


def steps_before(process: LinkedProcess, from_step: str) -> tuple[str, ...]:
    """The steps before *from_step*, in order; all of them if the process has no such step."""
    ids = [step.id for step in process.steps]
    if not from_step:
        return ()
    return tuple(ids[: ids.index(from_step)] if from_step in ids else ids)


def not_to_fork(state: Execution, process: LinkedProcess | None, from_step: str) -> str:
    """Why *state* cannot be forked at *from_step*, "" for its beginning; "" if it can."""
    began = state.started
    if began is None:
        return f"execution {state.execution_id} never began: there is nothing to fork"
    if began.part is not None:
        return f"execution {state.execution_id} is an item of {began.parent}: fork that execution"
    if process is None or not began.process:
        return f"execution {state.execution_id} ran no process: only a process can be forked"
    if not from_step:
        return ""
    step = next((step for step in process.steps if step.id == from_step), None)
    if step is None:
        return no_step(process, from_step)
    if step.within is not UNSET:
        return f"{from_step} is a branch of {step.within}: fork there"
    before = steps_before(process, from_step)
    top = {step.id for step in process.steps if step.within is UNSET}
    open_ = [each for each in before if each in top and each not in state.statuses]
    if open_:
        return (
            f"step {open_[0]} comes before {from_step} and has no outcome on record: "
            f"fork from {open_[0]}, or from a step before it"
        )
    return ""


def process_to_fork(
    state: Execution, process: LinkedProcess | None, from_step: str
) -> LinkedProcess:
    """*process*, if *state* can be forked at *from_step*.

    Raises:
        NotFoundError: The process has no such step.
        RefusedError: It cannot be forked there, as `not_to_fork` says.
    """
    ids = [step.id for step in process.steps] if process is not None else []
    problem = not_to_fork(state, process, from_step if from_step in ids else "")
    if problem or process is None:
        raise RefusedError(problem)
    if from_step and from_step not in ids:
        raise unknown_step(process.name, from_step, ids)
    return process
