"""What can be seen of the files under roots without reading any, to tell whether they changed."""

import os
from collections.abc import Iterable
from typing import Final, NamedTuple

from cortex.runtime.retrieval import Walk

from .topics import Root

MOST_FOLDERS: Final = 100_000  # a bound against a file system that never ends


class Shown(NamedTuple):
    """The folders and files under some roots at one moment."""

    folders: frozenset[str]
    files: frozenset[tuple[str, int, int]]  # path, time of its last change (ns), size (bytes)


def shown(roots: Iterable[Root]) -> Shown:
    """What stands under *roots*, which need not be there.

    Links to folders are not followed: what they lead to inside a root stands there itself, and
    what is outside is no knowledge. What `counts` leaves out is left out, and so is a folder whose
    name is not UTF-8.
    """
    folders: set[str] = set()
    files: set[tuple[str, int, int]] = set()

    def enters(entry: os.DirEntry[str], _: tuple[str, ...]) -> bool:
        if entry.path in folders or len(folders) >= MOST_FOLDERS or not _is_text(entry.path):
            return False
        folders.add(entry.path)
        return True

    for top in {os.path.realpath(root.path) for root in roots}:
        if top in folders or not os.path.isdir(top):  # noqa: PTH112  # no Path is made here
            continue
        folders.add(top)
        for entry, _, is_folder in Walk(top, counts=counts, enters=enters):
            if not is_folder or entry.is_symlink():
                status = _status(entry)
                if status is not None:
                    files.add((entry.path, status.st_mtime_ns, status.st_size))
    return Shown(frozenset(folders), frozenset(files))


def counts(name: str) -> bool:
    """Whether a file or folder of this name can be knowledge: not hidden, nor left by an editor."""
    return not name.startswith(".") and not name.endswith("~")


def _status(entry: os.DirEntry[str]) -> os.stat_result | None:
    try:
        return entry.stat()
    except OSError:  # gone, or a link that leads nowhere
        return None


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
