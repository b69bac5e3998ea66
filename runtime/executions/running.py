"""Runs a process, or works towards a goal, from Python, until it ends, halts or pauses."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cortex.bus import AskTimeoutError, Client, Event, steady_s
from cortex.bus.events import (
    ExecutionBreak,
    ExecutionBreakpointsChanged,
    ExecutionRefused,
    ExecutionRequest,
    ExecutionResume,
    TriggerMatched,
    Variation,
)
from cortex.runtime.kernel import RefusedError

from .decisions.forking import fork_request
from .state.history import PREFIX, fold
from .state.state import Execution

STOPPED = ("completed", "failed", "cancelled", "halted", "paused")


def run(
    client: Client,
    process: str,
    *,
    inputs: Mapping[str, Any] | None = None,
    goal: str = "",
    workspace: Path | str = ".",
    breakpoints: Sequence[str] = (),
    subject: str = "",
    timeout_s: float = 600.0,
) -> Execution:
    """Run *process* and wait until it is over, halted or paused.

    Args:
        client: A client of the runtime.
        process: Its name, or that of an interface which one process implements.
        inputs: By name, as the process declares them.
        goal: What the work is for; "run <process>" unless given.
        workspace: The folder that the work is about.
        breakpoints: Steps before which it pauses, besides those that the process declares.
        subject: Whose personal data it is about; what is recorded of it is encrypted.
        timeout_s: How long to wait; the execution itself continues.

    Returns:
        The execution as it then stands; `status` says how, `outputs` hold what came of it.

    Raises:
        AskTimeoutError: It has not come to a stop in time.
    """
    request = ExecutionRequest(
        execution_id=client.new_id(),
        process=process,
        inputs=dict(inputs or {}),
        goal=goal or f"run {process}",
        workspace=str(Path(workspace).absolute()),
        trigger=client.new_id(),
        breakpoints=tuple(breakpoints),
        subject=subject,
    )
    return run_request(client, request, timeout_s)


def run_goal(
    client: Client,
    goal: str,
    *,
    may: Sequence[str | Mapping[str, Any]] = (),
    tools: Sequence[str] = (),
    check: Sequence[str | Mapping[str, Any]] | None = None,
    by_hand: bool = False,
    turns: int | None = None,
    within_s: float | None = None,
    max_cost: float | None = None,
    workspace: Path | str = ".",
    timeout_s: float = 3_600.0,
) -> Execution:
    """Work towards *goal* without a process, and wait until that is over, halted or paused.

    In each turn a model chooses one of what it *may* do, or uses *tools*, until the *check* passes.

    Args:
        client: Of the runtime; it may publish `step.propose`, or is the owner's.
        goal: What is to be reached.
        may: Actions by name; or as under `may:` of a step: `{"process": "triage"}`,
            `{"action": "commit_and_push", "gates": ["approved"]}`.
        tools: As under `tools:` of a step.
        check: Gates as under `check:` of a step; None asks a person, () takes the model's word.
        by_hand: Whether a person chooses, and no model is asked.
        turns: Of the model at most; 30 unless given.
        within_s: Seconds that the work may take; while it is paused or halted none count.
        max_cost: US dollars that it and its children may spend.
        workspace: The folder that the work is about; it is changed in a work tree alone.
        timeout_s: How long to wait here; the execution itself continues.

    Returns:
        The execution as it then stands; `results["goal"]` holds what was said when it was reached.

    Raises:
        AskTimeoutError: It has not come to a stop in time.
    """
    step: dict[str, Any] = {"may": list(may), "tools": list(tools), "by_hand": by_hand}
    step |= {} if check is None else {"check": list(check)}
    step |= {} if turns is None else {"budget": {"turns": turns}}
    step |= {} if within_s is None else {"timeout": within_s}
    request = ExecutionRequest(
        execution_id=client.new_id(),
        goal=goal,
        workspace=str(Path(workspace).absolute()),
        trigger=client.new_id(),
        max_cost=max_cost,
        step=step,
    )
    return run_request(client, request, timeout_s)


def fork(
    client: Client,
    execution_id: str,
    from_step: str,
    *,
    max_cost: float | None = None,
    again: bool = False,
    timeout_s: float = 600.0,
) -> Execution:
    """Fork an execution, and wait until the fork is over, halted or paused.

    The steps before *from_step* take their outcomes from *execution_id*, and are not run. Later
    calls of actions and tools that succeeded on record, with equal parameters, take their
    recorded results. Before each effect that is not on record, the fork pauses and asks a person.

    Args:
        client: A client of the runtime.
        execution_id: The execution that is forked; it does not change.
        from_step: The first step that the fork runs itself.
        max_cost: US dollars that the fork may spend; None: as the execution.
        again: Whether calls are done again that are on record.
        timeout_s: How long to wait here; the fork itself continues.

    Returns:
        The fork as it then stands; "failed" with a `reason` if it cannot be made.

    Raises:
        LookupError: There is no such execution that began.
        AskTimeoutError: The fork has not come to a stop in time.
    """
    began = execution_of(client, execution_id).begun()
    first = next(iter(client.read_stream(PREFIX + execution_id)))
    request = fork_request(
        began,
        from_step,
        client.new_id,
        max_cost=max_cost,
        variation=None if again else Variation(through=client.head),
        subject=first.subject or "",
    )
    return run_request(client, request, timeout_s)


def resume(
    client: Client,
    execution_id: str,
    *,
    stepping: bool = False,
    note: str = "",
    timeout_s: float = 600.0,
) -> Execution:
    """Continue a paused or halted execution, and wait until it is over, halted or paused again.

    Args:
        client: A client of the runtime.
        execution_id: The execution, as it stands now.
        stepping: Pause again before the next step.
        note: Why, for the record.
        timeout_s: How long to wait here; the execution itself continues.

    Returns:
        The execution as it then stands.

    Raises:
        RefusedError: The resume is refused; or the execution is not paused and not halted.
        AskTimeoutError: It has not come to a stop in time.
    """
    seen = client.head
    state = execution_of(client, execution_id)
    if state.status not in ("paused", "halted"):
        about = f"execution {execution_id} is {state.status}"
        raise RefusedError(f"{about}: only what is paused or halted can be resumed")
    event = ExecutionResume(execution_id=execution_id, stepping=stepping, note=note, seen=seen)
    return _stopped(client, (event,), execution_id, timeout_s)


def set_breakpoints(
    client: Client,
    execution_id: str,
    *,
    add: Sequence[str] = (),
    remove: Sequence[str] = (),
    note: str = "",
    timeout_s: float = 30.0,
) -> tuple[str, ...]:
    """Pause before the steps *add* of an execution, and before the steps *remove* no more.

    Args:
        client: A client of the runtime.
        execution_id: An execution that runs, or is paused or halted.
        add: Steps, or actions that may be chosen towards a goal.
        remove: The same; also those that the process itself declares.
        note: Why, for the record.
        timeout_s: How long to wait for the answer.

    Returns:
        All its breakpoints.

    Raises:
        RefusedError: It is refused; nothing changed.
        AskTimeoutError: It is not answered in time.
    """
    event = ExecutionBreak(
        execution_id=execution_id, add=tuple(add), remove=tuple(remove), note=note
    )
    for answer in _answers(client, (event,), execution_id, timeout_s):
        if isinstance(answer, ExecutionBreakpointsChanged):
            return answer.breakpoints
    raise AskTimeoutError(ExecutionBreak.topic_name(), timeout_s)


def run_request(client: Client, request: ExecutionRequest, timeout_s: float) -> Execution:
    """Record *request*, and wait until its execution comes to a stop.

    Raises:
        AskTimeoutError: It has not come to a stop in time.
    """
    matched = TriggerMatched(
        trigger_id=request.trigger,
        execution_id=request.execution_id,
        process=request.process,
        digest="",
        because=f"{client.name} asked for it",
    )
    return _stopped(client, (matched, request), request.execution_id, timeout_s)


def _stopped(
    client: Client, events: Sequence[Event], execution_id: str, timeout_s: float
) -> Execution:
    for _ in _answers(client, events, execution_id, timeout_s):
        execution = execution_of(client, execution_id)
        if execution.status in STOPPED:
            return execution
    raise AskTimeoutError(events[-1].topic_name(), timeout_s)


def _answers(
    client: Client, events: Sequence[Event], execution_id: str, timeout_s: float
) -> Iterator[Event]:
    """Record *events*, and give the facts of their execution that the engine adds.

    Raises:
        RefusedError: It refused the last of them.
    """
    feed = client.follow(("execution.*", None))
    try:
        asked = client.publish(*events)
        until = steady_s() + timeout_s
        while (left_s := until - steady_s()) > 0:
            for record in feed.next(min(left_s, 1.0)):
                if record.correlation != execution_id or record.position <= asked:
                    continue
                event = client.vocabulary.read(record)
                if isinstance(event, ExecutionRefused) and record.causation == asked:
                    raise RefusedError(f"execution {execution_id}: {event.reason}")
                yield event
    finally:
        feed.close()


def execution_of(client: Client, execution_id: str) -> Execution:
    """The execution as its events tell it so far; status "unknown" where there are none."""
    return fold(execution_id, client.read_stream(PREFIX + execution_id), client.vocabulary)
