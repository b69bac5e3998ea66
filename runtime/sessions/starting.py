"""Starts an execution: of a process, an interface or a source, or towards a goal without one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from cortex.bus.events import ExecutionRequest, TriggerMatched, Variation
from cortex.runtime.access import OWNER
from cortex.runtime.executions import Execution, fork_request, process_to_fork
from cortex.runtime.executions.view import History
from cortex.runtime.processes import LinkedInterface, LinkedProcess
from cortex.runtime.processes.catalog import Catalog

from .goals.goals import NO_CHECKOUT, NO_MODEL, GoalOptions, goal_step, is_in_checkout, most_of
from .inputs import inputs_of, mask_of, refuse_breaks, refuse_secrets, refuse_wrong
from .session import Ending, Session
from .sources.sources import is_path

Linked: TypeAlias = LinkedProcess | LinkedInterface


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How an execution is run."""

    workspace: Path = Path()  # the folder that the work is about
    goal: str = ""  # what it is for; empty for the goal of the process
    version: int | None = None  # of the process; None for the newest
    breaks: tuple[str, ...] = ()  # steps before which it pauses
    max_cost: float | None = None  # US dollars; None for what is configured
    wait_s: float | None = None  # for what the process lacks; None for what is configured
    subject: str = ""  # whose personal data it is about; empty for nobody's
    towards: GoalOptions = GoalOptions()  # without a process: how the goal is worked towards


def start(
    session: Session,
    process: str,
    pairs: Mapping[str, str],
    options: RunOptions,
    input_file: Path | None = None,
) -> Ending:
    """Start an execution, and follow it; as `Session.run`.

    Args:
        session: Its home; sources that changed are compiled first.
        process: Its name, an interface or a file; "" for work towards a goal without one.
        pairs: Inputs as they are typed, by name.
        options: The rest.
        input_file: More inputs, JSON or TOML.

    Raises:
        ArgumentError: An input or an option does not fit.
        NotFoundError: There is no such process, or step to break at.
        RejectedError: Its source has errors.
    """
    path = is_path(process)
    session.submitter.changed("" if path or options.version else process)
    name = session.submitter.file(Path(process)) if path else process
    linked = _linked(session, name, options.version) if name else None
    values = inputs_of(pairs, input_file, linked.inputs if linked else ())
    _refuse_unfit(session, linked, values, options.breaks)
    request = _request_of(session, linked, name, values, options)
    found = matched(request, linked.digest if linked else "")
    return session.run(request.execution_id, found, request)


def _request_of(
    session: Session,
    linked: Linked | None,
    name: str,
    values: dict[str, Any],
    options: RunOptions,
) -> ExecutionRequest:
    """The request for an execution with the inputs *values*; of a goal if there is no *name*."""
    step, max_cost = {}, options.max_cost
    if not name:
        step, max_cost = _goal_step(session, options), most_of(session.home, max_cost)
    about = (linked.description or f"run {linked.name}") if linked else ""
    return ExecutionRequest(
        execution_id=session.client.new_id(),
        process=name,
        process_version=options.version or 0,
        inputs=values,
        goal=options.goal or about,
        workspace=str(options.workspace.absolute()),
        trigger=session.client.new_id(),
        breakpoints=options.breaks,
        max_cost=max_cost,
        wait_s=session.wait_s if options.wait_s is None else options.wait_s,
        step=step,
        subject=options.subject,
    )


def fork(
    session: Session,
    execution_id: str,
    from_step: str,
    *,
    breaks: tuple[str, ...] = (),
    max_cost: float | None = None,
    again: bool = False,
) -> Ending:
    """Fork an execution at a step, and follow the fork; as `Session.run`.

    Calls that are on record take their recorded results, unless they are to be done *again*.

    Raises:
        NotFoundError: There is no such execution, or step.
        RefusedError: It cannot be forked there.
    """
    found = session.known(execution_id)
    session.history.refuse_erased(found)
    state = session.history.execution(found)
    process = process_to_fork(state, ran_by(session.history, state), from_step)
    refuse_breaks(process, breaks)
    variation = None if again else Variation(through=session.client.head)
    request = fork_request(
        state.begun(),
        from_step,
        session.client.new_id,
        breakpoints=breaks,
        max_cost=max_cost,
        variation=variation,
        subject=session.history.subject_of(found) or "",
    )
    return session.run(request.execution_id, matched(request, process.digest), request)


def ran_by(history: History, state: Execution) -> LinkedProcess | None:
    """The version of a process that an execution runs; None if it runs none, or has not begun."""
    if state.started is None or not state.started.linked:
        return None
    return msgspec.json.decode(history.blobs.get(state.started.linked), type=LinkedProcess)


def matched(request: ExecutionRequest, digest: str) -> TriggerMatched:
    """That a person who asks is what set it going; recorded with the request."""
    return TriggerMatched(
        trigger_id=request.trigger,
        execution_id=request.execution_id,
        process=request.process,
        digest=digest,
        because=f"{OWNER} asked for it on the command line",
    )


def _goal_step(session: Session, options: RunOptions) -> dict[str, Any]:
    """The step that works towards the goal; surprising choices are noted to the user."""
    step = goal_step(
        session.home,
        Catalog(session.history),
        options.goal,
        options.workspace,
        options.towards,
        options.breaks,
    )
    if step["by_hand"] and not options.towards.by_hand:
        session.front.note(NO_MODEL, "yellow")
    if not is_in_checkout(options.workspace):
        session.front.note(NO_CHECKOUT, "yellow")
    return step


def _refuse_unfit(
    session: Session, linked: Linked | None, values: dict[str, Any], breaks: tuple[str, ...]
) -> None:
    """Refuse inputs and breakpoints that do not fit *linked*, and inputs that hold a secret."""
    refuse_secrets(values, mask_of(session.home))
    # An implementation may take more inputs than its interface; an abstract one is refused.
    if isinstance(linked, LinkedProcess) and not linked.abstract:
        refuse_wrong(linked, values)
        refuse_breaks(linked, breaks)


def _linked(session: Session, name: str, version: int | None) -> Linked:
    catalog = Catalog(session.history)
    return catalog.linked(catalog.get(name, version))
