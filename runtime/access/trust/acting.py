"""The files of a home that can act: start a program, contact a host, use a key, or steer that.

Every file counts that is not known to be inert, so new kinds of files need trust by default.
"""

import hashlib
import os
import stat
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from cortex.runtime.retrieval import leads_to_itself

from .errors import TrustStoreError
from .git_index import folded, text_of

CONFIG = "config.toml"
IDENTITY = "id"  # random; a home that was put in another's place does not have the same

# Read, never run: text and payloads, rebuilt indexes, and the state files of a hub.
INERT = {
    *("knowledge", "blobs", "archive", "heads", "vectors", "cold", "logs", "worktrees"),
    *(".git", ".gitignore", "version", IDENTITY, "bus.sock"),
}
UNFINISHED = "new."  # before the name of a file of which not all is written; nothing reads it
INERT_BEGINNINGS = ("projections.db", "memory.db", "cache.db", "tree.db", "up.", UNFINISHED)
INERT_KEYS = {"durability"}  # of config.toml; a new home sets it
# After the name of an entry that would be inert, were it no symbolic link: through one it would be
# read, written or spoken to elsewhere.
LINK = " (a link)"
REPOSITORY = ".git"
# What the runtime itself records. Grants, tokens, waiting work and deadlines are in there.
STATE = {"keys", "effects", "notifications"}
STATE_BEGINNINGS = ("log.db", "snapshots.db")
UNREAD_ENDS = ("-shm", ".lock")  # beside a database, without a meaning of their own
SILENT = "silent "
MOST_FILES = 20_000
CHUNK_BYTES = 1 << 20
LARGEST_BYTES = 256 << 20  # of one file
_TOO_LARGE = f"could act, and has more than {LARGEST_BYTES:,} bytes: move it out of the home"
_TOO_MANY = f"holds more than {MOST_FILES:,} files that could act: move some out of it"


class Seen(Struct, frozen=True):
    """A file that can act, as it is now."""

    content: str  # SHA-256, behind SILENT where it lets nothing act
    objects: tuple[str, ...]  # what git would call this content, by SHA-1 and by SHA-256
    # Somebody else may write it, a link leads to it, or a repository within the home keeps it.
    foreign: bool = False


class Acting(Struct, frozen=True):
    """All that can act in one home."""

    files: dict[str, Seen]  # by path in the home
    state: tuple[str, ...]  # files and folders, not empty, that hold what the runtime recorded
    silent: Mapping[str, Seen] = {}  # files of a kind that can act, which let nothing act now

    @property
    def nothing(self) -> bool:
        """Whether there is nothing to be trusted."""
        return not (self.files or self.state)


def is_inert(path: str) -> bool:
    """Whether the file at *path* in a home never acts."""
    top = path.partition("/")[0]
    if top.endswith(LINK):
        return False
    return top in INERT or top.startswith(INERT_BEGINNINGS) or top.endswith(UNREAD_ENDS)


def is_state(path: str) -> bool:
    """Whether the file at *path* in a home is the runtime's own, which changes all the time."""
    top = path.partition("/")[0]
    return top in STATE or top.startswith(STATE_BEGINNINGS)


def acting_in(home: Path) -> Acting:
    """The files in *home* that can act now; empty if there is no such folder.

    Raises:
        TrustStoreError: It cannot be read, or is too large to check.
    """
    files: dict[str, Seen] = {}
    state: list[str] = []
    try:
        for each in _entries(home):
            if is_inert(each.name):
                if each.is_symlink():
                    files[text_of(os.fsencode(each.name)) + LINK] = _seen_link(each)
                continue
            if is_state(each.name):
                if _is_filled(each):
                    state.append(each.name)
            else:
                for path, place, linked in _files_below(each):
                    if len(files) == MOST_FILES:
                        raise TrustStoreError(str(home), _TOO_MANY)
                    with suppress(FileNotFoundError):  # it vanished: nothing can act there
                        files[path] = _seen(path, place, linked=linked)
    except OSError as error:
        raise _unreadable(home, error) from error
    silent = [path for path, each in files.items() if each.content.startswith(SILENT)]
    return Acting(files, tuple(sorted(state)), {path: files.pop(path) for path in silent})


