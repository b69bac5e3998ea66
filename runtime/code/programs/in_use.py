"""Which work trees programs of ours are at work in, also after the runtime that started them.

git leaves the files by which it locks an index behind where it is killed, and refuses from then on.
No such file says whose it is. So each program that we start in a work tree inherits a descriptor
with a shared lock, which the system gives up with the last process that has it: who can have that
lock alone knows that nothing of ours is alive there.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

LOOK_S = 0.02  # between two looks at whether a program has ended
WAIT_S = 5.0  # for a git that an earlier runtime started, which ends by itself


@contextlib.contextmanager
def using(tree: Path) -> Iterator[tuple[int, ...]]:
    """Descriptors that a program inherits which works in the work tree at *tree*."""
    try:
        mark = os.open(_mark(tree), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:  # no folder for work trees: nothing is there
        yield ()
        return
    try:
        fcntl.flock(mark, fcntl.LOCK_SH)
        yield (mark,)
    finally:
        os.close(mark)


@contextlib.contextmanager
def using_around(folder: str) -> Iterator[tuple[int, ...]]:
    """The same for a program that runs in *folder*, if that stands in a work tree of ours."""
    here = Path(folder).absolute()
    above = (each for each in (here, *here.parents) if each.name)
    tree = next((each for each in above if _mark(each).is_file()), None)
    with contextlib.nullcontext(()) if tree is None else using(tree) as inherited:
        yield inherited


@contextlib.contextmanager
def unused(tree: Path, wait_s: float = WAIT_S) -> Iterator[bool]:
    """Whether no program of ours is at work in the work tree at *tree*; none begins meanwhile."""
    mark = os.open(_mark(tree), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        yield _alone(mark, wait_s)
    finally:
        os.close(mark)


def _alone(mark: int, wait_s: float) -> bool:
    until = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(LOOK_S)
        else:
            return True


def _mark(tree: Path) -> Path:
    return tree.with_name(f".{tree.name}.used")
