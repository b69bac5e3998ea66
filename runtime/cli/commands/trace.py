"""`cortex trace`: everything that happened in an execution."""

import click

from cortex.runtime.executions.view import History, TraceDocument, part_line, trace_of
from cortex.runtime.kernel import Home
from cortex.runtime.models import dollars

from ..completing import with_any_execution
from ..options import at_home
from ..screen import Screen
from ..timeline import show_primitives, show_spans


@click.command()
@with_any_execution
@click.option("--full", is_flag=True, help="Show full answers, results and evidence.")
@at_home
def trace(execution_id: str, full: bool, home: Home, screen: Screen) -> None:
    """Show everything that happened in an execution.

    EXECUTION is an id, or its beginning, if that is unique; without it, the newest one. Columns:
    position in the log, seconds since the start, duration.
    """
    with History.open(home) as history:
        newest = history.newest_execution_id
        found = history.execution_id(execution_id) if execution_id else newest()
        document = trace_of(history, found, full=full)
    screen.document(document)
    if not screen.as_json:
        _show(screen, document, full=full, indent="")


def _show(screen: Screen, document: TraceDocument, *, full: bool, indent: str) -> None:
    execution = document.execution
    process = (
        f"{execution.process} version {execution.version}" if execution.process else "(ad hoc)"
    )
    facts = (
        ("part of", part_line(document.spans)),
        ("process", process),
        ("goal", execution.goal),
        ("workspace", execution.workspace),
        ("requested", execution.requested),
        ("asked by", execution.requested_by),
        ("reason", execution.reason),
        ("tokens", f"{execution.tokens:,}"),
        ("cost", dollars(execution.cost) if execution.cost else ""),
    )
    screen.line(f"{indent}execution {execution.id}  {execution.status}", "bold")
    screen.facts(facts, indent)
    screen.line()
    show_spans(screen, document.spans, full=full, indent=indent)
    if not indent:
        screen.line()
        show_primitives(screen, document.spans)
    for child in document.children:
        screen.line()
        _show(screen, child, full=full, indent=indent + "  ")
