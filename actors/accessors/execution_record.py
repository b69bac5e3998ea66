"""The accessor of execution records: keeps the projections at the head, answers what is asked."""

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
)
from cortex.runtime.executions import ExecutionRecords, fold, list_executions
from cortex.runtime.kernel import Component, Delivery, Home, on
from cortex.runtime.projections import EventIndex, Runner, snapshot

from .following import Following


class ExecutionRecordAccessor(Component):
    """Projects executions and the query index whenever an execution comes to a stop.

    It is ready at once, however much it has to project: an answer says for which position it holds.
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
        """Open the projections and set out for the head."""
        try:
            runner = Runner.open(self._path, [ExecutionRecords(), EventIndex()])
            following = Following(runner, self._log)
            following.step()  # lets the file go where it fails
        except BaseException:
            self._clean_up()
            raise
        self._following = following

    def on_stop(self) -> None:
        """Go on towards the head once more: who reads without a runtime has the projections."""
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
        """Project what has come."""
        if self._following is not None and self._following.position < delivery.position:
            self._following.step()

    @on(ExecutionGet)
    def get(self, event: ExecutionGet, delivery: Delivery) -> Iterator[Event]:
        """One execution, folded from its stream; none where several begin with what was asked.

        One that is named in full is found before it is projected, too.
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
        """The newest executions that fit."""
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


_BEGUN = {ExecutionRequest.topic_name(), ExecutionStarted.topic_name()}


def _meant(connection: sqlite3.Connection, begins: str) -> str:
    """The execution of that id, or the only one whose id begins so; empty where there is none."""
    rows = connection.execute(
        "select execution_id from executions where substr(execution_id, 1, ?) = ? "
        "order by execution_id limit 2",  # of several the exact one comes first
        (len(begins), begins),
    ).fetchall()
    ids = [str(row[0]) for row in rows]
    return ids[0] if begins and ids and (len(ids) == 1 or ids[0] == begins) else ""
