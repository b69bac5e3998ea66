"""The log of a home, its executions, and the events of one of them."""

from collections.abc import Iterable

from cortex.bus import Event, Recorded
from cortex.runtime.kernel import NotFoundError, RefusedError
from cortex.runtime.projections import REQUESTS, STREAM, HomeLog, Selection

from .. import AskedSoFar, Execution, fold

Row = tuple[Recorded, Event | None]


class History(HomeLog):
    """What was recorded in a home, and its executions."""

    def execution(self, execution_id: str) -> Execution:
        """The execution, folded from its events."""
        return self.folded(execution_id, self.stream(STREAM + execution_id))

    def folded(self, execution_id: str, records: Iterable[Recorded]) -> Execution:
        """The same, of events of its own and others that were read already."""
        own = [record for record in records if record.stream == STREAM + execution_id]
        return fold(execution_id, own, self.vocabulary)

    def subject_of(self, execution_id: str) -> str | None:
        """The id of the subject whose data the execution is about; None for nobody's."""
        first = next(iter(self.stream(STREAM + execution_id)), None)
        return first.subject if first is not None else None

    def refuse_erased(self, execution_id: str) -> None:
        """Refuse to work with an execution of which only placeholders are left.

        Raises:
            RefusedError: Its subject was erased, or its key is not here.
        """
        first = next(iter(self.stream(STREAM + execution_id)), None)
        if first is not None and first.erased:
            raise RefusedError(
                f"execution {execution_id} is of a subject that was erased, or whose key is not "
                "here: what it did is not known"
            )

    def newest_execution_id(self) -> str:
        """The execution that was requested last, children excluded.

        Raises:
            NotFoundError: There is no execution.
        """
        for record in self.newest(REQUESTS):
            found = record.correlation
            if record.version == 1 and found and not self.execution(found).parent:
                return found
        raise NotFoundError("execution", "", "there is none yet, `cortex run PROCESS` makes one")


def rows_of(history: History, execution_id: str, *, around: bool = False) -> list[Row]:
    """Records of an execution with their events, in order.

    Answers of sources that were not asked are left out: `execution.ignored` reports them.
    With *around* also its causes and effects: its trigger, and events that serve it in other
    streams.
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
