"""The events of one execution, read and in order."""

from cortex.runtime.projections import STREAM, Selection

from .. import AskedSoFar
from .history import History
from .summary import Row


def rows_of(history: History, execution_id: str, *, around: bool = False) -> list[Row]:
    """Records of an execution with their events, in order.

    What somebody answered who was not asked is not among them: `execution.ignored` says so.
    With *around* also what led to it and what it led to: its trigger, and events that serve it and
    stand in other streams.
    """
    asked, stream = AskedSoFar(), STREAM + execution_id
    records = {r.position: r for r in history.stream(stream)}
    if around:
        records |= {r.position: r for r in history.select(Selection(execution=execution_id))}
        started = history.folded(execution_id, [records[p] for p in sorted(records)]).started
        if started is not None and started.trigger:
            records |= {r.position: r for r in history.stream(f"trigger/{started.trigger}")}
    rows = ((records[p], history.event(records[p])) for p in sorted(records))
    return [
        (record, event)
        for record, event in rows
        if event is None or record.stream != stream or asked.counts(event, record.source)
    ]
