"""Scans folders for changes, for cases in which the system's file watching fails."""

import os
import sys
from collections.abc import Callable, Iterable

from cortex.runtime.retrieval import Walk

Found = dict[str, tuple[int, int]]  # time of change and size in bytes, by path


class FileTree:
    """The files below *folders* at the last scan.

    It follows links to folders, anywhere, but scans each folder once.

    Args:
        folders: Absolute paths.
        counts: Whether to scan a path, of a file or a folder.
    """

    def __init__(self, folders: Iterable[str], counts: Callable[[str], bool]) -> None:
        self._folders, self._counts = tuple(folders), counts
        self.misnamed = False  # whether it skipped a name that is not UTF-8
        self._files = self._look()

    def note(self, paths: Iterable[str]) -> None:
        """Note the current state of *paths*, which were reported."""
        for path in paths:
            if (found := _state(path)) is None:
                self._files.pop(path, None)
            else:
                self._files[path] = found

    def changes(self) -> list[tuple[str, str]]:
        """Path and kind of the changes since the last scan, or `note`."""
        before, self._files = self._files, self._look()
        now = self._files
        added = [(path, "added") for path in now.keys() - before.keys()]
        deleted = [(path, "deleted") for path in before.keys() - now.keys()]
        both = now.keys() & before.keys()
        return [*added, *deleted, *((p, "modified") for p in both if now[p] != before[p])]

    def _look(self) -> Found:
        self.misnamed = False
        files: Found = {}
        for top in self._folders:
            for entry, _, is_folder in Walk(
                top,
                counts=self._named,
                enters=self._enters,
                follows=True,
                outside=True,
                deepest=sys.maxsize,
            ):
                if not is_folder and self._counts(entry.path):
                    found = _state(entry.path)
                    if found is not None:
                        files[entry.path] = found
        return files

    def _enters(self, entry: os.DirEntry[str], _: tuple[str, ...]) -> bool:
        return self._counts(entry.path)

    def _named(self, name: str) -> bool:
        if not name.isprintable() and any("\udc80" <= each <= "\udcff" for each in name):
            self.misnamed = True
            return False
        return True


def _state(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path, follow_symlinks=False)  # noqa: PTH116  # no Path for each of very many
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
