"""The projection of memory: nodes, edges and what happened to them, each with its position.

Rows are only added, so that the state at any earlier position is a query. What leaves memory
(forgotten, collected, undone, erased) keeps its id and position; its texts are removed, and read
from the log again where somebody asks for the state before.
"""

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final

import msgspec

from cortex.bus import Event, Recorded
from cortex.bus.events import (
    VOCABULARY,
    ContextCompiled,
    MemoryCollected,
    MemoryConsolidated,
    MemoryCorrected,
    MemoryForgotten,
    MemoryLinked,
    MemoryPinned,
    MemoryRecorded,
    MemoryRestored,
    MemorySuperseded,
    MemoryUndone,
    MemoryUnpinned,
)
from cortex.runtime.projections import Changes
from cortex.runtime.retrieval import plain

from . import package_rows
from .forks import contradicting
from .nodes import Edge, Node, edge_of, episode_digest, node_of
from .places import placed
from .rules import ENGINE, EVENTS, ExecutionRules, OpenRun
from .tables import TABLES

ROWS: Final = 64  # in one statement: up to 21 values each
LEFT: Final = ("forgotten", "collected", "undone")  # changes after which a node is not in memory
NAME: Final = "memory"

_INSERT: Final = {
    "memory_nodes": 21,
    "memory_sources": 7,
    "memory_edges": 7,
    "memory_changes": 5,
    "memory_uses": 6,
    "memory_consolidations": 7,
    **package_rows.WIDTHS,
    "memory_entities": 3,
}


class MemoryProjection:
    """The read model of memory."""

    name = NAME
    version = 5
    tables = (*TABLES, *package_rows.TABLES)

    def begin(self) -> Changes:
        """Empty changes for the next span."""
        return _Rows()


class _Rows:
    """The rows of one span."""

    def __init__(self) -> None:
        self._rows: dict[str, list[tuple[Any, ...]]] = {table: [] for table in _INSERT}
        self._of_runs: list[tuple[Recorded, Event]] = []
        # The last word in the span on the texts of a node: None removes them.
        self._texts: dict[str, MemoryRestored | None] = {}

    def apply(self, records: Sequence[Recorded]) -> None:
        for record in records:
            if record.topic in _TOPICS and not record.erased and _counts(record):
                self._take(record, VOCABULARY.read(record))

    def _take(self, record: Recorded, event: Event) -> None:
        if isinstance(event, EVENTS):
            self._of_runs.append((record, event))
            return
        fold = _FOLDS[type(event)]
        for table, row in fold(record, event):
            self._rows[table].append(row)
        match event:
            case MemoryForgotten():
                self._texts[event.node_id] = None
            case MemoryCollected() | MemoryUndone():
                self._texts.update(dict.fromkeys(event.nodes))
            case MemoryRestored():
                self._texts[event.node_id] = event
            case _:
                pass

    def flush(self, connection: sqlite3.Connection) -> None:
        rules = ExecutionRules(_Runs(connection))
        for record, event in self._of_runs:
            derived = rules.take(record, event)
            self._rows["memory_nodes"] += map(node_row, derived.nodes)
            self._rows["memory_entities"] += chain.from_iterable(
                _entity_rows(node.id, node.entities, record) for node in derived.nodes
            )
            self._rows["memory_edges"] += map(_edge_row, derived.edges)
        self._rows["memory_nodes"] = list(placed(connection, self._rows["memory_nodes"]))
        for table, rows in self._rows.items():
            _insert(connection, table, rows)
        edges = list(contradicting(connection, self._rows["memory_edges"]))
        _insert(connection, "memory_edges", edges)
        for execution, run in rules.changed.items():
            _keep_run(connection, execution, run)
        for node_id, restored in self._texts.items():
            connection.execute(_TEXTS, (*_texts_of(restored), node_id))
            if restored is None:
                connection.execute("delete from memory_entities where id = ?", (node_id,))


_TEXTS: Final = (
    "update memory_nodes set content = ?, entities = ?, source = ?, quote = ?, embedding = x'' "
    "where id = ?"
)


def _texts_of(restored: MemoryRestored | None) -> tuple[str, str, str, str]:
    if restored is None:
        return "", "[]", "", ""
    entities = json.dumps(restored.entities)
    return restored.content, entities, restored.source, restored.quote


def _counts(record: Recorded) -> bool:
    """Whether *record* is from who may say so; facts of memory from others mean nothing."""
    if record.topic in package_rows.FACTS:
        return record.source == package_rows.PACKAGER
    return record.source == ENGINE or not record.topic.startswith("memory.")


