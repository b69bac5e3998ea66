"""What a replay found, in lines for people."""

import json
from collections.abc import Iterator
from itertools import zip_longest
from typing import NamedTuple

from cortex.runtime.kernel import many

from .divergence import Decision, Divergence
from .projections import ReplayedProjection
from .questions import NEVER
from .replay import UNANSWERED, Replayed

SHORT = 200  # characters of a value
COLUMN = 40  # characters of one payload beside the other


class ReportLine(NamedTuple):
    """One line, and how a terminal shows it."""

    text: str
    style: str = ""


def report_of(found: Replayed) -> Iterator[ReportLine]:
    """What was compared, and the first difference."""
    about = f"execution {found.execution}" if found.execution else "the log"
    called = found.executions - 1 if found.execution else found.executions
    kind = "called execution" if found.execution else "execution"
    more = f" and {many(called, kind)}" if called else ""
    yield ReportLine(f"{about}{more}: {many(found.events, 'event')}", "bold")
    for row in found.deciders:
        decided = f"{many(row.decisions, 'decision')} the same, about {many(row.events, 'event')}"
        yield ReportLine(f"  {row.name:<24} {decided}")
    yield from map(projection_line, found.projections)
    if found.answered:
        answers = ", ".join(many(count, kind) for kind, count in found.answered.items())
        yield ReportLine(f"  from the log, not done again: {answers}", "dim")
    for count, said in (
        (found.rebuilt, "prompts compiled from their recorded inputs: files changed since then"),
        (found.reencoded, "equal, but encoded by an older version of Cortex"),
        (found.pending, "not decided about when the log ends"),
        (found.parked, "given up by a decider, and not compared"),
        (found.erased, "of a subject that was erased: placeholders are folded, and not compared"),
        (found.skipped, "executions of another version's decider, not compared: name one"),
    ):
        if count:
            yield ReportLine(f"  {count:,} {said}", "dim")
    for note in found.notes:
        yield ReportLine(f"  {note}", "yellow")
    if found.process:
        yield from _of_process(found)
    if found.divergence is not None:
        yield from _divergence(found.divergence, found.process)
    elif found.same:
        yield ReportLine("the same", "green")
    else:
        how = "`cortex projections rebuild` makes it again from the log"
        yield ReportLine(f"different: {how}", "red")


def projection_line(each: ReplayedProjection) -> ReportLine:
    """Whether the rows of a projection are those that the log gives."""
    rows = f"{many(each.rows, 'row')} at position {each.position:,}"
    said = "differs from the log" if each.differs else "the same"
    if not each.recorded:
        said = "made by another version, and not compared"
    return ReportLine(f"  {each.name:<24} {said}, {rows}", "red" if each.differs else "")


def _of_process(found: Replayed) -> Iterator[ReportLine]:
    """What another version of the process asks for, and how it ends."""
    for each in found.unanswered:
        step = f"step {each.step}, attempt {each.attempt}" if each.step else "the process"
        asked = f"{each.topic} {each.name}".rstrip()
        why = f"{each.why}: the replay stops there" if each.why == NEVER else each.why
        yield ReportLine(f"  no answer on record: {asked} of {step} ({why})", "yellow")
    for step_id in found.no_longer:
        yield ReportLine(f"  not asked for any more: step {step_id}", "yellow")
    ended = f"{found.process} ends {found.ended}, and ended {found.ended_then} as recorded"
    if found.ended == UNANSWERED:
        ended = f"{found.process} asks what nobody answered; as recorded: {found.ended_then}"
    yield ReportLine(f"  {ended}")


def _divergence(other: Divergence, process: str) -> Iterator[ReportLine]:
    where = f" about execution {other.execution}" if other.execution else ""
    with_process = f" with {process}" if process else ""
    yield ReportLine(f"{other.decider} decides differently{with_process}{where}", "red")
    yield ReportLine(f"  recorded   {_decision(other.recorded)}")
    yield ReportLine(f"  replayed   {other.failure or _decision(other.replayed)}")
    if process:
        yield from _side_by_side(other)
    for change in () if process else other.changes:
        yield ReportLine(f"  {change.field}")
        yield ReportLine(f"    - {shown_value(change.recorded)}", "red")
        yield ReportLine(f"    + {shown_value(change.replayed)}", "green")
    yield ReportLine("  led to it:")
    for cause in other.causes:
        yield ReportLine(f"    {cause.position:>8}  {cause.topic}  by {cause.source}")
    if other.configured_later and not process:
        yield ReportLine("  config.toml was written after that, and may be the reason", "yellow")


def _side_by_side(other: Divergence) -> Iterator[ReportLine]:
    """Both payloads, a line a field that has a value; one that differs is marked."""
    then = other.recorded.body if other.recorded is not None else {}
    now = other.replayed.body if other.replayed is not None else {}
    rows = [
        (name, shown_value(then.get(name, "")), shown_value(now.get(name, "")))
        for name in dict.fromkeys((*then, *now))
        if then.get(name) or now.get(name)  # what is empty in both says nothing
    ]
    lead = max((len(name) for name, _, _ in rows), default=0)
    wide = min(COLUMN, max((len(value) for _, value, _ in rows), default=0))
    yield ReportLine(f"    {'':{lead}}  {'recorded':{wide}}  replayed", "dim")
    for name, old, new in rows:
        mark, style = (" ", "dim") if old == new else ("*", "yellow")
        for number, (left, right) in enumerate(side_by_side(old, new)):
            shown = name if not number else ""
            text = f"  {mark if not number else ' '} {shown:{lead}}  {left:{wide}}  {right}"
            yield ReportLine(text.rstrip(), style)


def side_by_side(left: str, right: str) -> Iterator[tuple[str, str]]:
    """Two texts in the lines of two columns."""
    return zip_longest(_column(left), _column(right), fillvalue="")


def _column(text: str) -> list[str]:
    return [text[at : at + COLUMN] for at in range(0, len(text), COLUMN)] or [""]


def _decision(decision: Decision | None) -> str:
    if decision is None:
        return "nothing"
    at = f" at position {decision.position:,}" if decision.position is not None else ""
    reason = decision.body.get("reason", "")
    return f"{decision.topic}{at}{f': {reason}' if reason else ''}"


def shown_value(value: object, most: int = SHORT) -> str:
    """A value of a payload in one line, cut after *most* characters."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = text.replace("\n", "\\n")
    return text if len(text) <= most else f"{text[:most]} ..."
