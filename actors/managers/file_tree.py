"""What stands below some folders, for when the system's own watching cannot tell what changed."""

import os
from collections.abc import Callable, Iterable, Iterator

Found = dict[str, tuple[int, int]]  # when it changed and its size in bytes, by path


class FileTree:
    """The files below *folders* as they were when last looked at; links to folders are followed.

    Args:
        folders: Absolute.
        counts: Whether a path, of a file or a folder, is looked at.
    """

    def __init__(self, folders: Iterable[str], counts: Callable[[str], bool]) -> None:
        self._folders, self._counts = tuple(folders), counts
        self.misnamed = False  # whether there is a name that is not UTF-8, which is left out
        self._files = self._look()

    def note(self, paths: Iterable[str]) -> None:
        """Take *paths* as they are now: somebody was told of them."""
        for path in paths:
            if (found := _state(path)) is None:
                self._files.pop(path, None)
            else:
                self._files[path] = found

    def changes(self) -> list[tuple[str, str]]:
        """Path and kind of what changed since the last look, or `note`."""
        before, self._files = self._files, self._look()
        now = self._files
        added = [(path, "added") for path in now.keys() - before.keys()]
        deleted = [(path, "deleted") for path in before.keys() - now.keys()]
        both = now.keys() & before.keys()
        return [*added, *deleted, *((p, "modified") for p in both if now[p] != before[p])]

    def _look(self) -> Found:
        self.misnamed = False
        visited: set[tuple[int, int]] = set()
        files: Found = {}
        for top in self._folders:
            for path in self._below(top, visited):
                if (found := _state(path)) is not None:
                    files[path] = found
        return files

    def _below(self, top: str, visited: set[tuple[int, int]]) -> Iterator[str]:
        for root, folders, files in os.walk(top, followlinks=True):
            at = _identity(root)
            if at is None or at in visited:  # it just went, or a link leads back
                folders[:] = []
                continue
            visited.add(at)
            folders[:] = [name for name in folders if self._taken(root, name)]
            yield from (f"{root}/{name}" for name in files if self._taken(root, name))

    def _taken(self, root: str, name: str) -> bool:
        if not name.isprintable() and any("\udc80" <= each <= "\udcff" for each in name):
            self.misnamed = True
            return False
        return self._counts(f"{root}/{name}")


def _identity(folder: str) -> tuple[int, int] | None:
    try:
        found = os.stat(folder)  # noqa: PTH116  # as `os.walk` gives it
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _state(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path, follow_symlinks=False)  # noqa: PTH116
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
