"""Saves the contents of a work tree before a step writes there, so that the step can start again.

An execution that works towards a goal shares its work tree with its children, and much of what
stands there is committed nowhere. So a step that is tried again starts from what it found, not from
the branch. Only the newest step is kept: what was done after an older one would be lost with it.
"""

import contextlib
from pathlib import Path

import msgspec

from .worktree import Worktree, find_worktree


class Before(msgspec.Struct, frozen=True):
    """A work tree, before a step wrote there."""

    execution_id: str
    step_id: str
    head: str  # its commit at that time
    staged: str  # tree of what belonged to the next commit
    files: str  # tree of all files but those that git ignores


def keep_before(tree: Worktree, execution_id: str, step_id: str) -> None:
    """Save the contents of *tree*; if the step wrote there before, restore them instead.

    Raises:
        GitFailedError: git cannot do it.
    """
    kept = _kept(tree)
    if kept is not None and (kept.execution_id, kept.step_id) == (execution_id, step_id):
        _put_back(tree, kept)
        return
    staged = tree.git.run("write-tree").strip()
    tree.stage_all()
    files = tree.git.run("write-tree").strip()
    tree.git.run("read-tree", staged)
    before = Before(execution_id, step_id, tree.head, staged, files)
    path = _path(tree.folder)
    new = path.with_name(f"{path.name}.new")
    new.write_bytes(msgspec.json.encode(before))
    new.replace(path)


def restore_before(folder: Path, execution_id: str, timeout_s: float) -> None:
    """Restore the work tree at *folder* to its contents before *execution_id* last wrote there.

    Raises:
        GitFailedError: git cannot do it.
    """
    tree = find_worktree(folder, timeout_s)
    kept = None if tree is None else _kept(tree)
    if tree is not None and kept is not None and kept.execution_id == execution_id:
        _put_back(tree, kept)


def _put_back(tree: Worktree, before: Before) -> None:
    tree.git.run("read-tree", "--reset", "-u", before.files)
    tree.git.run("clean", "-ffdq")
    tree.git.run("read-tree", before.staged)


def _kept(tree: Worktree) -> Before | None:
    """The saved contents of *tree*; None after its commit changed: committed work stays."""
    with contextlib.suppress(OSError, msgspec.DecodeError):
        kept = msgspec.json.decode(_path(tree.folder).read_bytes(), type=Before)
        return kept if kept.head == tree.head else None
    return None


def _path(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.before")
