"""The projection of executions: one row each, and their words for finding them again."""

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from cortex.bus import Recorded, as_map
from cortex.runtime.metrics import MetricsProjection
from cortex.runtime.projections import Changes, EventIndex, Projection, Snapshot

STATUS_OF_TOPIC: Mapping[str, str] = {
    "execution.request": "requested",
    "execution.started": "running",
    "execution.paused": "paused",
    "execution.resumed": "running",
    "execution.halted": "halted",
    "execution.completed": "completed",
    "execution.failed": "failed",
    "execution.cancelled": "cancelled",
}
_HAS_WORD = (
    "execution_id in (select execution_id from executions_words where executions_words match ?)"
)
_COUNTED = frozenset(f"execution.{how}" for how in ("completed", "failed", "cancelled", "halted"))
_TAKEN = frozenset((*STATUS_OF_TOPIC, "execution.charged", "execution.rated", "step.completed"))


class ExecutionRow(msgspec.Struct, frozen=True):
    """One execution as a list shows it."""

    execution_id: str
    # Defaults are for a column that an older version of the tables does not have.
    process: str = ""  # "" for ad-hoc work
    process_version: int = 0
    digest: str = ""
    status: str = ""
    goal: str = ""
    parent: str = ""
    reason: str = ""  # why it is paused, halted, failed or cancelled
    verdict: str = ""  # a person's; "" without one
    tokens: int = 0  # of prompts and answers, its own and its children's, when it last stopped
    own_tokens: int = 0  # without its children's, once it is completed
    began_ns: int = 0
    changed_ns: int = 0  # its newest event that is in here
    cost: float = 0.0  # US dollars, its own and its children's, when it last stopped
    item: int = 0  # which item of a step of its parent, from 1; 0 for none


class ExecutionRecords:
    """A row and a full-text entry an execution."""

    name = "executions"
    version = 4
    tables = (
        """
        create table executions (
            execution_id    text    primary key,
            process         text    not null default '',
            process_version integer not null default 0,
            digest          text    not null default '',
            status          text    not null default '',
            goal            text    not null default '',
            parent          text    not null default '',
            reason          text    not null default '',
            verdict         text    not null default '',
            tokens          integer not null default 0,
            own_tokens      integer not null default 0,
            began_ns        integer not null,
            changed_ns      integer not null,
            cost            real    not null default 0.0,
            item            integer not null default 0
        ) strict
        """,
        "create index executions_began on executions (began_ns)",
        "create index executions_process on executions (process, process_version)",
        "create virtual table executions_words using fts5 (execution_id unindexed, words)",
    )

    def begin(self) -> Changes:
        """Empty changes for the next span."""
        return _Rows()


class _Rows:
    def __init__(self) -> None:
        self._rows: dict[str, dict[str, Any]] = {}
        self._words: list[tuple[str, str]] = []

    def apply(self, records: Sequence[Recorded]) -> None:
        for record in records:
            if record.topic in _TAKEN:
                self._fold(record, as_map(record))

    def flush(self, connection: sqlite3.Connection) -> None:
        for execution_id, row in self._rows.items():
            columns = ", ".join(row)
            marks = ", ".join("?" * (len(row) + 1))
            taken = ", ".join(f"{c} = excluded.{c}" for c in row if c != "began_ns")
            connection.execute(
                f"insert into executions (execution_id, {columns}) values ({marks}) "  # noqa: S608  # names of ours; what comes from outside is bound
                f"on conflict (execution_id) do update set {taken}",  # names are ours
                (execution_id, *row.values()),
            )
        connection.executemany("insert into executions_words values (?, ?)", self._words)

    def _fold(self, record: Recorded, body: Mapping[str, Any]) -> None:
        execution_id = body["execution_id"]
        row = self._rows.setdefault(execution_id, {"began_ns": record.time_ns})
        row["changed_ns"] = record.time_ns
        if record.topic in STATUS_OF_TOPIC:
            row["status"] = STATUS_OF_TOPIC[record.topic]
            row["reason"] = body.get("reason", "")
        if record.topic in ("execution.request", "execution.started"):
            for column in ("process", "process_version", "goal", "parent"):
                row[column] = body.get(column, 0 if column == "process_version" else "")
            row["digest"] = body.get("digest", "")
        if record.topic == "execution.started":
            row["item"] = (body.get("part") or {}).get("item", 0)
        if record.topic == "execution.request":
            self._say(execution_id, body.get("process", "").replace("_", " "), body.get("goal"))
        elif record.topic == "execution.charged":
            row["tokens"] = body.get("total", 0)
            row["cost"] = body.get("total_cost", 0.0)
        elif record.topic in _COUNTED:
            row["tokens"] = body.get("tokens", 0)
            row["cost"] = body.get("cost", 0.0)
            if "own_tokens" in body:
                row["own_tokens"] = body["own_tokens"]
        elif record.topic == "execution.rated":
            row["verdict"] = body.get("verdict", "")
            self._say(execution_id, body.get("note"))
        elif record.topic == "step.completed":
            self._say(execution_id, body.get("summary"))

    def _say(self, execution_id: str, *words: str | None) -> None:
        text = " ".join(word for word in words if word)
        if text:
            self._words.append((execution_id, text))


def list_executions(
    view: Snapshot,
    *,
    status: str = "",
    process: str = "",
    text: str = "",
    parent: str = "",
    limit: int = 50,
) -> list[ExecutionRow]:
    """Executions that fit everything given, the newest first.

    Args:
        view: Snapshot of the projection.
        status: As `ExecutionRow.status`; "" for any.
        process: Name of a process; "" for any.
        text: Words that must all occur in its goal, its process's name or its summaries.
        parent: Execution whose children and items are meant; "" for all, without items.
        limit: At most so many.
    """
    has = {row[1] for row in view.connection.execute("pragma table_info(executions)")}
    terms: list[tuple[str, str | int]] = []
    if status:
        terms.append(("status = ?", status))
    if process:
        terms.append(("process = ?", process))
    if parent:
        terms.append(("parent = ?", parent))
    elif "item" in has:
        terms.append(("item = ?", 0))
    for word in text.split():
        quoted = '"' + word.replace('"', '""') + '"'
        terms.append((_HAS_WORD, quoted))
    where = " and ".join(term for term, _ in terms) or "true"
    # While the tables are rebuilt for this version, readers still see those of another one.
    columns = [name for name in ExecutionRow.__struct_fields__ if name in has]
    rows = view.connection.execute(
        f"select {', '.join(columns)} from executions where {where} "  # noqa: S608  # values are bound
        "order by began_ns desc, execution_id limit ?",
        (*(value for _, value in terms), limit),
    )
    return [ExecutionRow(**dict(zip(columns, row, strict=True))) for row in rows]


# Those of a home, in one file; names and versions are in its checkpoints.
PROJECTIONS: tuple[Projection, ...] = (ExecutionRecords(), EventIndex(), MetricsProjection())
