"""The user's checkout: possible starts of a branch, and the files that git tracks; read-only."""

import contextlib
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from .errors import CheckoutUnusableError
from .git import Git

_HEAD = ("--quiet", "HEAD^{commit}")
_SUBMODULE = "160000"
_BARE = b"safe.bareRepository"  # why git does not go into one
_NO_FILTER = frozenset(("unspecified", "unset"))
# What stands uncommitted inside a submodule is asked of the submodule, with its own configuration.
_STATUS = ("status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=dirty")


class Sources(msgspec.Struct, frozen=True):
    """A folder of a checkout that has commits."""

    top: Path  # of the checkout
    prefix: str  # of the folder in it: "" or "sub/"
    head: str  # the commit that is checked out
    timeout_s: float  # for each question to git

    @property
    def git(self) -> Git:
        """What asks git in the checkout."""
        return Git(self.top, self.timeout_s)


def sources_at(folder: Path, timeout_s: float) -> Sources:
    """The checkout that *folder* is, or is in.

    Raises:
        CheckoutUnusableError: It is not a checkout, a bare repository, or without commits.
        GitFailedError: git cannot be asked.
    """
    if not _is_folder(folder):
        raise CheckoutUnusableError("are not a folder: start the execution with --workspace")
    git = Git(folder, timeout_s)
    inside = git.asked("rev-parse", "--is-inside-work-tree", "--is-bare-repository")
    if inside.returncode and _BARE in inside.stderr:
        raise CheckoutUnusableError("are a bare repository: name a checkout of it")
    if inside.returncode:
        raise CheckoutUnusableError(f"are not a git checkout: {git.said(inside.stderr)}")
    work_tree, bare = inside.stdout.split()
    if work_tree != b"true":
        what = "a bare repository" if bare == b"true" else "git's own folder"
        raise CheckoutUnusableError(f"are {what}: name a checkout of it")
    said = git.asked("rev-parse", "--show-toplevel", "--show-prefix", "--verify", *_HEAD)
    if said.returncode:
        raise CheckoutUnusableError("have no commits yet: make a first one, then resume")
    top, prefix, head = os.fsdecode(said.stdout).removesuffix("\n").rsplit("\n", 2)
    return Sources(Path(top), prefix, head, timeout_s)


def uncommitted(sources: Sources, home: Path) -> int:
    """How many paths of the checkout hold what is not committed; those of the home do not count."""
    apart: tuple[str, ...] = ()
    with contextlib.suppress(ValueError):  # it stands elsewhere
        apart = (f":(exclude,literal){home.resolve().relative_to(sources.top)}",)
    changed = sources.git.run(*_STATUS, "--", ":/", *apart).split("\0")
    return sum(1 for entry in changed if entry)


def forbidden(git: Git, paths: Sequence[str]) -> Mapping[str, str]:
    """Why some of *paths*, of HEAD, are not edited: submodules, and what a filter makes."""
    found: dict[str, str] = {}
    listed = git.run("ls-tree", "-z", "HEAD", "--", *paths)
    for entry in listed.split("\0"):
        mode, _, rest = entry.partition(" ")
        if mode == _SUBMODULE:
            found[rest.partition("\t")[2]] = "it is a submodule, a repository of its own"
    words = git.run("check-attr", "-z", "filter", "--", *paths).split("\0")
    for path, _, value in zip(words[::3], words[1::3], words[2::3], strict=False):
        if value not in _NO_FILTER:
            found.setdefault(path, f"git keeps it through the filter {value!r}")
    return found


def _is_folder(folder: Path) -> bool:
    try:
        return stat.S_ISDIR(folder.stat().st_mode)
    except (OSError, ValueError):  # missing, forbidden, or no path at all
        return False
