"""Running a process from Python, and waiting until it comes to a stop."""

import time
from collections.abc import Mapping
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
    execution_id = client.new_id()
    trigger_id = client.new_id()
    feed = client.follow(("execution.*", None))
    try:
        client.publish(
            TriggerMatched(
                trigger_id=trigger_id,
                execution_id=execution_id,
                process=process,
                digest="",
                because=f"{client.name} asked for it",
            ),
            ExecutionRequest(
                execution_id=execution_id,
                process=process,
                inputs=dict(inputs or {}),
                goal=goal or f"run {process}",
                workspace=str(Path(workspace).absolute()),
                trigger=trigger_id,
            ),
        )
        until = time.monotonic() + timeout_s
        while (left_s := until - time.monotonic()) > 0:
            if any(r.correlation == execution_id for r in feed.next(min(left_s, 1.0))):
                execution = execution_of(client, execution_id)
                if execution.status in STOPPED:
                    return execution
    finally:
        feed.close()
    raise AskTimeoutError(ExecutionRequest.topic_name(), timeout_s)


def execution_of(client: Client, execution_id: str) -> Execution:
    """The execution as its events tell it so far; status "unknown" where there are none."""
    return fold(execution_id, client.read_stream(PREFIX + execution_id), client.vocabulary)
