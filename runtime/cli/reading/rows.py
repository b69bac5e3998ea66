"""The events of one execution, read and in order."""

from .history import STREAM, History
from .selection import Selection
from .summary import Row


def rows_of(history: History, execution_id: str, *, around: bool = False) -> list[Row]:
    """Records of an execution with their events, in order.

    With *around* also what led to it and what it led to: its trigger, and events that serve it and
    stand in other streams.
    """
    records = {r.position: r for r in history.stream(STREAM + execution_id)}
    if around:
        records |= {r.position: r for r in history.select(Selection(execution=execution_id))}
        started = history.execution(execution_id).started
        if started is not None and started.trigger:
            records |= {r.position: r for r in history.stream(f"trigger/{started.trigger}")}
    return [(records[p], history.event(records[p])) for p in sorted(records)]
