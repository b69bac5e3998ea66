"""Whether the current step waits for a worker, or a request for a missing component."""

from cortex.bus import Log, State, SystemClock
from cortex.bus.events import ExecutionDeferred, StepExecute, StepUnclaimed
from cortex.runtime.executions.view import (
    UNHELD,
    History,
    nobody,
    only_child,
    what_is_missing,
)
from cortex.runtime.processes.catalog import ways_back
from cortex.runtime.projections import STREAM
from cortex.runtime.serving import found, is_untaken
from cortex.runtime.serving.doctor import is_held

NO_HUB = "no hub is up that a worker could connect to: `cortex up --background`, then start it"


def untaken_action(history: History, log: Log, execution_id: str) -> str:
    """The action of the current step, in a child too, if no worker has taken it; otherwise ""."""
    state = history.execution(execution_id)
    if child := only_child(state):
        return untaken_action(history, log, child)
    if state.stage != "handler":
        return ""
    asked, action, reported = 0, "", False
    for record in history.stream(STREAM + execution_id):
        event = history.event(record)
        if isinstance(event, StepExecute):
            asked, action, reported = record.position, event.action, False
        elif isinstance(event, StepUnclaimed):
            reported = record.causation == asked
    return action if _waits(log.state(), asked, reported=reported) else ""


def waiting_for(history: History, execution_id: str) -> str:
    """What an execution is waiting for, such as "nobody carries out greet"; "" if nothing.

    If no runtime has the home, every execution waits for a hub or a command. For an earlier state
    the wait is unknown.
    """
    if history.home.as_of is not None:
        return ""
    state = history.execution(execution_id)
    if state.status in ("requested", "running") and not is_held(history.home):
        return UNHELD
    if state.status == "requested":
        found = map(history.event, history.stream(STREAM + execution_id))
        deferred = [event for event in found if isinstance(event, ExecutionDeferred)]
        return what_is_missing(deferred[-1]) if deferred else ""
    while child := only_child(state):
        state = history.execution(child)
    if history.log is None or state.status != "running" or not state.unclaimed:
        return ""
    action = untaken_action(history, history.log, state.execution_id)
    return f"no component runs {action}" if action else ""


def missing_line(event: ExecutionDeferred | StepUnclaimed) -> str:
    """What a request or a step waits for."""
    if isinstance(event, ExecutionDeferred):
        return what_is_missing(event)
    return f"{event.step_id}: {nobody(event)}"


def remedies(history: History, event: ExecutionDeferred | StepUnclaimed) -> list[str]:
    """How what a request or a step waits for comes back."""
    missing = event.missing if isinstance(event, ExecutionDeferred) else (f"action {event.action}",)
    ways = list(ways_back(missing, history.stream, history.event))
    if found(history.home) is None and any("the worker" in way for way in ways):
        ways.append(NO_HUB)
    return ways


def _waits(state: State, position: int, *, reported: bool) -> bool:
    if any(work.position == position for work in state.work):
        now_ns = SystemClock().monotonic_ns()  # as the hub counts them: it is on this machine
        return is_untaken(state, position, now_ns)
    return reported  # nobody ever subscribed to it
