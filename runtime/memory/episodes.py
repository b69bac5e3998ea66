"""Episodes: what happens in executions again and again becomes one memory that cites it. Pure.

What rules derive from executions says in which *episode* it is: that a process completed, failed at
one step, or was cancelled; what people decided before one step; what they changed in it. `FEWEST`
or more episodes of one kind, of one scope and subject, become an observation:

    process deploy failed at step tests: 7 times, from 2026-05-01 to 2026-05-09

It cites the newest by edges `refines`, and quotes what the last three say. The collector finds
what recurs (`recurring`); the engine checks it, and writes. An observation is written anew when
there are `FEWEST` more, and a tenth more, and supersedes the older one.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from cortex.bus.events import Recurrence

from .nodes import LONGEST_ENTITY, Node
from .past import Past
from .rules import process_of
from .state import MemoryState
from .written import FEWEST, WrittenMemory, has_grown, quoted

MOST_EPISODES: Final = 64  # that one observation cites, the newest
QUOTED: Final = 3  # of the newest, in its quote


def promoted(
    state: MemoryState, found: Sequence[Recurrence], past: Past
) -> tuple[WrittenMemory, ...]:
    """The observations about what was *found*; *past* reads what rules derived from executions."""
    written = (_observation(state, each, past) for each in found)
    return tuple(each for each in written if each is not None)


def _observation(state: MemoryState, found: Recurrence, past: Past) -> WrittenMemory | None:
    """None if it was told meanwhile, or the newest of it are not what was found."""
    ids = [each for each in found.nodes[-MOST_EPISODES:] if state.is_current(each)]
    newest = [node for node in map(past, ids[-QUOTED:]) if node is not None]
    told = state.times_told(ids, "episodes")
    if len(newest) < QUOTED or len(ids) < FEWEST or not has_grown(found.times, told):
        return None
    last = newest[-1]
    if not last.episode or any(_kind(each) != _kind(last) for each in newest):
        return None
    process = process_of(last.scope)
    return WrittenMemory(
        form="episodes",
        scope=last.scope,
        subject=last.subject,
        ids=tuple(ids),
        content=(
            f"{last.episode}: {found.times} times, from {_day(found.first_ns)} to "
            f"{_day(found.last_ns)}"
        ),
        quote=quoted([f"{_day(node.time_ns)} {node.content}" for node in newest]),
        confidence=1.0,
        times=found.times,
        replaces=state.made_of(ids, "episodes"),
        entities=(process[:LONGEST_ENTITY],) if process else (),
        since_ns=found.last_ns,
    )


def _kind(node: Node) -> tuple[str, str, str]:
    return node.scope, node.subject, node.episode


def _day(time_ns: int) -> str:
    return datetime.fromtimestamp(time_ns / 1e9, UTC).date().isoformat()