def digest_of(home: Path, acting: Acting) -> str:
    """SHA-256, in hex, over all files in *home* that can act; a copy elsewhere has the same.

    Raises:
        TrustStoreError: A file of it cannot be read.
    """
    whole = hashlib.sha256(b"cortex home 1\n")
    entries = {path: seen.content for path, seen in acting.files.items()}
    try:
        for each in _entries(home):
            if each.name in acting.state:
                for path, place, _ in _files_below(each):
                    with suppress(FileNotFoundError):  # as a journal does at a commit
                        entries[path] = _content_of(place)
    except OSError as error:
        raise _unreadable(home, error) from error
    for path in sorted(entries):
        whole.update(f"{entries[path]} {len(path.encode())} {path}\n".encode())
    return whole.hexdigest()


def _entries(folder: Path | os.DirEntry[str]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda each: each.name)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _files_below(top: os.DirEntry[str]) -> Iterator[tuple[str, Path, bool]]:
    """Each file at *top* or below it, by its path, and whether it is `foreign` for where it is."""
    waiting, been = [(top, "", False)], set[tuple[int, int]]()
    while waiting:
        each, before, linked = waiting.pop()
        path = before + text_of(os.fsencode(each.name))
        linked = linked or each.is_symlink()
        if leads_to_itself(each):
            continue  # as a link that leads nowhere: there is nothing that could act
        if each.is_file():
            yield path, Path(each.path), linked
        elif each.is_dir() and (status := _status(each)):
            if (status.st_dev, status.st_ino) in been:
                continue  # a link may lead to what is above it
            been.add((status.st_dev, status.st_ino))
            inside = _entries(each)
            git = {inner.name for inner in inside if folded(inner.name) == REPOSITORY}
            waiting += [
                (inner, f"{path}/", linked or (bool(git) and inner.name not in git))
                for inner in inside
            ]


def _is_filled(each: os.DirEntry[str]) -> bool:
    if leads_to_itself(each):
        return False
    if each.is_dir():
        return bool(_entries(each))
    # A reader leaves an empty log.db-wal.
    return each.is_file() and (status := _status(each)) is not None and status.st_size > 0


def _status(each: os.DirEntry[str]) -> os.stat_result | None:
    """What the file is now; None if it vanished since the folder was listed."""
    try:
        return each.stat()
    except FileNotFoundError:
        return None


def _seen(path: str, place: Path, *, linked: bool) -> Seen:
    with place.open("rb") as file:
        status = os.fstat(file.fileno())
        if status.st_size > LARGEST_BYTES:
            raise TrustStoreError(str(place), _TOO_LARGE)
        data = file.read(LARGEST_BYTES)
    lead = SILENT if path == CONFIG and _sets_nothing(data) else ""
    return Seen(
        lead + hashlib.sha256(data).hexdigest(),
        _objects_of(len(data), [data]),
        foreign=linked
        or status.st_uid not in (os.geteuid(), 0)
        or bool(status.st_mode & stat.S_IWOTH),
    )


def _seen_link(entry: os.DirEntry[str]) -> Seen:
    target = os.fsencode(os.readlink(entry.path))  # noqa: PTH115  # bytes that may be no text
    return Seen(
        hashlib.sha256(target).hexdigest(), _objects_of(len(target), [target]), foreign=True
    )


def objects_of(place: Path) -> tuple[str, ...]:
    """What git would call the file at *place*; empty if there is none."""
    try:
        with place.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            return _objects_of(size, iter(lambda: file.read(CHUNK_BYTES), b""))
    except OSError:
        return ()


def _objects_of(size: int, chunks: Iterable[bytes]) -> tuple[str, ...]:
    by_format = (hashlib.sha1(usedforsecurity=False), hashlib.sha256())
    for chunk in (b"blob %d\0" % size, *chunks):
        for each in by_format:
            each.update(chunk)
    return tuple(each.hexdigest() for each in by_format)


def _sets_nothing(data: bytes) -> bool:
    """Whether a config.toml lets nothing act, as in a new home."""
    try:
        return tomllib.loads(data.decode()).keys() <= INERT_KEYS
    except (UnicodeDecodeError, tomllib.TOMLDecodeError):
        return False


def _content_of(place: Path) -> str:
    whole = hashlib.sha256()
    with place.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            whole.update(chunk)
    return whole.hexdigest()


def _unreadable(home: Path, error: OSError) -> TrustStoreError:
    why = error.strerror or str(error)
    return TrustStoreError(
        str(error.filename or home), f"cannot be looked at: {why}; check its owner and mode"
    )
