"""Everything that happened in an execution: its spans, and those of its children under it."""

from collections.abc import Sequence

import msgspec

from cortex.bus.events import StepDelegated

from .history import History, rows_of
from .spans import Span, spans_of
from .summary import ExecutionDocument, document_of
from .waterfall import Waterfall

PRIMITIVES = ("orchestrate", "execute", "learn", "build", "refine")
DEEPEST = 16  # children of children of ...; a process cannot run itself, so this is plenty
ITEMS_SHOWN = 16  # of the completed ones, unless --full


class TraceDocument(msgspec.Struct):
    """One execution with its spans, and its children's under it."""

    execution: ExecutionDocument
    spans: list[Span]
    children: list["TraceDocument"]
    waterfall: Waterfall | None = None  # of the execution that was asked for, with its children


def trace_of(
    history: History, execution_id: str, *, full: bool, depth: int = DEEPEST
) -> TraceDocument:
    """An execution with its spans; unless *full*, without the many items that completed."""
    rows = rows_of(history, execution_id, around=True)
    own = [row for row in rows if row[0].correlation == execution_id]
    called = [event.child for _, event in own if isinstance(event, StepDelegated)]
    spans = spans_of(rows, execution_id)
    spared = frozenset[str]() if full else {each.attributes["child"] for each in many_done(spans)}
    shown = [child for child in dict.fromkeys(called) if depth and child not in spared]
    return TraceDocument(
        document_of(history.folded(execution_id, (record for record, _ in rows)), own),
        spans,
        [trace_of(history, child, full=full, depth=depth - 1) for child in shown],
    )


def many_done(spans: Sequence[Span]) -> list[Span]:
    """Items that completed, where there are too many of them to look at; none else."""
    done = [span for span in spans if span.kind == "item" and span.status == "completed"]
    return done if len(done) > ITEMS_SHOWN else []


def part_line(spans: Sequence[Span]) -> str:
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


def time_by_primitive(spans: Sequence[Span]) -> dict[str, tuple[int, float]]:
    """The spans of each of the five primitives that has any: how many, and their seconds."""
    found = {}
    for primitive in PRIMITIVES:
        own = [s for s in spans if s.primitive == primitive and s.kind != "execution"]
        if own:
            found[primitive] = len(own), sum(s.duration_s for s in own)
    return found
