"""The accessor of execution records: keeps the projections up to date, answers queries."""

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from cortex.bus import Event, Log, Recorded, Vocabulary
from cortex.bus.events import (
    ExecutionAnswer,
    ExecutionCancelled,
    ExecutionCompleted,
    ExecutionFailed,
    ExecutionGet,
    ExecutionHalted,
    ExecutionList,
    ExecutionPaused,
    ExecutionRated,
    ExecutionRequest,
    ExecutionStarted,
    MetricsAnswer,
    MetricsGet,
)
from cortex.runtime.executions import PROJECTIONS, ExecutionRecords, fold, list_executions
from cortex.runtime.kernel import Component, Delivery, Home, on
from cortex.runtime.metrics import MetricsProjection, document_of, stored
from cortex.runtime.projections import Runner, snapshot

from .following import Following


class ExecutionRecordAccessor(Component):
    """Projects executions and the query index whenever an execution stops.

    It is ready before it has projected everything: each answer has the position it is valid for.
    """

    def __init__(
        self,
        log: Log,
        vocabulary: Vocabulary,
        history: Callable[[str], Iterator[Recorded]],
        home: Home | None,
    ) -> None:
        self._log, self._vocabulary, self._history = log, vocabulary, history
        self._passing = None if home else TemporaryDirectory(prefix="cortex-")
        folder = Path(self._passing.name) if self._passing else Path()
        self._path = home.projections_path if home else folder / "projections.db"
        self._following: Following | None = None

    def on_start(self) -> None:
        """Open the projections and begin to catch up."""
        try:
            runner = Runner.open(self._path, PROJECTIONS)
            following = Following(runner, self._log)
            following.step()  # closes the file on a failure
        except BaseException:
            self._clean_up()
            raise
        self._following = following

    def on_stop(self) -> None:
        """Catch up once more, for readers without a runtime."""
        try:
            if self._following is not None:
                self._following.close()
        finally:
            self._clean_up()

    def _clean_up(self) -> None:
        if self._passing is not None:
            self._passing.cleanup()

    @on(ExecutionCancelled)
    @on(ExecutionCompleted)
    @on(ExecutionFailed)
    @on(ExecutionHalted)
    @on(ExecutionPaused)
    @on(ExecutionRated)
    def stopped(self, event: Event, delivery: Delivery) -> None:
        """Project new events."""
        if self._following is not None and self._following.position < delivery.position:
            self._following.step()

    @on(ExecutionGet)
    def get(self, event: ExecutionGet, delivery: Delivery) -> Iterator[Event]:
        """One execution, folded from its stream; none if the prefix fits several.

        A full id is found even before it is projected.
        """
        if self._following is not None:
            self._following.step()
        with snapshot(self._path, ExecutionRecords.name) as view:
            position = view.position
            meant = _meant(view.connection, event.execution_id)
        found: tuple[dict[str, Any], ...] = ()
        records = list(self._history(f"execution/{meant or event.execution_id}"))
        if not meant and any(record.topic in _BEGUN for record in records):
            meant, position = event.execution_id, max(position, records[-1].position)
        if meant:
            state = fold(meant, records, self._vocabulary, before=position + 1)
            found = (msgspec.to_builtins(state),)
        yield ExecutionAnswer(executions=found, position=position)

    @on(ExecutionList)
    def listed(self, event: ExecutionList, delivery: Delivery) -> Iterator[Event]:
        """The newest executions that match."""
        if self._following is not None:
            self._following.step()
        with snapshot(self._path, ExecutionRecords.name) as view:
            rows = list_executions(
                view,
                status=event.status,
                process=event.process,
                text=event.text,
                parent=event.parent,
                limit=event.limit,
            )
            position = view.position
        plain = tuple(msgspec.structs.asdict(row) for row in rows)
        yield ExecutionAnswer(executions=plain, position=position)

    @on(MetricsGet)
    def metrics(self, event: MetricsGet, delivery: Delivery) -> Iterator[Event]:
        """The metrics, as far as they are folded."""
        if self._following is not None:
            self._following.step()
        with snapshot(self._path, MetricsProjection.name) as view:
            found = document_of(stored(view.connection), view.position)
        plain = tuple(msgspec.structs.asdict(row) for row in found.metrics)
        yield MetricsAnswer(position=found.position, bounds_s=found.bounds_s, metrics=plain)


_BEGUN = {ExecutionRequest.topic_name(), ExecutionStarted.topic_name()}


def _meant(connection: sqlite3.Connection, begins: str) -> str:
    """The execution of that id, or the only one with that prefix; empty if there is none."""
    rows = connection.execute(
        "select execution_id from executions where substr(execution_id, 1, ?) = ? "
        "order by execution_id limit 2",  # an exact match comes first
        (len(begins), begins),
    ).fetchall()
    ids = [str(row[0]) for row in rows]
    return ids[0] if begins and ids and (len(ids) == 1 or ids[0] == begins) else ""
