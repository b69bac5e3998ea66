"""What stands beside a work tree, so that a step can be begun anew, goes with its execution.

Until the execution is over each of it is needed, even where the work tree is gone: a mark that is
missing has a change dropped a second time. So it is taken away later, by whoever comes by: at each
start, and when the next work tree is made.
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from cortex.bus import Recorded
from cortex.bus.events import ExecutionCancelled, ExecutionCompleted, ExecutionFailed

from .worktree import FOLDER

_KEPT = re.compile(r"\.(.+)\.(before|dropped)(\.new)?")  # what a kill left half written, too
_ENDS = frozenset(
    kind.topic_name() for kind in (ExecutionCancelled, ExecutionCompleted, ExecutionFailed)
)


def clear_leftovers(home: Path, history: Callable[[str], Iterable[Recorded]]) -> None:
    """Remove what is kept beside the work trees of *home* for executions that are over.

    What belongs to nobody whom the log knows stays.
    """
    over: dict[str, bool | None] = {}

    def is_over(execution_id: str) -> bool | None:
        if execution_id not in over:
            topics = {record.topic for record in history(f"execution/{execution_id}")}
            over[execution_id] = not _ENDS.isdisjoint(topics) if topics else None
        return over[execution_id]

    for path in (home.resolve() / FOLDER).glob(".*"):
        kept = _KEPT.fullmatch(path.name)
        if kept is None:
            continue
        # `.TREE.before`, `.TREE.dropped`, and `.TREE.CHILD.dropped` of each that works there.
        owner, _, child = kept[1].rpartition(".")
        if is_over(kept[1]) or (is_over(kept[1]) is None and owner and is_over(child)):
            path.unlink(missing_ok=True)
