"""Identifies the files that tests ran on: one digest over all in a folder that git does not ignore.

Cortex takes it itself, from the files, so that it does not matter who wrote them. It is taken
without git's index and filters, and in a folder that is no checkout as well.
"""

import hashlib
import os
import stat
from pathlib import Path

from ..programs import GitConfigurationError, run_git
from ..source import Checkout, CheckoutError
from .errors import CheckoutUnusableError

LARGEST_BYTES = 64 << 20  # of a file that is read; a larger one is known by its inode and times
NAMED = 5  # files that are named


def tree_of(folder: Path, home: Path | None, *, deep: int = 3) -> str:
    """The digest of the files in *folder*; those of Cortex in *home* do not count.

    Args:
        folder: A worktree, a checkout, or any other folder.
        home: Left out if it is inside.
        deep: Most levels of nested checkouts, such as submodules, to enter.

    Raises:
        CheckoutUnusableError: It cannot be listed or read.
    """
    try:
        listed = Checkout(folder)
    except CheckoutError as error:
        raise CheckoutUnusableError(f"cannot be listed: {error}") from error
    apart = home.resolve() if home is not None else None
    if apart is not None and not apart.is_relative_to(listed.root):
        apart = None  # worktrees are in the home, and are not left out
    tree = hashlib.sha256()
    for name in listed.files:
        path = listed.root / name.rstrip("/")
        if apart is not None and (path == apart or path.is_relative_to(apart)):
            continue
        try:
            known = _known(path, home, deep)
        except OSError as error:
            problem = error.strerror or str(error)
            raise CheckoutUnusableError(f"cannot be read: {name}: {problem}") from error
        for part in (os.fsencode(name), known):
            tree.update(len(part).to_bytes(8, "big") + part)
    return tree.hexdigest()


def changed_since(folder: Path, since_ns: int, timeout_s: float) -> list[str]:
    """Files that git tracks in *folder* and that were written after a time; a few of them.

    Files that the tests leave behind are not tracked, and do not count. In a folder that is no
    checkout the two cannot be distinguished.
    """
    try:
        said = run_git(str(folder), "ls-files", "-z", timeout_s=timeout_s)
    except (OSError, GitConfigurationError):
        return []
    changed: list[str] = []
    for name in os.fsdecode(said.stdout).split("\0") if not said.returncode else ():
        try:
            status = (folder / name).lstat()
        except OSError:
            changed.append(name)  # deleted, perhaps before: the tests did not run on all files
            continue
        # The time of the last inode change, which cannot be set; folders are submodules.
        if stat.S_ISREG(status.st_mode) and status.st_ctime_ns > since_ns:
            changed.append(name)
    return [name for name in changed if name][:NAMED]


def _known(path: Path, home: Path | None, deep: int) -> bytes:
    """What makes a file another one: its kind, whether it is run, and its bytes."""
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return b"gone"
    mode = status.st_mode
    if stat.S_ISLNK(mode):
        return b"link " + os.fsencode(path.readlink())
    if stat.S_ISDIR(mode):
        return b"folder " + (tree_of(path, home, deep=deep - 1).encode() if deep else b"")
    if not stat.S_ISREG(mode):
        return b"other"
    kind = b"program " if mode & 0o111 else b"file "
    if status.st_size > LARGEST_BYTES:
        times = (status.st_size, status.st_ino, status.st_mtime_ns, status.st_ctime_ns)
        return kind + repr(times).encode()
    with path.open("rb") as file:
        return kind + hashlib.file_digest(file, "sha256").digest()
