"""Paths that stay in the workspace."""

import pathlib
from typing import Protocol

from cortex.runtime.code import repair
from cortex.runtime.kernel import Home

from .errors import StepError

SHOWN = 200  # characters of a path that cannot be used
NO_WORKSPACE = "the execution has no workspace: start it with --workspace"


class Path(pathlib.PosixPath):
    """A file or folder of the workspace: in parameters, relative to it, and kept inside it.

    A function gets it absolute, with its links followed. Where the execution has a work tree, it is
    the path in there. A result that holds one is recorded relative to the workspace. What is made
    of it (`path / "name"`, `path.parent`) is a path as any other, which nothing keeps inside.
    """


class Placed(repair.AskedThere, Protocol):
    """An event that says where an execution works."""

    @property
    def worktree(self) -> bool:
        """Whether files change in the work tree of the execution alone."""
        ...


def root_of(event: Placed, home: Home | None) -> pathlib.Path:
    """The folder that paths of *event* are relative to, with its links followed.

    Raises:
        StepError: There is none.
    """
    if not event.workspace:
        raise StepError(NO_WORKSPACE, retry=False, kind="refused")
    if not event.worktree:
        return pathlib.Path(event.workspace).resolve()
    try:
        place = repair.work_tree(home, event)
    except repair.RepairError as error:
        raise StepError(str(error), retry=False, kind="refused") from error
    return place.resolve()


def inside(root: pathlib.Path, named: str) -> Path:
    """The path *named*, from *root*, with its links followed.

    Raises:
        StepError: It leads out of *root*, or is not a path.
    """
    shown = repr(named[:SHOWN])
    try:
        path = (root / named).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        circle = isinstance(error, RuntimeError)  # Python 3.11 and 3.12
        reason = getattr(error, "strerror", None) or str(error)
        reason = "its links lead in a circle" if circle else reason
        problem = f"{shown} is not a path in the workspace: {reason}"
        raise StepError(problem, retry=False, kind="refused") from None
    if not path.is_relative_to(root):
        problem = f"{shown} leads out of the workspace: name a path in it"
        raise StepError(problem, retry=False, kind="refused")
    return Path(path)
