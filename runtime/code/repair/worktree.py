"""The worktree of an execution: a second checkout, in the home, on a branch of its own.

git searches a repository upward from a folder, and a home is often inside the user's checkout. Each
command here names the worktree's own `.git`, so none can reach the user's files, even if that file
is missing.
"""

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from ..programs import unused
from .checkout import Sources, forbidden
from .errors import CheckoutUnusableError, GitFailedError
from .git import Git

FOLDER = "worktrees"  # of a home
PREFIX = "cortex/"  # of a branch's name
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_DIFF = (
    *("diff", "--cached", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames"),
    *("--src-prefix=a/", "--dst-prefix=b/", "HEAD"),
)
LOCKS = "*.lock"
_LINK = re.compile(r"gitdir: (.+?)\r?\n?\Z", re.DOTALL)
_MAKING = "initializing"  # why git keeps others from a work tree that it is making


class WorktreeRequest(Protocol):
    """What is asked for in an execution."""

    @property
    def execution_id(self) -> str:
        """The execution."""
        ...

    @property
    def tree(self) -> str:
        """The execution in whose worktree it works; "" for its own."""
        ...


class Worktree:
    """An existing worktree."""

    def __init__(self, folder: Path, timeout_s: float) -> None:
        self.folder = folder
        options = (f"--git-dir={folder / '.git'}", f"--work-tree={folder}")
        self.git = Git(folder, timeout_s, *options, tree=folder)

    @property
    def head(self) -> str:
        """Its current commit."""
        return self.git.run("rev-parse", "--verify", "HEAD").strip()

    @property
    def branch(self) -> str:
        """The branch it is on; "" where it is on none."""
        return self.git.asked("symbolic-ref", "--quiet", "--short", "HEAD").stdout.decode().strip()

    def reset(self) -> None:
        """Reset to the branch; all changes and untracked files are removed."""
        self.git.run("reset", "--hard", "--quiet", "HEAD")
        self.git.run("clean", "-ffdxq")

    def forbidden(self, paths: Sequence[str]) -> Mapping[str, str]:
        """Why some of *paths* are not edited."""
        return forbidden(self.git, paths)

    def stage(self, paths: Sequence[str]) -> None:
        """Stage the contents of *paths* for the next commit."""
        self.git.run("add", "--force", "--", *(f":(literal){path}" for path in paths))

    def is_clean(self) -> bool:
        """Whether everything there is committed, but for what git ignores."""
        return not self.git.run("status", "--porcelain", "--ignore-submodules=dirty").strip()

    def stage_all(self) -> None:
        """Stage all changes for the next commit."""
        self.git.run("add", "--all")

    def staged(self) -> list[str]:
        """The paths that the next commit changes."""
        names = self.git.run("diff", "--cached", "--name-only", "--no-renames", "-z", "HEAD")
        return [name for name in names.split("\0") if name]

    def diff(self) -> str:
        """What the next commit changes."""
        return self.git.run(*_DIFF)


def owner_of(event: WorktreeRequest) -> str:
    """The execution whose worktree it is that *event* is about."""
    return event.tree or event.execution_id


def branch_of(execution_id: str) -> str:
    """The branch of an execution, unless its commit names another."""
    return f"{PREFIX}{execution_id}"


def folder_of(home: Path, execution_id: str) -> Path:
    """The worktree folder of an execution, if it exists.

    Raises:
        CheckoutUnusableError: The execution's id cannot name a folder and a branch.
    """
    if not _NAME.fullmatch(execution_id) or ".." in execution_id or execution_id.endswith("."):
        raise CheckoutUnusableError(f"cannot get a branch: {execution_id!r} is not a name for one")
    return home.resolve() / FOLDER / execution_id


def find_worktree(folder: Path, timeout_s: float) -> Worktree | None:
    """The worktree at *folder*, if there is one that git knows and made whole.

    What a git that was killed left locked there is free again.
    """
    if not (folder / ".git").is_file() or is_half_made(folder):
        return None
    clear_left_locks(folder)
    tree = Worktree(folder, timeout_s)
    known = tree.git.asked("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    return None if known.returncode else tree


def fresh_worktree(sources: Sources, folder: Path, branch: str) -> Worktree:
    """The worktree at *folder* in the state of its branch; made if it is missing.

    A new branch starts from the commit that is checked out; an existing one is unchanged.

    Raises:
        CheckoutUnusableError: The worktree there belongs to another repository.
        GitFailedError: git cannot make it.
    """
    tree = find_worktree(folder, sources.timeout_s)
    if tree is not None:
        if _repository(tree.git) != _repository(sources.git):
            raise CheckoutUnusableError("are not those that this execution began to repair")
        try:
            tree.reset()
            return tree
        except GitFailedError:
            pass  # it is damaged: another one takes its place
    remove_worktree(sources, folder)
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    start: tuple[str, ...] = (str(folder), branch)
    if not head_of(sources.git, branch):
        start = ("--no-track", "-b", branch, str(folder), sources.head)
    Git(sources.top, sources.timeout_s, tree=folder).run("worktree", "add", "--quiet", *start)
    return Worktree(folder, sources.timeout_s)


def remove_worktree(sources: Sources, folder: Path) -> None:
    """Take the worktree away; its branch stays."""
    if folder.is_symlink():
        folder.unlink()
    shutil.rmtree(folder, ignore_errors=True)
    sources.git.asked(
        "worktree", "unlock", str(folder)
    )  # a git that was killed making it locked it
    sources.git.run("worktree", "prune")


def head_of(git: Git, branch: str) -> str:
    """The commit at the head of *branch*; "" if there is no such branch."""
    said = git.asked("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}^{{commit}}")
    return said.stdout.decode().strip()


def _repository(git: Git) -> Path:
    return (git.folder / git.run("rev-parse", "--git-common-dir").strip()).resolve()


def clear_left_locks(tree: Path) -> None:
    """Remove lock files of the work tree at *tree*, unless one of our programs runs there.

    A program of an earlier runtime gets a moment to end; if it continues, git itself reports the
    lock.
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
    """The folder with git's data of this work tree; None if there is none."""
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
