"""A trace as one page of HTML: it stands alone, runs no script and asks no network.

What a log or a model wrote is text and nothing else: all of it is escaped, and the page's own
policy refuses everything but its one style sheet.
"""

import json
from base64 import b64encode
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

from cortex.runtime.kernel import duration
from cortex.runtime.models import dollars

from .summary import ExecutionDocument
from .trace import TraceDocument
from .waterfall import Waterfall, WaterfallRow, waterfall_of

SHOWN_CHARS = 20_000  # of one value
TICKS = 5  # times on the axis
SCALE = 1_000  # units of the width of a bar
LEAST = 3  # units of a bar, so that it is seen
FAILED = frozenset(("failed", "refused", "denied", "error", "cancelled", "waiting", "halted"))
OPEN = frozenset(("open", "running", "unclaimed", "paused"))
CLASSES = ("input", "cached_read", "cached_write", "output")
COLUMNS = ("begin", "took", "context", "input", "read", "written", "output", "cost")


def page_of(document: TraceDocument) -> str:
    """The page of a trace, as text of an HTML file."""
    waterfall, execution = waterfall_of(document), document.execution
    title = f"{execution.process or 'ad-hoc work'} · {execution.id}"
    parts = [*_facts(execution, waterfall), *_axis(waterfall), *_rows(waterfall)]
    style = _style()
    digest = b64encode(sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{_text(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        + "\n".join(parts)
        + "\n</body>\n</html>\n"
    )


@cache
def _style() -> str:
    return files(__package__).joinpath("trace_page.css").read_text("utf-8")


def _facts(execution: ExecutionDocument, waterfall: Waterfall) -> Iterator[str]:
    root = waterfall.root
    name = (
        f"{execution.process}, version {execution.version}" if execution.process else "ad-hoc work"
    )
    yield f"<header><h1>{_text(name)} {_status(execution.status)}</h1>"
    yield f'<p class="goal">{_text(execution.goal)}</p><dl class="facts">'
    facts = [
        ("execution", execution.id),
        ("requested", execution.requested),
        ("asked by", execution.requested_by),
        ("workspace", execution.workspace),
        ("reason", execution.reason),
        ("took", duration(waterfall.duration_s)),
    ]
    if root is not None:
        facts += [
            ("cost", dollars(root.cost)),
            ("tokens", f"{root.tokens:,}"),
            *((name.replace("_", " "), f"{getattr(root.usage, name):,}") for name in CLASSES),
        ]
    for name, value in facts:
        if value:
            yield f"<div><dt>{_text(name)}</dt><dd>{_text(value)}</dd></div>"
    yield "</dl></header>"


def _axis(waterfall: Waterfall) -> Iterator[str]:
    heads = "".join(f"<span>{name}</span>" for name in COLUMNS)
    ticks = (duration(waterfall.duration_s * step / TICKS) for step in range(TICKS))
    times = "".join(f"<span>{_text(each)}</span>" for each in ticks)
    yield '<main><div class="row head"><span class="name">what ran</span>'
    yield f'<div class="axis">{times}</div>{heads}</div>'


def _rows(waterfall: Waterfall) -> Iterator[str]:
    for row in waterfall.rows:
        depth = min(row.depth, 12)
        yield f'<details class="{row.kind} d{depth}"><summary class="row">'
        yield f'<span class="name" title="{_text(row.name)}"><i>{row.kind}</i> {_text(row.name)}'
        yield f"{_status(row.status)}</span>{_bar(row, waterfall.duration_s)}"
        yield "".join(f"<span>{_text(cell)}</span>" for cell in _cells(row))
        yield "</summary>"
        yield from _details(row)
        yield "</details>"
    yield "</main><footer>Folded from the log of Cortex; a row has the sums of the rows below it."
    yield " Press a row for what was recorded about it.</footer>"


def _bar(row: WaterfallRow, whole_s: float) -> str:
    whole_s = whole_s or 1.0
    width = max(LEAST, round(SCALE * row.duration_s / whole_s))
    begin = min(round(SCALE * row.begin_s / whole_s), SCALE - LEAST)
    grid = "".join(
        f'<line x1="{x}" x2="{x}" y1="0" y2="14"/>' for x in range(0, SCALE, SCALE // TICKS)
    )
    return (
        f'<svg viewBox="0 0 {SCALE} 14" preserveAspectRatio="none" aria-hidden="true">{grid}'
        f'<rect class="{_class(row.status)}" x="{begin}" y="2" height="10" '
        f'width="{min(width, SCALE - begin)}" rx="2"/></svg>'
    )


def _cells(row: WaterfallRow) -> Sequence[str]:
    counts = [getattr(row.usage, name) for name in CLASSES]
    numbers = [f"{n:,}" if n else "" for n in (row.context_tokens, *counts)]
    cost = dollars(row.cost) if row.cost else ""
    return (duration(row.begin_s), duration(row.duration_s), *numbers, cost)


def _details(row: WaterfallRow) -> Iterator[str]:
    said: dict[str, Any] = {
        "model": row.model,
        "gates": ", ".join(row.gates),
        "knowledge": ", ".join(row.knowledge),
        "execution": row.execution,
        "position": row.span,
        **row.details,
    }
    yield '<dl class="details">'
    for name, value in said.items():
        if value not in ("", None, [], {}, ()):
            yield f"<div><dt>{_text(name)}</dt><dd><pre>{_value(value)}</pre></dd></div>"
    yield "</dl>"


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
    more = f"\n... {len(text) - SHOWN_CHARS:,} more characters" if len(text) > SHOWN_CHARS else ""
    return _text(text[:SHOWN_CHARS] + more)


def _status(status: str) -> str:
    return f'<b class="status {_class(status)}">{_text(status)}</b>'


def _class(status: str) -> str:
    return "failed" if status in FAILED else "open" if status in OPEN else "done"


def _text(text: str) -> str:
    """*text* as content or as the value of an attribute; without what turns or hides what follows.

    Formats of a direction and of no width are no printable characters.
    """
    kept = "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)
    return escape(kept, quote=True)
