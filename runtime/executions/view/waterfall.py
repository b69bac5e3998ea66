"""A trace as a waterfall: what ran when, for how long, and what it spent; pure.

Each row is a span of the trace. What a row spent is its own and that of all rows below it, so that
the leaves add up to the root.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from cortex.runtime.models import Usage, plus

from .spans import Span

if TYPE_CHECKING:
    from .trace import TraceDocument

KINDS = frozenset(("execution", "step", "item", "gate", "knowledge", "context", "model", "tool"))
_TOPICS = {"knowledge": "topics", "context": "knowledge"}  # the attribute of a span with them
_USAGE = {name: f"{name}_tokens" for name in Usage.__struct_fields__}  # as a span has them


class WaterfallRow(msgspec.Struct, kw_only=True):
    """One execution, step or item, or a part of a step."""

    span: str  # id of its span
    execution: str
    depth: int  # 0 for the execution that was asked for
    kind: str  # "execution", "step", "item", "gate", "knowledge", "context", "model" or "tool"
    name: str
    status: str
    begin_s: float  # after the first event of all
    duration_s: float  # until the newest event, if it is open
    # Of this row alone: of a call of a model, or of a child that the trace leaves out.
    own: Usage
    usage: Usage  # with the rows below it
    own_cost: float  # US dollars
    cost: float  # with the rows below it
    model: str = ""
    context_tokens: int = 0  # of the prompts that were compiled for it
    gates: list[str] = []  # "tests_pass passed", of the rows directly below it
    knowledge: list[str] = []  # topics that were found, and that its prompt links
    details: dict[str, Any] = {}  # the attributes of its span

    @property
    def tokens(self) -> int:
        """Tokens of all four classes."""
        return sum(msgspec.structs.astuple(self.usage))


class Waterfall(msgspec.Struct):
    """An execution and all that ran in it, each row before the rows below it."""

    duration_s: float
    rows: list[WaterfallRow]

    @property
    def root(self) -> WaterfallRow | None:
        """The execution itself; None before its first event."""
        return self.rows[0] if self.rows else None


def waterfall_of(document: "TraceDocument") -> Waterfall:
    """The waterfall of a trace; a child that the trace leaves out is one row, with all it spent."""
    every = [span for each in _documents(document) for span in each.spans]
    first_ns = min((span.started_ns for span in every), default=0)
    end_ns = max(map(_end_ns, every), default=first_ns)
    rows = _Grower(document, first_ns, end_ns).rows(0)
    return Waterfall((end_ns - first_ns) / 1e9, rows)


def _documents(document: "TraceDocument") -> Iterator["TraceDocument"]:
    yield document
    for child in document.children:
        yield from _documents(child)


class _Grower:
    """Grows the rows of one execution, and of its children under the steps that called them."""

    def __init__(self, document: "TraceDocument", first_ns: int, end_ns: int) -> None:
        self._document, self._first_ns, self._whole_end_ns = document, first_ns, end_ns
        over = document.execution.status in ("completed", "failed", "cancelled")
        ends = [_end_ns(span) for span in document.spans] if over else []
        self._end_ns = max(ends, default=end_ns)
        self._children = {child.execution.id: child for child in document.children}
        self._charged: dict[str, list[Mapping[str, Any]]] = {}  # what children spent, by child
        self._below: dict[str, list[Span]] = {}
        for span in document.spans:
            if span.kind in KINDS:
                self._below.setdefault(span.parent, []).append(span)
            elif span.kind == "execution.charged":
                self._charged.setdefault(span.attributes["child"], []).append(span.attributes)

    def rows(self, depth: int) -> list[WaterfallRow]:
        """Each row before the rows below it."""
        return [row for span in self._below.get("", ()) for row in self._grown(span, depth)]

    def _grown(self, span: Span, depth: int) -> list[WaterfallRow]:
        row = _row(span, self._document.execution.id, depth, self._first_ns, self._end_ns)
        under = [self._grown(each, depth + 1) for each in self._below.get(span.id, ())]
        called = span.attributes.get("child", "")
        if (child := self._children.pop(called, None)) is not None:
            under.append(self._rows_of(child, depth + 1))
        for charge in self._charged.pop(called, ()) if child is None else ():
            row.usage = row.own = plus(row.own, _usage(charge.get("usage", {})))
            row.cost = row.own_cost = row.own_cost + max(0.0, charge.get("cost", 0.0))
        if span.kind == "execution":  # those that no span of a step names
            under += [self._rows_of(each, depth + 1) for each in self._children.values()]
        under = sorted((each for each in under if each), key=lambda rows: rows[0].begin_s)
        _sum(row, [each[0] for each in under])
        return [row, *(row for each in under for row in each)]

    def _rows_of(self, child: "TraceDocument", depth: int) -> list[WaterfallRow]:
        return _Grower(child, self._first_ns, self._whole_end_ns).rows(depth)


def _end_ns(span: Span) -> int:
    return span.started_ns + round(span.duration_s * 1e9)


def _row(span: Span, execution: str, depth: int, first_ns: int, end_ns: int) -> WaterfallRow:
    said = span.attributes
    is_open = span.status in ("open", "running", "unclaimed")
    own, cost = Usage(), 0.0
    if span.kind == "model":
        own = _usage({name: said.get(key, 0) for name, key in _USAGE.items()})
        cost = max(0.0, said.get("cost", 0.0))
    model = span.name if span.kind == "model" else said.get("model", "")
    return WaterfallRow(
        span=span.id,
        execution=execution,
        depth=depth,
        kind=span.kind,
        name=span.name,
        status=span.status,
        begin_s=(span.started_ns - first_ns) / 1e9,
        duration_s=(end_ns - span.started_ns) / 1e9 if is_open else span.duration_s,
        own=own,
        usage=own,
        own_cost=cost,
        cost=cost,
        model=model if span.kind in ("model", "context") else "",
        context_tokens=said.get("tokens", 0) if span.kind == "context" else 0,
        knowledge=list(said.get(_TOPICS[span.kind], ())) if span.kind in _TOPICS else [],
        details=said,
    )


def _usage(counts: Mapping[str, int]) -> Usage:
    """Tokens by class; a count below nothing takes nothing back, as in the execution's state."""
    return Usage(**{name: max(0, counts.get(name, 0)) for name in _USAGE})


def _sum(row: WaterfallRow, below: Iterable[WaterfallRow]) -> None:
    """Add to *row* what those directly below it spent, and what a step shows of its parts."""
    for each in below:
        row.usage = plus(row.usage, each.usage)
        row.cost += each.cost
        if row.kind != "step":
            continue
        if each.kind == "gate":
            row.gates = [*row.gates, f"{each.name} {each.status}"]
        elif each.kind in ("knowledge", "context"):
            row.knowledge = list(dict.fromkeys([*row.knowledge, *each.knowledge]))
            row.context_tokens += each.context_tokens
        elif each.kind == "model":
            row.model = each.model
