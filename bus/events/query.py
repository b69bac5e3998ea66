"""Questions that accessors answer at once, past the log; each answer names its position."""

from typing import Any

from ..event import Query


class ExecutionGet(Query, frozen=True, kw_only=True, tag="execution.get"):
    """Ask for one execution, folded from its events; the answer is an `ExecutionAnswer`."""

    execution_id: str  # or a prefix that no other execution shares


class ExecutionList(Query, frozen=True, kw_only=True, tag="execution.list"):
    """Ask for the newest executions, without items of steps; the answer is an `ExecutionAnswer`."""

    status: str = ""
    process: str = ""
    text: str = ""  # words to find in goal, process and outcome
    limit: int = 50
    parent: str = ""  # an execution whose children and items are meant


class ExecutionAnswer(Query, frozen=True, kw_only=True, tag="execution.answer"):
    """Executions as maps, newest first, and the position for which they are valid."""

    executions: tuple[dict[str, Any], ...]
    position: int


class ProcessList(Query, frozen=True, kw_only=True, tag="process.list"):
    """Ask for processes and interfaces with their versions; the answer is a `ProcessAnswer`."""

    name: str = ""
    text: str = ""  # words to find in name and description
    sources: bool = False  # whether to give the sources alone


class ProcessAnswer(Query, frozen=True, kw_only=True, tag="process.answer"):
    """Processes as maps, and the position for which they are valid."""

    processes: tuple[dict[str, Any], ...]
    position: int
    sources: dict[str, str] = {}  # digest of the text of every accepted source, by file
    rejected: dict[str, str] = {}  # of every one that was rejected since; "" if it was not read


class RuntimeGet(Query, frozen=True, kw_only=True, tag="runtime.get"):
    """Ask for the hub and its connected clients; the answer is a `RuntimeAnswer`."""

    check: bool = False  # whether to compare what the hub goes by with what its log holds


class RuntimeAnswer(Query, frozen=True, kw_only=True, tag="runtime.answer"):
    """A hub that is up, and the position for which this is valid."""

    position: int
    pid: int
    version: str  # of Cortex
    since_ns: int  # UTC, when it began to listen
    urls: tuple[str, ...]
    clients: tuple[dict[str, Any], ...]  # name, carrier, address, connections, since_ns
    astray: tuple[str, ...] = ()  # if that was asked: rows of the log that are not as the hub's