class _Runs(Mapping[str, OpenRun]):
    """Executions that have begun, in the tables."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __getitem__(self, execution: str) -> OpenRun:
        row = self._connection.execute(
            "select run from memory_runs where execution = ?", (execution,)
        ).fetchone()
        if row is None:
            raise KeyError(execution)
        return msgspec.json.decode(row[0], type=OpenRun)

    def __iter__(self) -> Iterator[str]:
        rows = self._connection.execute("select execution from memory_runs order by execution")
        return (row[0] for row in rows.fetchall())

    def __len__(self) -> int:
        (count,) = self._connection.execute("select count(*) from memory_runs").fetchone()
        return int(count)


def _keep_run(connection: sqlite3.Connection, execution: str, run: OpenRun | None) -> None:
    if run is None:
        connection.execute("delete from memory_runs where execution = ?", (execution,))
    else:
        encoded = msgspec.json.encode(run).decode()
        connection.execute("replace into memory_runs values (?, ?)", (execution, encoded))


def _insert(connection: sqlite3.Connection, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
    marks = f"({', '.join('?' * _INSERT[table])})"
    for start in range(0, len(rows), ROWS):
        part = rows[start : start + ROWS]
        values = ", ".join([marks] * len(part))
        connection.execute(
            f"insert or ignore into {table} values {values}",  # noqa: S608  # names of ours
            tuple(chain.from_iterable(part)),
        )


def node_row(node: Node) -> tuple[Any, ...]:
    """The row of a node, without its place."""
    return (
        node.id,
        node.position,
        node.time_ns,
        node.kind,
        node.content,
        node.scope,
        node.subject,
        node.origin,
        node.by,
        node.confidence,
        node.happened_ns,
        json.dumps(node.entities),
        node.source,
        node.quote,
        node.consolidation_id,
        packed(node.embedding),
        episode_digest(node.episode),
        node.times,
        node.form,
        node.said_by,
    )


def packed(embedding: Sequence[float]) -> bytes:
    """An embedding as float32, little endian."""
    from array import array

    values = array("f", embedding)
    return values.tobytes()


def _edge_row(edge: Edge) -> tuple[Any, ...]:
    return (
        edge.node_id,
        edge.edge,
        edge.to,
        edge.position,
        edge.by,
        edge.certainty,
        edge.because,
    )


_Row = tuple[str, tuple[Any, ...]]


def _recorded(record: Recorded, event: MemoryRecorded) -> Iterator[_Row]:
    if event.again:
        said = (event.by, event.source, event.quote, event.said_by)
        yield "memory_sources", (event.node_id, record.position, record.time_ns, *said)
        return
    node = node_of(record, event)
    yield "memory_nodes", node_row(node)
    entities = _entity_rows(node.id, node.entities, record)
    yield from (("memory_entities", row) for row in entities)
    if event.uses:
        used = (record.position, event.used_ns, "", "", event.uses)
        yield "memory_uses", (node.id, *used)
    for edge in event.edges:
        yield "memory_edges", _edge_row(edge_of(node.id, edge, record.position, event.by))


def _linked(record: Recorded, event: MemoryLinked) -> Iterator[_Row]:
    yield (
        "memory_edges",
        (
            event.node_id,
            event.edge,
            event.to,
            record.position,
            event.by,
            event.certainty,
            event.because,
        ),
    )


def _superseded(record: Recorded, event: MemorySuperseded) -> Iterator[_Row]:
    successor, old = event.successor, event.node_id
    told = (record.position, event.by, event.certainty, event.because)
    yield "memory_edges", (successor, "supersedes", old, *told)


def _corrected(record: Recorded, event: MemoryCorrected) -> Iterator[_Row]:
    told = (record.position, event.by, 1.0, "")
    yield "memory_edges", (event.correction, "supersedes", event.node_id, *told)


def _change(change: str) -> Callable[[Recorded, Any], Iterator[_Row]]:
    def fold(record: Recorded, event: Any) -> Iterator[_Row]:
        why: str = getattr(event, "why", "")
        yield "memory_changes", (event.node_id, record.position, change, event.by, why)

    return fold


def _restored(record: Recorded, event: MemoryRestored) -> Iterator[_Row]:
    yield from _change("restored")(record, event)
    entities = _entity_rows(event.node_id, event.entities, record)
    yield from (("memory_entities", row) for row in entities)


def _entity_rows(
    node_id: str, entities: Sequence[str], record: Recorded
) -> Iterator[tuple[str, str, int]]:
    names = dict.fromkeys(filter(None, map(plain, entities)))
    return ((name, node_id, record.position) for name in names)


def _collected(record: Recorded, event: MemoryCollected) -> Iterator[_Row]:
    why = f"collection {event.collection}"
    for node_id in event.nodes:
        yield "memory_changes", (node_id, record.position, "collected", record.source, why)
    for package_id in event.packages:
        yield "memory_package_gone", (package_id, record.position)


def _undone(record: Recorded, event: MemoryUndone) -> Iterator[_Row]:
    why = f"consolidation {event.consolidation_id}"
    for node_id in event.nodes:
        yield "memory_changes", (node_id, record.position, "undone", event.by, why)


def _consolidated(record: Recorded, event: MemoryConsolidated) -> Iterator[_Row]:
    yield (
        "memory_consolidations",
        (
            event.consolidation_id,
            record.position,
            record.time_ns,
            event.scope,
            json.dumps(event.read),
            json.dumps(event.wrote),
            event.through,
        ),
    )


def _used(record: Recorded, event: ContextCompiled) -> Iterator[_Row]:
    for node_id in event.memories:
        at = (record.position, record.time_ns)
        yield "memory_uses", (node_id, *at, event.execution_id, event.step_id, 1)
    yield from package_rows.uses_in(record, event)


_FOLDS: Final[Mapping[type[Event], Callable[[Recorded, Any], Iterator[_Row]]]] = {
    MemoryRecorded: _recorded,
    MemoryLinked: _linked,
    MemorySuperseded: _superseded,
    MemoryCorrected: _corrected,
    MemoryPinned: _change("pinned"),
    MemoryUnpinned: _change("unpinned"),
    MemoryForgotten: _change("forgotten"),
    MemoryRestored: _restored,
    MemoryCollected: _collected,
    MemoryUndone: _undone,
    MemoryConsolidated: _consolidated,
    ContextCompiled: _used,
    **package_rows.FOLDS,
}
_TOPICS: Final = frozenset(each.topic_name() for each in (*_FOLDS, *EVENTS))
