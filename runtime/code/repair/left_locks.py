"""What a git that was killed left in a work tree of ours, and what is done about it.

git keeps what is a work tree's alone in a folder of its own below the repository's. Only what
stands in that folder is taken away: whatever locks the user's own checkout, or a branch, stays.
"""

import re
from pathlib import Path

from ..programs import unused

LOCKS = "*.lock"
_LINK = re.compile(r"gitdir: (.+?)\r?\n?\Z", re.DOTALL)
_MAKING = "initializing"  # why git keeps others from a work tree that it is making


def clear_left_locks(tree: Path) -> None:
    """Take away what locks the work tree at *tree*, where no program of ours is at work there.

    A program that an earlier runtime started and that still works is waited for a moment; where it
    goes on, git says itself what it finds locked.
    """
    own = _own_folder(tree)
    if own is None or not any(own.glob(LOCKS)):
        return
    with unused(tree) as alone:
        for lock in own.glob(LOCKS) if alone else ():
            lock.unlink(missing_ok=True)


def is_half_made(tree: Path) -> bool:
    """Whether git was killed while it made the work tree at *tree*, and files may be missing."""
    own = _own_folder(tree)
    if own is None or not _making(own):
        return False
    with unused(tree) as alone:  # else it is being made now
        return alone and _making(own)


def _making(own: Path) -> bool:
    try:
        return (own / "locked").read_text().strip() == _MAKING
    except OSError:
        return False


def _own_folder(tree: Path) -> Path | None:
    """The folder in which git keeps what is the work tree's alone; None where there is none."""
    try:
        named = _LINK.match((tree / ".git").read_text(errors="surrogateescape"))
        if named is None:
            return None
        own = (tree / named[1]).resolve()
        back = (own / "gitdir").read_text(errors="surrogateescape").removesuffix("\n")
    except (OSError, ValueError):
        return None
    # Whatever runs in a work tree can write `.git` there: what it names has to name the tree.
    mine = own.parent.name == "worktrees" and (own / back).resolve() == (tree / ".git").resolve()
    return own if mine else None
