"""Finds what recurs among what rules derive from executions, in the projection of memory."""

from collections.abc import Iterator
from typing import Final

from cortex.bus.events import MemoryRecurred, Recurrence

from .episodes import MOST_EPISODES
from .rows import in_scopes
from .view import MemoryView
from .written import FEWEST, has_grown

LOOKED_AT: Final = 200  # newest of one kind, some of which may have left memory


def recurring(view: MemoryView, scope: str, most: int) -> MemoryRecurred:
    """What happened `FEWEST` times or more in *scope* ("" for all), and was not told yet.

    At most *most* episodes are cited together; but for the first kind, so that each consolidation
    goes on.
    """
    found: list[Recurrence] = []
    taken = left = 0
    for each in _grown(view, scope):
        if found and taken + len(each.nodes) > most:
            left += len(each.nodes)
            continue
        taken += len(each.nodes)
        found.append(each)
    return MemoryRecurred(found=tuple(found), scope=scope, through=view.position, left=left)


def _grown(view: MemoryView, scope: str) -> Iterator[Recurrence]:
    where, values = in_scopes((scope,) if scope else ())
    kinds = view.query(
        "select scope, subject, episode, count(*), min(time_ns), max(time_ns) from memory_nodes "  # noqa: S608  # names of ours; what comes from outside is bound
        f"where episode != '' and position <= ? {where} group by scope, subject, episode "
        "having count(*) >= ? order by min(position)",
        (view.position, *values, FEWEST),
    )
    for of_scope, subject, episode, times, first_ns, last_ns in kinds:
        newest = view.query(
            "select id from memory_nodes where scope = ? and subject = ? and episode = ? "
            "and position <= ? order by position desc, id limit ?",
            (of_scope, subject, episode, view.position, LOOKED_AT),
        )
        ids = [str(row[0]) for row in reversed(newest)]
        states = view.states(ids)
        current = [each for each in ids if states[each].current]
        times -= len(ids) - len(current)
        cited = tuple(current[-MOST_EPISODES:])
        if len(cited) >= FEWEST and has_grown(times, _told(view, cited)):
            yield Recurrence(cited, times, first_ns, last_ns)


def _told(view: MemoryView, ids: tuple[str, ...]) -> int:
    """How often it was when it was last told; also by what was taken back since."""
    by = [edge.node_id for edge in view.edges(ids, undone=True) if edge.edge == "refines"]
    states = view.states(by)
    nodes = view.nodes([each for each in by if states[each].gone != "forgotten"])
    return max((node.times for node in nodes.values() if node.consolidation_id), default=0)
