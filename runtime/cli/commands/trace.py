"""`cortex trace`: everything that happened in an execution."""

from collections.abc import Sequence

import click
import msgspec

from cortex.bus.events import StepDelegated
from cortex.runtime.executions.view import (
    ExecutionDocument,
    History,
    Span,
    document_of,
    rows_of,
    spans_of,
)
from cortex.runtime.kernel import Home
from cortex.runtime.models import dollars

from ..completing import execution_ids
from ..options import with_home, with_screen
from ..screen import Screen
from ..timeline import many_done, show_primitives, show_spans

DEEPEST = 16  # children of children of ...; a process cannot run itself, so this is plenty


class TraceDocument(msgspec.Struct):
    """One execution with its spans, and its children's under it."""

    execution: ExecutionDocument
    spans: list[Span]
    children: list["TraceDocument"]


@click.command()
@click.argument("execution_id", metavar="[EXECUTION]", default="", shell_complete=execution_ids)
@click.option("--full", is_flag=True, help="Show full answers, results and evidence.")
@with_home
@with_screen
def trace(execution_id: str, full: bool, home: Home, screen: Screen) -> None:
    """Show everything that happened in an execution.

    EXECUTION is an id, or its beginning, if that is unique; without it, the newest one. Columns:
    position in the log, seconds since the start, duration.
    """
    with History.open(home) as history:
        newest = history.newest_execution_id
        found = history.execution_id(execution_id) if execution_id else newest()
        document = _trace(history, found, DEEPEST, full=full)
    screen.document(document)
    if not screen.as_json:
        _show(screen, document, full=full, indent="")


def _trace(history: History, execution_id: str, depth: int, *, full: bool) -> TraceDocument:
    rows = rows_of(history, execution_id, around=True)
    own = [row for row in rows if row[0].correlation == execution_id]
    called = [event.child for _, event in own if isinstance(event, StepDelegated)]
    spans = spans_of(rows, execution_id)
    spared = frozenset[str]() if full else {each.attributes["child"] for each in many_done(spans)}
    shown = [child for child in dict.fromkeys(called) if depth and child not in spared]
    return TraceDocument(
        document_of(history.folded(execution_id, (record for record, _ in rows)), own),
        spans,
        [_trace(history, child, depth - 1, full=full) for child in shown],
    )


def _part_of(spans: Sequence[Span]) -> str:
    """What a child execution is of its parent: "item 2 of step review of <id>"; else ""."""
    for span in spans:
        said = span.attributes
        if span.kind == "execution.started" and (parent := said.get("parent")):
            part, step = said.get("part"), said.get("parent_step", "")
            whole = f"step {step} of {parent}"
            if not part:
                return whole
            own = f"item {said.get('item')}" if part == step else f"branch {part}"
            return f"{own} of {whole}"
    return ""


def _show(screen: Screen, document: TraceDocument, *, full: bool, indent: str) -> None:
    execution = document.execution
    process = (
        f"{execution.process} version {execution.version}" if execution.process else "(ad hoc)"
    )
    screen.line(f"{indent}execution {execution.id}  {execution.status}", "bold")
    for name, value in (
        ("part of", _part_of(document.spans)),
        ("process", process),
        ("goal", execution.goal),
        ("workspace", execution.workspace),
        ("requested", execution.requested),
        ("asked by", execution.requested_by),
        ("reason", execution.reason),
        ("tokens", f"{execution.tokens:,}"),
        ("cost", dollars(execution.cost) if execution.cost else ""),
    ):
        if value:
            screen.paragraph(value, lead=f"{indent}{name:<10} ")
    screen.line()
    show_spans(screen, document.spans, full=full, indent=indent)
    if not indent:
        screen.line()
        show_primitives(screen, document.spans)
    for child in document.children:
        screen.line()
        _show(screen, child, full=full, indent=indent + "  ")
