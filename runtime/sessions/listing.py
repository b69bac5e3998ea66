"""Executions for programs: one with its state, the newest, and those found by words."""

import msgspec

from cortex.runtime.executions.view import (
    ExecutionDocument,
    ExecutionSummary,
    History,
    document_of,
    find_executions,
    row_of,
    rows_of,
    worktree_of,
)
from cortex.runtime.projections import REQUESTS

from .untaken import waiting_for


class FoundExecution(ExecutionSummary, kw_only=True):
    """An execution that was found."""

    score: float  # 1 is the best by words and meaning; links may add to it
    why: dict[str, float]  # the parts of the score


def standing_document(history: History, execution_id: str) -> ExecutionDocument:
    """The state of an execution, with what it waits for and where it changed files."""
    state = history.execution(execution_id)
    document = document_of(state, rows_of(history, execution_id), history.blobs)
    document.waiting = waiting_for(history, execution_id)
    document.worktree = worktree_of(history.home, state.tree or execution_id)
    return document


def newest_executions(
    history: History, limit: int, *, status: str = "", process: str = "", children: bool = False
) -> list[ExecutionSummary]:
    """The executions that were requested last, newest first.

    Args:
        history: Where they are.
        limit: How many at most.
        status: Only those with this status.
        process: Only those of this process.
        children: Also those that run as a step of another.
    """
    found: list[ExecutionSummary] = []
    for record in history.newest(REQUESTS):
        if record.version != 1 or not record.correlation:  # a second request for the same
            continue
        state = history.execution(record.correlation)
        if (state.parent and not children) or (status and state.status != status):
            continue
        row = row_of(state, rows_of(history, record.correlation))
        if process and row.process != process:
            continue
        row.waiting = waiting_for(history, record.correlation)
        found.append(row)
        if len(found) == limit:
            break
    return found


def matching_executions(
    history: History, question: str, limit: int
) -> tuple[list[FoundExecution], list[str]]:
    """The executions that fit a question best, best first, and notes on the search."""
    found = find_executions(history, question, limit)
    rows = []
    for hit in found.hits:
        state = history.execution(hit.key)
        if state.status == "unknown":
            continue  # an earlier state is shown, and it was requested later
        row = row_of(state, rows_of(history, hit.key))
        rows.append(FoundExecution(**msgspec.structs.asdict(row), score=hit.score, why=hit.why))
    return rows, list(found.notes)
