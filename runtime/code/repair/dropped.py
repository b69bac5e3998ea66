"""Going back drops what a step changed in the worktree, once, before anybody looks at it again.

The step that wrote it is asked again as soon as going back is recorded, and its model may read and
patch files at once. So whoever comes to the worktree first drops the change, under a lock, and
leaves a mark: who comes later, or after a restart, leaves alone what was written since.
"""

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from cortex.bus import Recorded, as_map
from cortex.bus.events import StepExecute, StepReopened

WRITES = "write_code"  # the action whose changes are dropped with their step
_EXECUTE, _REOPENED = StepExecute.topic_name(), StepReopened.topic_name()


def drop_of(records: Iterable[Recorded]) -> str:
    """Id of the newest going back that drops a change of files; "" where there is none to drop.

    The next attempt to write starts from the branch by itself.

    Args:
        records: Those of the execution, in order.
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
    """Have *reset* put the worktree at *folder* back, where going back asks for it, once.

    Args:
        folder: The worktree, which is there; several executions may work in it.
        execution_id: The one that went back.
        records: Those of the execution by now. Whoever writes holds the lock as well, so that no
            attempt begins between this look and the reset.
        reset: Puts it back.

    Raises:
        RepairError: As *reset* does; then the next who comes tries it.
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
