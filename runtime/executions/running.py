"""Running a process, or working towards a goal, from Python, until it comes to a stop."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cortex.bus import AskTimeoutError, Client
from cortex.bus.events import ExecutionRequest, TriggerMatched

from .history import PREFIX, fold
from .state import Execution

STOPPED = ("completed", "failed", "cancelled", "halted", "paused")


def run(
    client: Client,
    process: str,
    *,
    inputs: Mapping[str, Any] | None = None,
    goal: str = "",
    workspace: Path | str = ".",
    timeout_s: float = 600.0,
) -> Execution:
    """Run *process* and wait until it is over, halted or paused.

    Args:
        client: Of the runtime that runs it.
        process: Its name, or that of an interface which one process implements.
        inputs: By name, as the process declares them.
        goal: What the work is for; "run <process>" unless given.
        workspace: The folder that the work is about.
        timeout_s: How long to wait; the execution itself goes on.

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
    )
    return _stopped(client, request, timeout_s)


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
        timeout_s: How long to wait here; the execution itself goes on.

    Returns:
        The execution as it then stands; `results["goal"]` holds what was said when it was reached.

    Raises:
        AskTimeoutError: It has not come to a stop in time.
    """
    step: dict[str, Any] = {"may": list(may), "tools": list(tools), "by_hand": by_hand}
    if check is not None:
        step["check"] = list(check)
    if turns is not None:
        step["budget"] = {"turns": turns}
    if within_s is not None:
        step["timeout"] = within_s
    request = ExecutionRequest(
        execution_id=client.new_id(),
        goal=goal,
        workspace=str(Path(workspace).absolute()),
        trigger=client.new_id(),
        max_cost=max_cost,
        step=step,
    )
    return _stopped(client, request, timeout_s)


def _stopped(client: Client, request: ExecutionRequest, timeout_s: float) -> Execution:
    """Record *request*, and wait until its execution comes to a stop."""
    feed = client.follow(("execution.*", None))
    try:
        client.publish(
            TriggerMatched(
                trigger_id=request.trigger,
                execution_id=request.execution_id,
                process=request.process,
                digest="",
                because=f"{client.name} asked for it",
            ),
            request,
        )
        until = time.monotonic() + timeout_s
        while (left_s := until - time.monotonic()) > 0:
            if any(r.correlation == request.execution_id for r in feed.next(min(left_s, 1.0))):
                execution = execution_of(client, request.execution_id)
                if execution.status in STOPPED:
                    return execution
    finally:
        feed.close()
    raise AskTimeoutError(ExecutionRequest.topic_name(), timeout_s)


def execution_of(client: Client, execution_id: str) -> Execution:
    """The execution as its events tell it so far; status "unknown" where there are none."""
    return fold(execution_id, client.read_stream(PREFIX + execution_id), client.vocabulary)
