"""The objects that git tracks for the files of a home, read from its index without starting git.

Starting git could run programs that a checkout's configuration names, and this runs at each start
of a runtime. The format is git's own (gitformat-index(5)), versions 2 to 4.
"""

import os
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

LINK = re.compile(rb"gitdir: (.+?)\r?\n?\Z", re.DOTALL)
SHA256 = re.compile(rb"(?mi)^\s*objectformat\s*=\s*\"?sha256")
STAT_BYTES = 40  # of an entry, before the id of its object
EXTENDED = 0x4000  # two bytes of flags more
HEADER_BYTES = 12
SPLIT = b"link"  # an extension: entries are in sharedindex.*, too
LOCK = "index.lock"  # there from before git writes the first file until its index is written
LARGEST_BYTES = 1 << 30


def objects_in_git(home: Path) -> dict[str, frozenset[str]] | None:
    """The ids of the objects that git has for files of *home*, by `folded` path in it.

    Empty if git tracks no files of it; a file during a merge has several. None if the index cannot
    be read, or git is still writing it.
    """
    home = home.resolve()
    for folder in (home, *home.parents):
        found = _git_folder(folder / ".git")
        if found is not None:
            own = text_of(os.fsencode(home.relative_to(folder)))
            return _below(found, "" if folder == home else f"{folded(own)}/")
    return {}


def text_of(name: bytes) -> str:
    """A path as text; no two have the same.

    Bytes that are not UTF-8 become backslash escapes, so real backslashes are doubled.
    """
    return name.replace(b"\\", b"\\\\").decode(errors="backslashreplace")


def folded(path: str) -> str:
    """*path* as a file system may take it, for which letters in either case are the same."""
    return unicodedata.normalize("NFKC", path).casefold()


def _git_folder(path: Path) -> Path | None:
    """The folder of a repository, which a work tree or a submodule has elsewhere."""
    if path.is_dir():
        return path
    try:
        named = LINK.match(path.read_bytes())
    except OSError:
        return None
    return path.parent / named[1].decode(errors="surrogateescape") if named else None


def _below(git: Path, prefix: str) -> dict[str, frozenset[str]] | None:
    found: dict[str, set[str]] = {}
    size = 32 if _is_sha256(git) else 20
    # What of a path is looked for first, since most of a large index is about other folders.
    plain = prefix.isascii() and "\\" not in prefix
    name = prefix.rstrip("/").rpartition("/")[2].encode() if plain else b""
    if (git / LOCK).exists():
        return None
    try:
        for path, objects in _entries(git / "index", name, size):
            below = folded(text_of(path))
            if below.startswith(prefix):
                found.setdefault(below[len(prefix) :], set()).add(objects)
    except (OSError, IndexError, ValueError):
        return None
    return {path: frozenset(objects) for path, objects in found.items()}


def _is_sha256(git: Path) -> bool:
    common = git / "commondir"  # of a work tree beside the first
    folder = git / common.read_text().strip() if common.is_file() else git
    try:
        return bool(SHA256.search((folder / "config").read_bytes()))
    except OSError:
        return False


def _entries(index: Path, name: bytes, object_bytes: int) -> Iterator[tuple[bytes, str]]:
    """Path and object of each entry with *name* in its path.

    Raises:
        ValueError: The format is unknown, or a part of the index is in another file.
    """
    if not index.is_file():
        return
    if index.stat().st_size > LARGEST_BYTES:
        raise ValueError(index)
    data = index.read_bytes()
    version, count = int.from_bytes(data[4:8]), int.from_bytes(data[8:12])
    if data[:4] != b"DIRC" or version not in (2, 3, 4):
        raise ValueError(index)
    if SPLIT in data and any(index.parent.glob("sharedindex.*")):
        raise ValueError(index)
    if version < 4 and name not in data.lower():  # whole paths are in there, before version 4
        return
    at, before = HEADER_BYTES, b""
    for _ in range(count):
        named = at + STAT_BYTES
        flags = named + object_bytes
        objects = data[named:flags].hex()
        path_at = flags + (4 if data[flags] & (EXTENDED >> 8) else 2)
        if version == 4:
            cut, path_at = _offset(data, path_at)
            end = data.index(b"\0", path_at)
            before = before[: len(before) - cut] + data[path_at:end]
            at = end + 1
        else:
            end = data.index(b"\0", path_at)
            before = data[path_at:end]
            at += (end - at + 8) & ~7  # padded with 1 to 8 zeros
        if name in before.lower():
            yield before, objects


def _offset(data: bytes, at: int) -> tuple[int, int]:
    """A number of varying length, as in packs, and where it ends."""
    byte = data[at]
    value = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = data[at]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, at + 1
