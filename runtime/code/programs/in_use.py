"""Tracks the work trees in which our programs run, even after the runtime that started them.

A killed git leaves the lock files of its index behind, and later ones refuse to run. Such a file
does not name its owner. So each program that we start in a work tree inherits a descriptor with a
shared lock, which the system releases with the last process that has it: an exclusive lock proves
that none of our programs runs there.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from cortex.bus import steady_s

LOOK_S = 0.02  # between two looks at whether a program has ended
WAIT_S = 5.0  # for a git that an earlier runtime started, which ends by itself


@contextlib.contextmanager
def using(tree: Path) -> Iterator[tuple[int, ...]]:
    """Descriptors that a program inherits which works in the work tree at *tree*."""
    try:
        mark = os.open(_mark(tree), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:  # no folder for work trees: there are none
        yield ()
        return
    try:
        fcntl.flock(mark, fcntl.LOCK_SH)
        yield (mark,)
    finally:
        os.close(mark)


@contextlib.contextmanager
def using_around(folder: str) -> Iterator[tuple[int, ...]]:
    """The same for a program that runs in *folder*, if that is in one of our work trees."""
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
    until = steady_s() + wait_s
    while True:
        try:
            fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if steady_s() >= until:
                return False
            time.sleep(LOOK_S)
        else:
            return True


def _mark(tree: Path) -> Path:
    return tree.with_name(f".{tree.name}.used")
