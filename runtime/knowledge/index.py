"""The index of topics: from a dotted topic to the one file it stands for."""

import hashlib
import os
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from cortex.runtime.retrieval import Identity, Walk, identity_of, is_inside, listed

from .errors import KnowledgeUnreadableError
from .reading import LARGEST_BYTES, Document, read_bytes, read_document
from .topics import (
    FOLDER_PAGES,
    NAMED_SCOPES,
    SUFFIXES,
    Ambiguous,
    Resolved,
    Root,
    is_name,
    is_scope_folder,
    narrowest_first,
    parts_of,
)

# What changed this recently may change again without its time stamp moving, so it is not cached.
SETTLED_NS: Final = 2_000_000_000


class _Folder(NamedTuple):
    """What one folder holds, by topic name."""

    files: dict[str, tuple[str, ...]]  # "testing" -> ("testing.md",)
    folders: frozenset[str]
    links: frozenset[str]  # names of files and folders that are symbolic links
    identity: Identity
    entries: tuple[os.DirEntry[str], ...] = ()  # all, by name

    def has_link(self, part: str) -> bool:
        """Whether what *part* stands for may lie elsewhere."""
        return part in self.links or not self.links.isdisjoint(self.files.get(part, ()))


class TopicIndex:
    """Looks topics up under its roots; safe to share by threads.

    Folder listings and digests are kept until the folder or file changes, so that a lookup costs
    a few `stat` calls. Symbolic links are followed only to places inside the same root.
    """

    def __init__(self, roots: Iterable[Root], *, largest_bytes: int = LARGEST_BYTES) -> None:
        self.roots = narrowest_first(roots)
        self._largest_bytes = largest_bytes
        self._folders: dict[str, tuple[int, _Folder]] = {}
        self._digests: dict[str, tuple[tuple[int, int], str]] = {}
        self._lock = threading.Lock()

    def resolve(self, topic: str) -> Resolved | Ambiguous | None:
        """The file of *topic*; None if there is none.

        A first part that names a scope selects the roots of that scope. Otherwise the roots are
        searched narrowest first, and the first scope that has the topic decides.

        Raises:
            TopicInvalidError: *topic* is not names joined by dots.
            KnowledgeTooLargeError, KnowledgeUnreadableError: The file cannot be used.
        """
        parts = parts_of(topic)
        searched = self.roots
        if len(parts) > 1 and parts[0] in NAMED_SCOPES:
            searched = tuple(root for root in self.roots if root.scope == parts[0])
            parts = parts[1:]
        for scope in dict.fromkeys(root.scope for root in searched):
            found = [
                (root, path)
                for root in searched
                if root.scope == scope
                for path in self._find(root, parts)
            ]
            if found:
                return self._decide(topic, found)
        return None

    def read(self, resolved: Resolved) -> Document:
        """The text behind *resolved* as it is now; its digest says whether it is the same.

        Raises:
            KnowledgeTooLargeError, KnowledgeUnreadableError: The file cannot be used.
        """
        return read_document(Path(resolved.path), self._largest_bytes)

    def topics(self) -> tuple[str, ...]:
        """Every topic under the roots, sorted; those of a named scope with the scope in front."""
        found: set[str] = set()
        for root in self.roots:
            prefix = (root.scope,) if root.scope in NAMED_SCOPES else ()
            found.update(".".join((*prefix, *parts)) for parts in self._walk(root))
        return tuple(sorted(found))

    def _decide(self, topic: str, found: list[tuple[Root, Path]]) -> Resolved | Ambiguous:
        distinct = {str(path): (root, path) for root, path in found}
        if len(distinct) > 1:
            return Ambiguous(topic, tuple(sorted(distinct)))
        root, path = found[0]
        digest, size_bytes = self._digest(path)
        return Resolved(
            topic=topic,
            path=str(path),
            root=root.path,
            scope=root.scope,
            digest=digest,
            size_bytes=size_bytes,
        )

    def _find(self, root: Root, parts: tuple[str, ...]) -> list[Path]:
        base = Path(root.path)
        folder = self._listing(base)
        linked = False
        for part in parts[:-1]:
            if part not in folder.folders:
                return []
            linked = linked or folder.has_link(part)
            base /= part
            folder = self._listing(base)
        last = parts[-1]
        linked = linked or folder.has_link(last)
        found = [base / name for name in folder.files.get(last, ())]
        if last in folder.folders:
            inner = self._listing(base / last)
            pages = [name for page in FOLDER_PAGES for name in inner.files.get(page, ())]
            linked = linked or any(map(inner.has_link, FOLDER_PAGES))
            found.extend(base / last / name for name in pages)
        return [path for path in found if not linked or _is_inside(root, path)]

    def _walk(self, root: Root) -> Iterator[tuple[str, ...]]:
        walk = Walk(
            root.path,
            counts=lambda name: not name.startswith("."),
            enters=lambda entry, above: (
                is_name(entry.name) and not is_scope_folder(root, entry.name, above)
            ),
            follows=True,
            entries=lambda path: self._listing(Path(path)).entries,
        )
        for entry, parts, is_folder in walk:
            name = "" if is_folder else _topic_name(entry)
            if name:
                yield parts if name in FOLDER_PAGES and parts else (*parts, name)

    def _listing(self, path: Path) -> _Folder:
        try:
            status = path.stat()
            changed_ns, identity = status.st_mtime_ns, identity_of(status)
            with self._lock:
                known = self._folders.get(str(path))
            if known and known[0] == changed_ns and known[1].identity == identity:
                return known[1]
            folder = _list(path, identity)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return _Folder({}, frozenset(), frozenset(), (0, 0))
        if _settled(changed_ns):
            with self._lock:
                self._folders[str(path)] = (changed_ns, folder)
        return folder

    def _digest(self, path: Path) -> tuple[str, int]:
        try:
            stat = path.stat()
        except OSError as error:
            raise KnowledgeUnreadableError(str(path), error.strerror or str(error)) from error
        seen = (stat.st_mtime_ns, stat.st_size)
        with self._lock:
            known = self._digests.get(str(path))
        if known and known[0] == seen:
            return known[1], stat.st_size
        data = read_bytes(path, self._largest_bytes)
        digest = hashlib.sha256(data).hexdigest()
        if _settled(stat.st_mtime_ns) and len(data) == stat.st_size:
            with self._lock:
                self._digests[str(path)] = (seen, digest)
        return digest, len(data)


def _list(path: Path, identity: Identity) -> _Folder:
    files: dict[str, list[str]] = {}
    folders: set[str] = set()
    links: set[str] = set()
    entries = tuple(listed(str(path)))
    for entry in entries:
        try:
            if name := _topic_name(entry):
                files.setdefault(name, []).append(entry.name)
            elif is_name(entry.name) and entry.is_dir():
                folders.add(entry.name)
        except OSError:  # a link that leads to itself
            continue
        if entry.is_symlink():
            links.add(entry.name)
    found = {name: tuple(names) for name, names in files.items()}
    return _Folder(found, frozenset(folders), frozenset(links), identity, entries)


def _topic_name(entry: os.DirEntry[str]) -> str:
    """The last name of the topic of the file *entry*; "" if it is not a topic."""
    name, suffix = os.path.splitext(entry.name)  # noqa: PTH122  # no Path is made for each
    try:
        return name if suffix in SUFFIXES and is_name(name) and entry.is_file() else ""
    except OSError:  # a link that leads to itself
        return ""


def _settled(changed_ns: int) -> bool:
    return time.time_ns() - changed_ns > SETTLED_NS


def _is_inside(root: Root, path: Path) -> bool:
    return is_inside(str(path), os.path.realpath(root.path))
