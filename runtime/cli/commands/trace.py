"""`cortex trace`: everything that happened in an execution."""

import json
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

import click

from cortex.runtime.executions.view import (
    PRIMITIVES,
    History,
    Span,
    TraceDocument,
    many_done,
    part_line,
    time_by_primitive,
    trace_of,
)
from cortex.runtime.kernel import Home, duration, many
from cortex.runtime.models import Usage, counted, dollars

from ..completing import with_any_execution
from ..options import at_home
from ..screen import LEAST, Screen

ANSWER_LINES = 6  # of a model's answer, unless all of it is wanted
SHORT = 180  # characters of a value, unless all of it is wanted
MARGIN = 31  # columns of position and times
_GOOD = frozenset(
    ("passed", "completed", "compiled", "responded", "returned", "recorded", "skipped")
)
# Told elsewhere on the page, or of use to a program alone.
_PLAIN = frozenset(
    ("attempt", "action", "schema", "turn", "call", "call_id", "items", "at_once", "branches")
)
_LONG = frozenset(("result", "outputs", "needs", "linked", "digest", "trigger", "trigger_id"))
DETAIL_LINES = 2  # of any one thing, unless all of it is wanted


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
    _show_spans(screen, document.spans, full=full, indent=indent)
    if not indent:
        screen.line()
        _show_primitives(screen, document.spans)
    for child in document.children:
        screen.line()
        _show(screen, child, full=full, indent=indent + "  ")


def _show_spans(screen: Screen, spans: Sequence[Span], *, full: bool, indent: str = "") -> None:
    """Print *spans* as a tree along time."""
    depth: dict[str, int] = {}
    spared = [] if full else many_done(spans)
    hidden = {span.id for span in spared}
    first_ns = spans[0].started_ns if spans else 0
    for span in spans:
        depth[span.id] = depth.get(span.parent, -1) + 1
        if span.id in hidden:
            continue
        margin = indent + "  " * depth[span.id]
        width = max(LEAST, screen.width - MARGIN - len(margin) - 2)
        style = "" if span.status in _GOOD else "yellow" if span.status == "open" else "red"
        if span.kind == "execution":
            style = "bold"
        after_s = (span.started_ns - first_ns) / 1e9
        took = duration(span.duration_s) if span.last_position > span.position else ""
        line = f"{span.position:>8} {after_s:>9.3f} {took:>10}  {margin}{_title(span)}"
        screen.line(screen.cut(line), style)
        for line in _details(span, full=full):
            for part in _wrapped(line, width, full=full):
                screen.line(f"{'':>{MARGIN}}{margin}  {part}", "dim")

    if spared:
        told = f"{len(spared)} items that completed are left out: --full shows them"
        screen.line(f"{'':>{MARGIN}}{indent}  {told}", "dim")


def _show_primitives(screen: Screen, spans: Sequence[Span]) -> None:
    """Print the spans and the time of each of the five primitives that has any."""
    screen.line(f"by kind of work ({', '.join(PRIMITIVES)}):")
    for primitive, (count, took_s) in time_by_primitive(spans).items():
        noun = "span " if count == 1 else "spans"
        screen.line(f"  {primitive:<12}{count:>4} {noun}  {duration(took_s):>10}")


def _title(span: Span) -> str:
    status = "" if span.status == "recorded" else span.status
    parts = [span.kind, span.name, status]
    attempt = span.attributes.get("attempt", 1)
    if span.kind == "step" and (many := span.attributes.get("items")) is not None:
        noun = "branches" if "branches" in span.attributes else "items"
        parts.insert(2, f"({many} {noun}, {span.attributes['at_once']} at once)")
    elif span.kind == "step":
        parts.insert(2, f"({span.attributes.get('action') or span.attributes.get('child') or '-'})")
    if attempt != 1:
        parts.append(f"attempt {attempt}")
    if turn := span.attributes.get("turn"):
        parts.append(f"turn {turn}")
    if (call := span.attributes.get("call", 1)) != 1:
        parts.append(f"call {call}")
    if cost := span.attributes.get("cost") if span.kind == "model" else 0.0:
        parts.append(dollars(cost))
    return " ".join(part for part in parts if part)


def _details(span: Span, *, full: bool) -> Iterator[str]:
    said = {n: v for n, v in span.attributes.items() if n not in _PLAIN and v != span.name}
    if span.kind == "context" and "sections" in said:
        yield from _context_details(said)
        return
    if span.kind == "model" and "answer" in said:
        yield from _answer_details(said, full=full)
        return
    for name, value in said.items():
        if full or name not in _LONG:
            yield f"{name}: {_short(value, full=full)}"


def _context_details(said: dict[str, Any]) -> Iterator[str]:
    sections = ", ".join(f"{name} {n:,}" for name, n in said["sections"].items() if n)
    size = many(said.get("tokens", 0), "token")
    yield f"{size} of {said.get('window', 0):,} for {said.get('model')}"
    yield f"sections: {sections}"
    yield f"items: {said.get('included', 0)} of {said.get('considered', 0)} looked at"
    for action in said.get("actions", ()):
        yield f"- {action}"
    yield f"prompt: {said.get('prompt')}"
    yield f"manifest: {said.get('manifest')}"


def _answer_details(said: dict[str, Any], *, full: bool) -> Iterator[str]:
    usage = Usage(**{name: said.get(f"{name}_tokens", 0) for name in Usage.__struct_fields__})
    yield f"tokens: {counted(usage)}"
    for call in said["answer"].get("calls") or ():
        yield f"wants {call.get('tool')}: {_short(call.get('arguments'), full=full)}"
    lines = str(said["answer"].get("text", "")).splitlines()
    shown = lines if full else lines[:ANSWER_LINES]
    yield from (f"| {line}" for line in shown)
    if len(shown) < len(lines):
        yield f"| ... {many(len(lines) - len(shown), 'more line')}, shown by --full"


def _short(value: Any, *, full: bool) -> str:
    # Spaces between, so that a line breaks there.
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if full or len(text) <= SHORT else f"{text[:SHORT]} ..."


def _wrapped(line: str, width: int, *, full: bool) -> list[str]:
    parts = [part for text in line.splitlines() for part in textwrap.wrap(text, width) or [""]]
    if full or len(parts) <= DETAIL_LINES:
        return parts
    return [*parts[: DETAIL_LINES - 1], f"{parts[DETAIL_LINES - 1][: width - 1]}…"]
