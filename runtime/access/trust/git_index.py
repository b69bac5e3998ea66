"""What git keeps of the files of a home, read from its index; git itself is not started.

A program that is not started runs nothing that a checkout's configuration names, and this is asked
whenever a runtime starts. The format is git's own (gitformat-index(5)), versions 2 to 4.
"""

import re
from collections.abc import Iterator
from pathlib import Path

LINK = re.compile(rb"gitdir: (.+?)\r?\n?\Z", re.DOTALL)
SHA256 = re.compile(rb"(?mi)^\s*objectformat\s*=\s*\"?sha256")
STAT_BYTES = 40  # of an entry, before the id of its object
EXTENDED = 0x4000  # two bytes of flags more
HEADER_BYTES = 12
LARGEST_BYTES = 1 << 30


def objects_in_git(home: Path) -> dict[str, frozenset[str]] | None:
    """The ids of the objects that git has for files of *home*, by path in it.

    Empty where no git keeps files of it; a file that is being merged has several. None where there
    is an index that cannot be read.
    """
    home = home.resolve()
    for folder in home.parents:
        found = _git_folder(folder / ".git")
        if found is not None:
            prefix = f"{home.relative_to(folder).as_posix()}/".encode()
            return _below(found, prefix)
    return {}


def _git_folder(path: Path) -> Path | None:
    """The folder of a repository, which a work tree or a submodule has elsewhere."""
    if path.is_dir():
        return path
    try:
        named = LINK.match(path.read_bytes())
    except OSError:
        return None
    return path.parent / named[1].decode(errors="surrogateescape") if named else None


def _below(git: Path, prefix: bytes) -> dict[str, frozenset[str]] | None:
    found: dict[str, set[str]] = {}
    size = 32 if _is_sha256(git) else 20
    try:
        indexes = [git / "index", *git.glob("sharedindex.*")]  # a split index is in both
        for index in indexes:
            for path, name in _entries(index, prefix, size):
                if path.startswith(prefix):
                    own = path[len(prefix) :].decode(errors="backslashreplace")
                    found.setdefault(own, set()).add(name)
    except (OSError, IndexError, ValueError):
        return None
    return {path: frozenset(names) for path, names in found.items()}


def _is_sha256(git: Path) -> bool:
    common = git / "commondir"  # of a work tree beside the first
    folder = git / common.read_text().strip() if common.is_file() else git
    try:
        return bool(SHA256.search((folder / "config").read_bytes()))
    except OSError:
        return False


def _entries(index: Path, prefix: bytes, object_bytes: int) -> Iterator[tuple[bytes, str]]:
    """Path and object of each entry; of none where no path can begin with *prefix*."""
    if not index.is_file():
        return
    if index.stat().st_size > LARGEST_BYTES:
        raise ValueError(index)
    data = index.read_bytes()
    version, count = int.from_bytes(data[4:8]), int.from_bytes(data[8:12])
    if data[:4] != b"DIRC" or version not in (2, 3, 4):
        raise ValueError(index)
    if version < 4 and prefix not in data:  # whole paths stand in there, before version 4
        return
    at, before = HEADER_BYTES, b""
    for _ in range(count):
        named = at + STAT_BYTES
        flags = named + object_bytes
        name = data[named:flags].hex()
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
        yield before, name


def _offset(data: bytes, at: int) -> tuple[int, int]:
    """A number of varying length, as in packs, and where it ends."""
    byte = data[at]
    value = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = data[at]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, at + 1
