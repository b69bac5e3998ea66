"""The metrics as a projection, and reading them: as far as it is, and the rest from the log."""

import sqlite3
from collections.abc import Sequence

import msgspec

from cortex.bus import Recorded
from cortex.runtime.kernel import Home
from cortex.runtime.projections import (
    Changes,
    HomeLog,
    ProjectionMissingError,
    snapshot,
)

from .document import MetricsDocument, document_of
from .registry import TAKEN, MetricsRegistry, OpenExecution, Seen, Series, read


class MetricsProjection:
    """Counters and histograms, and what is open in each execution."""

    name = "metrics"
    version = 1
    tables = (
        """
        create table metrics (
            name    text not null,
            labels  text not null,  -- JSON, the values in the order of the metric's labels
            numbers text not null,  -- JSON; a counter's one, or buckets, the one above, the sum
            primary key (name, labels)
        ) strict
        """,
        """
        create table metrics_executions (
            execution_id text primary key,
            process      text not null,
            begun        text not null  -- JSON; when what is open began, by its key
        ) strict
        """,
    )

    def begin(self) -> Changes:
        """Empty changes for the next span."""
        return _Span()


class _Span:
    def __init__(self) -> None:
        self._events: dict[str, int] = {}
        self._seen: list[tuple[Recorded, Seen]] = []

    def apply(self, records: Sequence[Recorded]) -> None:
        for record in records:
            self._events[record.topic] = self._events.get(record.topic, 0) + 1
            if record.topic in TAKEN:
                # Its body may be large, and only some fields of it are wanted.
                short = msgspec.structs.replace(record, body=b"")
                self._seen.append((short, read(record.body)))

    def flush(self, connection: sqlite3.Connection) -> None:
        registry = MetricsRegistry(_Tables(connection))
        for topic, times in self._events.items():
            registry.count_event(topic, times)
        for record, seen in self._seen:
            registry.take_seen(record, seen)
        connection.executemany(
            "replace into metrics values (?, ?, ?)",
            [(name, _json(labels), _json(registry.values[name, labels]))
             for name, labels in registry.changed],
        )  # fmt: skip
        connection.executemany(
            "replace into metrics_executions values (?, ?, ?)",
            [(id_, each.process, _json(each.begun)) for id_, each in registry.executions.items()],
        )


class _Tables:
    """What the tables hold; a span of a few events reads a few rows of them."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def execution(self, execution_id: str) -> OpenExecution | None:
        row = self._connection.execute(
            "select process, begun from metrics_executions where execution_id = ?", (execution_id,)
        ).fetchone()
        return None if row is None else OpenExecution(row[0], msgspec.json.decode(row[1]))

    def numbers(self, series: Series) -> list[int] | None:
        name, labels = series
        row = self._connection.execute(
            "select numbers from metrics where name = ? and labels = ?", (name, _json(labels))
        ).fetchone()
        return None if row is None else msgspec.json.decode(row[0], type=list[int])

    def series(self, name: str) -> int:
        (count,) = self._connection.execute(
            "select count(*) from metrics where name = ?", (name,)
        ).fetchone()
        return int(count)


def stored(connection: sqlite3.Connection) -> MetricsRegistry:
    """The registry with all that the tables hold; of executions it reads what is asked for."""
    tables = _Tables(connection)
    registry = MetricsRegistry(tables)
    for name, labels, numbers in connection.execute("select * from metrics order by name, labels"):
        series = name, msgspec.json.decode(labels, type=tuple[str, ...])
        registry.values[series] = msgspec.json.decode(numbers, type=list[int])
    return registry


def metrics_of(home: Home) -> MetricsDocument:
    """The metrics of *home* up to the end of its log; they need no hub, and no projection.

    Raises:
        HomeError: The home cannot be used.
        LogError: The log cannot be read.
        ProjectionError: The projections cannot be read.
    """
    with HomeLog.open(home) as source:
        try:
            with snapshot(home.projections_path, MetricsProjection.name) as view:
                if view.version == MetricsProjection.version:
                    return _continued(source, stored(view.connection), view.position)
        except ProjectionMissingError:
            pass
        return _continued(source, MetricsRegistry(), 0)


def _continued(source: HomeLog, registry: MetricsRegistry, position: int) -> MetricsDocument:
    for record in source.read(position):
        registry.take(record)
        position = record.position
    return document_of(registry, position)


def _json(value: object) -> str:
    return msgspec.json.encode(value, order="sorted").decode()
