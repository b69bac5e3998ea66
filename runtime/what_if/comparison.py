"""Two outcomes side by side, in lines for people."""

import json
from collections.abc import Iterator
from itertools import takewhile
from typing import Any, Final, NamedTuple

from msgspec import UNSET

from cortex.runtime.replay import COLUMN, ReportLine, side_by_side

from .outcomes import ExecutionOutcome, WhatIfDocument
from .plans import head_line

LONGEST: Final = 200  # characters of a value
LEAD: Final = 40  # characters before the place at which two long values part
DIGITS: Final = (4, 6, 9)  # of US dollars: as few as tell two amounts apart


class Row(NamedTuple):
    """A fact about both outcomes."""

    name: str
    recorded: str
    what_if: str
    differs: bool = False  # if so, both texts do, too


def comparison_of(found: WhatIfDocument) -> Iterator[ReportLine]:
    """Both outcomes, a line a fact; one that differs is marked. Nothing if it has not begun."""
    then, now = found.recorded, found.what_if
    if now is None:
        return
    if found.plan is None:  # whose lines say it
        yield head_line(then.execution, found.changed)
    rows = list(_rows(then, now))
    lead = max(len(row.name) for row in rows)
    wide = min(COLUMN, max(len(row.recorded) for row in rows))
    yield ReportLine(f"  {'':{lead}}  {'recorded':{wide}}  what if", "dim")
    for row in rows:
        mark, style = ("*", "yellow") if row.differs else (" ", "dim")
        columns = side_by_side(row.recorded, row.what_if)
        for number, (left, right) in enumerate(columns):
            first, name = (" ", "") if number else (mark, row.name)
            yield ReportLine(f"{first} {name:{lead}}  {left:{wide}}  {right}".rstrip(), style)
    yield ReportLine(f"  where they diverge: cortex diff {then.execution} {now.execution}", "cyan")


def _rows(then: ExecutionOutcome, now: ExecutionOutcome) -> Iterator[Row]:
    yield Row("execution", then.execution, now.execution)
    yield _row("status", then.status, now.status)
    if then.reason or now.reason:
        yield _row("reason", then.reason, now.reason)
    for name in dict.fromkeys((*then.outputs, *now.outputs)):
        yield _row(f"output {name}", *(each.outputs.get(name, UNSET) for each in (then, now)))
    for name in dict.fromkeys((*then.gates, *now.gates)):
        asked = (each.gates.get(name, "not asked") for each in (then, now))
        yield _row(f"gate {name}", *asked)
    yield Row("tokens", f"{then.tokens:,}", f"{now.tokens:,}", then.tokens != now.tokens)
    yield _dollars("cost", then.cost, now.cost)
    # What was sent and done anew is no difference between the outcomes.
    sent, done = f"{now.prompts:,}, {now.sent:,} sent", f"{now.calls:,}, {now.done:,} done"
    yield Row("prompts", f"{then.prompts:,}", sent, then.prompts != now.prompts)
    yield _dollars("spent", then.sent_cost, now.sent_cost)
    yield Row("calls", f"{then.calls:,}", done, then.calls != now.calls)


def _row(name: str, then: Any, now: Any) -> Row:
    """Two values; what of a long one is shown is where they diverge."""
    left, right = _text(then), _text(now)
    if then == now:
        return Row(name, _cut(left), _cut(right))
    if _seen(left) == _seen(right):  # in blanks, or in what no terminal shows
        left, right = json.dumps(then, default=str), json.dumps(now, default=str)
    common = takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False))
    parts_at = sum(1 for _ in common)
    start = parts_at - LEAD if parts_at > LONGEST - LEAD else 0
    return Row(name, _cut(left, start), _cut(right, start), differs=True)


def _dollars(name: str, then: float, now: float) -> Row:
    """Two amounts, with more digits if they look the same with few."""
    for digits in DIGITS:
        left, right = f"${then:.{digits}f}", f"${now:.{digits}f}"
        if left != right:
            return Row(name, left, right, differs=True)
    return Row(name, f"${then:.{DIGITS[0]}f}", f"${now:.{DIGITS[0]}f}")


def _text(value: Any) -> str:
    if value is UNSET:
        return "none"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text.replace("\n", "\\n")


def _seen(text: str) -> str:
    """What a person sees of *text*, who counts no blanks."""
    return "".join(each for each in text if each.isprintable() and not each.isspace())


def _cut(text: str, start: int = 0) -> str:
    before, after = "... " if start else "", " ..." if len(text) > start + LONGEST else ""
    return f"{before}{text[start : start + LONGEST]}{after}"
