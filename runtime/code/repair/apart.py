"""The place of work towards a goal: one work tree, also for its children, and nowhere else."""

from pathlib import Path
from typing import Protocol

from cortex.runtime.kernel import Home

from .checkout import sources_at
from .dropped import locked
from .errors import CheckoutUnusableError
from .worktree import Asked, branch_of, find_worktree, folder_of, fresh_worktree, owner_of

GIT_TIMEOUT_S = 60.0
NO_TREE = (
    "are not a git checkout, and a goal changes files only in a work tree of one: "
    "`git init`, commit what is there, then run it again"
)


class AskedThere(Asked, Protocol):
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
        raise CheckoutUnusableError("get no work tree: start the runtime with a home")
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
        raise CheckoutUnusableError(f"have no folder {folder[:200]!r} in their work tree")
    return place
