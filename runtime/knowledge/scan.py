"""Find the files of knowledge under the roots, with what the file system says of each."""

import errno
import os
import sys
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from cortex.runtime.retrieval import CODE_SUFFIXES, StoredFile, Walk

from .reading import CONVERTED
from .topics import (
    FOLDER_PAGES,
    NAMED_SCOPES,
    SUFFIXES,
    Root,
    is_name,
    is_scope_folder,
)

INDEXED_SUFFIXES: Final = frozenset(
    (*SUFFIXES, ".markdown", ".yml", ".jsonl", ".tsv", *CODE_SUFFIXES, *CONVERTED)
)
NOT_UTF8: Final = "its name is not UTF-8; rename it"
SETTLED_NS: Final = 2_000_000_000  # what changed this recently may change without a new time stamp


class ScannedFile(NamedTuple):
    """A file as the file system shows it."""

    root: Root
    path: str
    parts: tuple[str, ...]  # folders below the root, and the name without its suffix
    size_bytes: int
    changed_ns: int
    problem: str = ""  # why it is not to be read

    @property
    def topic(self) -> str:
        """Its dotted name; empty where its names cannot be one."""
        if not all(map(is_name, self.parts)):
            return ""
        scope = self.root.scope
        return ".".join((scope, *self.parts) if scope in NAMED_SCOPES else self.parts)


class Scanned(NamedTuple):
    """What stands under some roots."""

    paths: set[str]  # of all that can be knowledge
    fresh: list[ScannedFile]  # those of them that are new, or may have changed


def scan(
    roots: Iterable[Root], known: Mapping[str, StoredFile] | None = None, now_ns: int = 0
) -> Scanned:
    """The files under *roots* that can be knowledge, each once, sorted by path within a root.

    Hidden files and folders are left out; symbolic links are followed to files and folders inside
    the same root only, to a folder once and never back up. What has a name that is not UTF-8 is
    told, a folder as one, and not to be read.

    What has the same time and size as in *known* is not `fresh`, unless it changed shortly before
    *now_ns*, the time; 0 to believe in time stamps whatever they say.
    """
    settled_ns = now_ns - SETTLED_NS if now_ns else sys.maxsize
    scanned = Scanned(set(), [])
    for root in roots:
        _Scan(root, known or {}, settled_ns, scanned).through()
    return scanned


class _Scan:
    """One pass over a root, in the order of names."""

    def __init__(
        self, root: Root, known: Mapping[str, StoredFile], settled_ns: int, scanned: Scanned
    ) -> None:
        self._root, self._known, self._settled_ns = root, known, settled_ns
        self._paths, self._fresh = scanned

    def through(self) -> None:
        """Take up the files under the root."""
        walk = Walk(
            self._root.path,
            counts=lambda name: not name.startswith("."),
            enters=self._enters,
            follows=True,
            failed=self._note,
        )
        for entry, parts, is_folder in walk:
            try:
                if not is_folder and entry.is_file() and not self._is_known(entry):
                    self._take(_file(self._root, entry, parts))
            except OSError as error:
                self._note(entry.path, parts, error)

    def _enters(self, entry: os.DirEntry[str], parts: tuple[str, ...]) -> bool:
        if is_scope_folder(self._root, entry.name, parts):
            return False
        if not _is_readable(entry.name):
            self._take(_unreadable(self._root, entry, parts))
            return False
        return True

    def _note(self, path: str, parts: tuple[str, ...], error: OSError) -> None:
        """Note an unreadable path, to report it; a missing one is no problem.

        Nor is a root that is not there, or a link that leads to itself.
        """
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP) and _is_readable(path):
            problem = f"it cannot be looked at: {error.strerror}; check its owner and mode"
            self._take(ScannedFile(self._root, path, (*parts, ""), 0, 0, problem))

    def _is_known(self, entry: os.DirEntry[str]) -> bool:
        """Whether *entry* is as it was: most are, and cost no more than this."""
        known = self._known.get(entry.path)
        if known is None:
            return False
        status = entry.stat()
        if not self._is_same(known, status.st_mtime_ns, status.st_size):
            return False
        self._paths.add(entry.path)
        return True

    def _is_same(self, known: StoredFile, changed_ns: int, size_bytes: int) -> bool:
        same = known.changed_ns == changed_ns and known.size_bytes == size_bytes
        return same and changed_ns <= self._settled_ns

    def _take(self, seen: ScannedFile | None) -> None:
        if seen is None or seen.path in self._paths:
            return
        self._paths.add(seen.path)
        known = self._known.get(seen.path)
        if known is None or not self._is_same(known, seen.changed_ns, seen.size_bytes):
            self._fresh.append(seen)


def _file(root: Root, entry: os.DirEntry[str], parts: tuple[str, ...]) -> ScannedFile | None:
    name, _, suffix = entry.name.rpartition(".")
    if not name or f".{suffix.lower()}" not in INDEXED_SUFFIXES:
        return None
    if not _is_readable(entry.name):
        return _unreadable(root, entry, parts)
    status = entry.stat()
    named = parts if name in FOLDER_PAGES and parts else (*parts, name)
    return ScannedFile(root, entry.path, named, status.st_size, status.st_mtime_ns)


def _unreadable(root: Root, entry: os.DirEntry[str], parts: tuple[str, ...]) -> ScannedFile:
    # The store, the log and a terminal take UTF-8 only: the other bytes are shown as \xff.
    path = os.fsencode(entry.path).decode("utf-8", errors="backslashreplace")
    return ScannedFile(root, path, (*parts, ""), 0, entry.stat().st_mtime_ns, NOT_UTF8)


def _is_readable(name: str) -> bool:
    """Whether *name* is text: Python represents other bytes as lone surrogates."""
    return name.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in name)
