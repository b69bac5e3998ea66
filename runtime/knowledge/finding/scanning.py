"""Find the files of knowledge under the roots, with what the file system says of each."""

import os
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from ..topics import FOLDER_PAGES, NAMED_SCOPES, SUFFIXES, Root, is_name
from .blocks import CODE_SUFFIXES
from .converting import CONVERTED

INDEXED_SUFFIXES: Final = frozenset(
    (*SUFFIXES, ".markdown", ".yml", ".jsonl", ".tsv", *CODE_SUFFIXES, *CONVERTED)
)
DEEPEST: Final = 32  # folders; a bound against a file system that never ends


class Seen(NamedTuple):
    """A file as the file system shows it."""

    root: Root
    path: str
    parts: tuple[str, ...]  # folders below the root, and the name without its suffix
    size_bytes: int
    changed_ns: int

    @property
    def topic(self) -> str:
        """Its dotted name; empty where its names cannot be one."""
        if not all(map(is_name, self.parts)):
            return ""
        scope = self.root.scope
        return ".".join((scope, *self.parts) if scope in NAMED_SCOPES else self.parts)


def scan(roots: Iterable[Root]) -> Iterator[Seen]:
    """Every file under *roots* that can be knowledge, each once, sorted by path within a root.

    Hidden files and folders are left out; symbolic links are followed to files and folders inside
    the same root only.
    """
    known: set[str] = set()
    for root in roots:
        for seen in _walk(root, root.path, (), 0):
            if seen.path not in known:
                known.add(seen.path)
                yield seen


def _walk(root: Root, folder: str, parts: tuple[str, ...], depth: int) -> Iterator[Seen]:
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError:  # gone, or not ours to read: what cannot be listed holds nothing
        return
    for entry in entries:
        if entry.name.startswith(".") or (entry.is_symlink() and not _is_inside(root, entry.path)):
            continue
        try:
            if entry.is_dir():
                scoped = root.scope == "home" and not parts and entry.name in NAMED_SCOPES
                if depth < DEEPEST and not scoped:
                    yield from _walk(root, entry.path, (*parts, entry.name), depth + 1)
            elif entry.is_file():
                yield from _file(root, entry, parts)
        except OSError:  # vanished since it was listed, or a link that leads to itself
            continue


def _file(root: Root, entry: os.DirEntry[str], parts: tuple[str, ...]) -> Iterator[Seen]:
    name, suffix = os.path.splitext(entry.name)  # noqa: PTH122 - no Path an entry
    if suffix.lower() in INDEXED_SUFFIXES:
        status = entry.stat()
        named = parts if name in FOLDER_PAGES and parts else (*parts, name)
        yield Seen(root, entry.path, named, status.st_size, status.st_mtime_ns)


def _is_inside(root: Root, path: str) -> bool:
    real = os.path.realpath(path)
    return os.path.commonpath((real, os.path.realpath(root.path))) == os.path.realpath(root.path)
