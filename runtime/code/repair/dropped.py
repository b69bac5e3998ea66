"""Drops a step's changes in the worktree after going back, once, before they are read again.

The step that wrote it is asked again as soon as going back is recorded, and its model may read and
patch files at once. So the first user of the worktree drops the change, under a lock, and leaves a
mark: later users, also after a restart, keep what was written since.
"""

import contextlib
import fcntl
import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Protocol

from cortex.bus import Recorded, as_map
from cortex.bus.events import (
    ExecutionCancelled,
    ExecutionCompleted,
    ExecutionFailed,
    StepExecute,
    StepReopened,
)
from cortex.runtime.kernel import Home

from .checkout import sources_at
from .errors import CheckoutUnusableError
from .worktree import (
    FOLDER,
    WorktreeRequest,
    branch_of,
    find_worktree,
    folder_of,
    fresh_worktree,
    owner_of,
)

WRITES = "write_code"  # the action whose changes are dropped with their step
_EXECUTE, _REOPENED = StepExecute.topic_name(), StepReopened.topic_name()
_KEPT = re.compile(r"\.(.+)\.(before|dropped)(\.new)?")  # what a kill left half written, too
_ENDS = frozenset(
    kind.topic_name() for kind in (ExecutionCancelled, ExecutionCompleted, ExecutionFailed)
)
GIT_TIMEOUT_S = 60.0
NO_TREE = (
    "are not a git checkout, and a goal changes files only in a worktree of one: "
    "`git init`, commit what is there, then run it again"
)


def drop_of(records: Iterable[Recorded]) -> str:
    """Id of the newest going back that drops changes of files; "" if there are none.

    The next attempt to write starts from the branch by itself.

    Args:
        records: Of the execution, in order.
    """
    wrote: set[object] = set()
    found = ""
    for record in records:
        if record.topic == _EXECUTE and record.key == WRITES:
            wrote.add(as_map(record).get("step_id"))
            found = ""
        elif record.topic == _REOPENED and not wrote.isdisjoint(as_map(record).get("dropped", ())):
            found = record.id.hex()
    return found


def drop(
    folder: Path,
    execution_id: str,
    records: Callable[[], Iterable[Recorded]],
    reset: Callable[[], object],
) -> None:
    """Call *reset* on the worktree at *folder*, once, if going back requires it.

    Args:
        folder: The existing worktree; several executions may use it.
        execution_id: The execution that went back.
        records: Those of the execution by now. Whoever writes holds the lock as well, so that no
            attempt begins between this look and the reset.
        reset: Restores the worktree.

    Raises:
        RepairError: From *reset*; then the next user tries again.
    """
    own = "" if execution_id == folder.name else f".{execution_id}"
    mark = folder.with_name(f".{folder.name}{own}.dropped")
    with locked(folder):
        drop_id = drop_of(records())
        if not drop_id or (mark.is_file() and mark.read_text() == drop_id):
            return
        reset()
        new = mark.with_name(f"{mark.name}.new")
        new.write_text(drop_id)
        new.replace(mark)


@contextlib.contextmanager
def locked(folder: Path, *, shared: bool = False) -> Iterator[None]:
    """Keep others away from the worktree at *folder*; *shared* only those that are not."""
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(folder.with_name(f".{folder.name}.lock"), os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def clear_leftovers(home: Path, history: Callable[[str], Iterable[Recorded]]) -> None:
    """Remove data beside the work trees of *home* for executions that are over.

    Data of executions that are not in the log stays.
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


class AskedThere(WorktreeRequest, Protocol):
    """What asks for a program to be run in a work tree."""

    @property
    def workspace(self) -> str:
        """The folder that it is about."""
        ...


def work_tree(home: Home | None, event: AskedThere, folder: str = "") -> Path:
    """The *folder* of the workspace in the execution's work tree; made where it is missing.

    Raises:
        RepairError: The workspace is no checkout, there is no home, or git cannot make it; or the
            folder is not in there.
    """
    if home is None:
        raise CheckoutUnusableError("get no worktree: start the runtime with a home")
    try:
        sources = sources_at(Path(event.workspace or ".").absolute(), GIT_TIMEOUT_S)
    except CheckoutUnusableError as error:
        raise CheckoutUnusableError(NO_TREE) from error
    tree = folder_of(home.path, owner_of(event))
    with locked(tree):
        if find_worktree(tree, GIT_TIMEOUT_S) is None:
            fresh_worktree(sources, tree, branch_of(owner_of(event)))
    place = (tree / sources.prefix / folder).resolve()
    if not place.is_relative_to(tree.resolve()) or not place.is_dir():
        raise CheckoutUnusableError(f"have no folder {folder[:200]!r} in their worktree")
    return place
