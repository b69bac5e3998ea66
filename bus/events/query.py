"""Queries that accessors answer at once, without an event; each answer has its position."""

from typing import Any

from ..event import Query


class ExecutionGet(Query, frozen=True, kw_only=True, tag="execution.get"):
    """Ask for one execution, folded from its events; the answer is an `ExecutionAnswer`."""

    execution_id: str  # or a prefix that no other execution shares


class ExecutionList(Query, frozen=True, kw_only=True, tag="execution.list"):
    """Ask for the newest executions, without items of steps; the answer is an `ExecutionAnswer`."""

    status: str = ""
    process: str = ""
    text: str = ""  # words to search for in goal, process and outcome
    limit: int = 50
    parent: str = ""  # only children and items of this execution


class ExecutionAnswer(Query, frozen=True, kw_only=True, tag="execution.answer"):
    """Executions as maps, newest first, and the position for which they are valid."""

    executions: tuple[dict[str, Any], ...]
    position: int


class ProcessList(Query, frozen=True, kw_only=True, tag="process.list"):
    """Ask for processes and interfaces with their versions; the answer is a `ProcessAnswer`."""

    name: str = ""
    text: str = ""  # words to search for in name and description
    sources: bool = False  # whether to return only the sources


class ProcessAnswer(Query, frozen=True, kw_only=True, tag="process.answer"):
    """Processes as maps, and the position for which they are valid."""

    processes: tuple[dict[str, Any], ...]
    position: int
    sources: dict[str, str] = {}  # digest of the text of every accepted source, by file
    rejected: dict[str, str] = {}  # of every source that was rejected since; "" if it was not read


class RuntimeGet(Query, frozen=True, kw_only=True, tag="runtime.get"):
    """Ask for the hub and its connected clients; the answer is a `RuntimeAnswer`."""

    check: bool = False  # whether to compare the hub's state with its log


class RuntimeAnswer(Query, frozen=True, kw_only=True, tag="runtime.answer"):
    """A running hub, and the position for which this is valid."""

    position: int
    pid: int
    version: str  # of Cortex
    since_ns: int  # UTC, when it began to listen
    urls: tuple[str, ...]
    clients: tuple[dict[str, Any], ...]  # name, carrier, address, connections, since_ns
    astray: tuple[str, ...] = ()  # with `check`: rows of the log that differ from the hub's state


class MetricsGet(Query, frozen=True, kw_only=True, tag="metrics.get"):
    """Ask for the metrics of the home; the answer is a `MetricsAnswer`."""


class MetricsAnswer(Query, frozen=True, kw_only=True, tag="metrics.answer"):
    """Metrics as maps, and the position up to which every event is counted."""

    position: int
    bounds_s: tuple[float, ...]  # of the buckets of every histogram
    # Each with "name", "kind", "help", "labels", "value", and of a histogram "count" and "buckets".
    metrics: tuple[dict[str, Any], ...]


class LogSeal(Query, frozen=True, kw_only=True, tag="log.seal"):
    """Seal the oldest records that are not sealed, one segment; the answer is a `LogAnswer`."""

    through: int  # at most up to this position
    by: str = ""  # the program in which a person asked


class LogAnswer(Query, frozen=True, kw_only=True, tag="log.answer"):
    """The segment that was sealed; `last` is 0 if there was none to seal."""

    through: int  # every record up to here is in the archive
    first: int = 0
    last: int = 0
    digest: str = ""
    record_bytes: int = 0
    file_bytes: int = 0
