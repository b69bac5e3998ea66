"""What can be seen of the files under roots without reading any, to tell whether they changed."""

import os
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

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
    pending = [os.path.realpath(root.path) for root in roots]
    while pending and len(folders) < MOST_FOLDERS:
        folder = pending.pop()
        if folder in folders or not os.path.isdir(folder):  # noqa: PTH112  # of ten thousand names; a Path costs each
            continue
        folders.add(folder)
        for entry in _entries(folder):
            if entry.is_dir(follow_symlinks=False):
                if _is_text(entry.path):
                    pending.append(entry.path)
            else:
                status = _status(entry)
                if status is not None:
                    files.add((entry.path, status.st_mtime_ns, status.st_size))
    return Shown(frozenset(folders), frozenset(files))


def counts(name: str) -> bool:
    """Whether a file or folder of this name can be knowledge: not hidden, nor left by an editor."""
    return not name.startswith(".") and not name.endswith("~")


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from (entry for entry in entries if counts(entry.name))
    except OSError:  # gone, or not ours to read
        return


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
