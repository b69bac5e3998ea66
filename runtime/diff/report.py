"""A comparison of two histories, in lines for people."""

from collections.abc import Iterator

from cortex.runtime.kernel import many
from cortex.runtime.replay import ReportLine, shown_value

from .sides import HistoryDiff, Side
from .state import Changed

SHORT = 160  # characters of a value
LISTED = 40  # of what appeared, went and changed


def report_of(found: HistoryDiff) -> Iterator[ReportLine]:
    """Where the two part, and what each has from there."""
    yield ReportLine(f"a: {_whole(found.a)}", "bold")
    yield ReportLine(f"b: {_whole(found.b)}", "bold")
    if found.parted is None:
        yield ReportLine(f"the same, {many(found.common, 'event')}", "green")
        return
    where = "position" if found.kind != "executions" else "event"
    yield ReportLine(
        f"{many(found.common, 'event')} the same; they diverge at {where} {found.parted:,}"
    )
    for mark, side in (("a", found.a), ("b", found.b)):
        yield from _side(mark, side)
    for change in found.changes:
        yield ReportLine(f"  {change.field}")
        yield ReportLine(f"    a {shown_value(change.recorded, SHORT)}", "red")
        yield ReportLine(f"    b {shown_value(change.replayed, SHORT)}", "green")
    for kind, changed in (found.state or {}).items():
        yield from _changed(kind, changed)


def _whole(side: Side) -> str:
    status = f", {side.status}" if side.status else ""
    return f"{side.name}, {many(side.events, 'event')}{status}"


def _side(mark: str, side: Side) -> Iterator[ReportLine]:
    if side.first is None:
        yield ReportLine(f"  {mark} ends there")
        return
    first = side.first
    yield ReportLine(
        f"  {mark} goes on with {first.topic} at position {first.position:,}, "
        f"by {first.source}, {first.time}"
    )
    kinds = ", ".join(f"{count:,} {topic}" for topic, count in side.kinds.items())
    yield ReportLine(f"    {many(side.after, 'event')}: {kinds}", "dim")


def _changed(kind: str, changed: Changed) -> Iterator[ReportLine]:
    if changed.nothing:
        yield ReportLine(f"{kind}: nothing changed", "dim")
        return
    counts = (
        f"{len(changed.appeared):,} appeared, {len(changed.gone):,} gone, "
        f"{len(changed.changed):,} changed"
    )
    yield ReportLine(f"{kind}: {counts}")
    lines = [ReportLine(f"  + {name}  {said}", "green") for name, said in changed.appeared.items()]
    lines += [ReportLine(f"  - {name}  {said}", "red") for name, said in changed.gone.items()]
    lines += [
        ReportLine(f"  * {each.name}  {each.was} -> {each.now}", "yellow")
        for each in changed.changed
    ]
    yield from lines[:LISTED]
    if len(lines) > LISTED:
        yield ReportLine(f"  and {len(lines) - LISTED:,} more: --json has them all", "dim")
