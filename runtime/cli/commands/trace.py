"""`cortex trace`: everything that happened in an execution."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from cortex.runtime.executions.view import (
    PRIMITIVES,
    History,
    Span,
    TraceDocument,
    changed_line,
    debug_of,
    fork_line,
    many_done,
    page_of,
    part_line,
    span_details,
    span_title,
    time_by_primitive,
    trace_of,
    waterfall_of,
)
from cortex.runtime.kernel import Home, duration
from cortex.runtime.models import dollars

from ..completing import with_any_execution
from ..options import FILE, at_home, with_past
from ..screen import Branch, Screen
from ..terminal import show_debug, waterfall_lines

_GOOD = frozenset(
    ("passed", "completed", "compiled", "responded", "returned", "recorded", "skipped")
)


@click.command()
@with_any_execution
@click.option("--full", is_flag=True, help="Show full answers, results and evidence.")
@click.option("--html", type=FILE, metavar="FILE", help="Write it to FILE, as one page of HTML.")
@at_home
@with_past
def trace(execution_id: str, full: bool, html: Path | None, home: Home, screen: Screen) -> None:
    """Show everything that happened in an execution.

    EXECUTION is an id, or its beginning, if that is unique; without it, the newest one.

    First comes a waterfall: when each step and its parts ran, the tokens of the compiled prompt,
    the tokens of four classes (in, read from and written to a cache, out), and the cost. A row
    has the sums of the rows below it. Then come the details; columns: position in the log, seconds
    since the start, duration. On a terminal they are a tree with the columns at the right; on a
    pipe they are in order of time, with the columns in front.
    """
    with History.open(home) as history:
        newest = history.newest_execution_id
        found = history.execution_id(execution_id) if execution_id else newest()
        document = trace_of(history, found, full=full or html is not None)
    document.waterfall = waterfall_of(document)
    if html is not None:
        html.write_text(page_of(document), "utf-8")
        screen.note(f"{html}: open it in a browser")
    screen.document(document)
    if not screen.as_json and html is None:
        _show(screen, document, full=full, indent="")


def _show(screen: Screen, document: TraceDocument, *, full: bool, indent: str) -> None:
    execution = document.execution
    process = (
        f"{execution.process} version {execution.version}" if execution.process else "(ad hoc)"
    )
    facts = (
        ("part of", part_line(document.spans)),
        ("what-if of" if execution.what_if else "fork of", fork_line(execution)),
        ("changed", changed_line(execution)),
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
    if document.waterfall is not None:
        spared = frozenset() if full else {span.id for span in many_done(document.spans)}
        for line in waterfall_lines(document.waterfall, screen.width, spared):
            screen.line(*line)
        screen.line()
    screen.tree(_branches(document.spans, full=full), indent)
    if not indent:
        screen.line()
        _show_primitives(screen, document.spans)
    for child in document.children:
        screen.line()
        _show(screen, child, full=full, indent=indent + "  ")


def _branches(spans: Sequence[Span], *, full: bool) -> Iterator[Branch]:
    spared = [] if full else many_done(spans)
    hidden = {span.id for span in spared}
    for span in (each for each in spans if each.id not in hidden):
        after_s = (span.started_ns - spans[0].started_ns) / 1e9
        took = duration(span.duration_s) if span.last_position > span.position else ""
        columns = f"{span.position:>8} {after_s:>9.3f} {took:>10}"
        style = "" if span.status in _GOOD else "yellow" if span.status == "open" else "red"
        style = "bold" if span.kind == "execution" else style
        details = tuple(span_details(span, full=full))
        yield Branch(span.id, span.parent, columns, span_title(span), style, details)
    if spared:
        told = f"{len(spared)} items that completed are left out: --full shows them"
        yield Branch("spared", spared[0].parent, f"{'':29}", told, "dim")


def _show_primitives(screen: Screen, spans: Sequence[Span]) -> None:
    """Print the spans and the time of each of the five primitives that has any."""
    screen.line(f"by kind of work ({', '.join(PRIMITIVES)}):")
    for primitive, (count, took_s) in time_by_primitive(spans).items():
        noun = "span " if count == 1 else "spans"
        screen.line(f"  {primitive:<12}{count:>4} {noun}  {duration(took_s):>10}")


@click.command()
@with_any_execution
@click.option("--full", is_flag=True, help="Show prompts, evidence and left-out items as a whole.")
@at_home
@with_past
def debug(execution_id: str, full: bool, home: Home, screen: Screen) -> None:
    """Show where an execution stands, and what would be sent next.

    At a breakpoint: what was done so far, what the gates said, and the prompt that is sent when it
    continues, with its messages and their parts, the tokens of each section, and what was left out.
    EXECUTION is an id, or its beginning, if that is unique; without it, the newest one. If it waits
    for a child execution, that is shown.
    """
    with History.open(home) as history:
        newest = history.newest_execution_id
        found = history.execution_id(execution_id) if execution_id else newest()
        document = debug_of(history, found)
    screen.document(document)
    if not screen.as_json:
        show_debug(screen, document, full=full, hints=home.as_of is None)
