"""Statistics for each version of a process: runs, success, tokens and time."""

import msgspec

from cortex.bus.events import ExecutionStarted
from cortex.runtime.projections import Selection

from .history import History, rows_of
from .summary import took_s

STARTED = Selection(topics=(ExecutionStarted.topic_name(),))


class Fared(msgspec.Struct, kw_only=True):
    """One version of a process, and the results of its executions."""

    version: int
    compiled: str  # UTC
    digest: str
    runs: int = 0
    completed: int = 0
    failed: int = 0  # failed, halted or cancelled
    tokens: int = 0  # of all runs
    duration_s: float = 0.0  # of all runs


def fared(history: History, name: str, versions: dict[int, tuple[str, str]]) -> list[Fared]:
    """The past of each of *versions*, given when it was compiled and its digest."""
    found = {
        version: Fared(version=version, compiled=compiled, digest=digest)
        for version, (compiled, digest) in versions.items()
    }
    for record in history.select(STARTED):
        event = history.event(record)
        if not isinstance(event, ExecutionStarted) or event.process != name:
            continue
        if event.part is not None:
            continue  # an item of a step is part of a run
        past = found.get(event.process_version)
        if past is None:
            continue
        state = history.execution(event.execution_id)
        past.runs += 1
        past.completed += state.status == "completed"
        past.failed += state.status in ("failed", "halted", "cancelled")
        past.tokens += state.tokens
        past.duration_s += took_s(rows_of(history, event.execution_id))
    return [found[version] for version in sorted(found)]
