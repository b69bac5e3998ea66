"""Walk a folder: what is in it and below it, by name; what is left out is an option.

One walker for the files of knowledge, of processes, of a checkout and of triggers: links lead
nowhere or, where they are followed, to places inside the folder only, unless those outside count,
too; to each folder once and never back up.
"""

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import Final, NamedTuple, TypeAlias

Entry: TypeAlias = os.DirEntry[str]
Parts: TypeAlias = tuple[str, ...]  # names of the folders from the top, which is not among them
# Something in a folder, the names above it, and whether it is a folder, or a link to one. A folder
# comes before what is in it.
Visited: TypeAlias = tuple[Entry, Parts, bool]
Identity: TypeAlias = tuple[int, int]  # of a folder: its device and inode

DEEPEST: Final = 32  # folders below each other, where links are followed


class _Folder(NamedTuple):
    """A folder on the way to what is looked at now."""

    entries: Iterator[Entry]
    parts: Parts
    above: tuple[Identity, ...]  # it, and the folders on the way to it; where links are followed
    linked: bool  # whether the way leads through a link


def listed(folder: str) -> list[Entry]:
    """What is in *folder*, by name.

    Raises:
        OSError: It cannot be looked at.
    """
    with os.scandir(folder) as entries:
        return sorted(entries, key=attrgetter("name"))


class Walk:
    """What is below *top*, each time it is iterated over.

    Args:
        top: The folder; nothing comes where it is not there.
        counts: Whether an entry is looked at at all, by its name.
        enters: Whether a folder is entered.
        follows: Whether links are followed. Else a link comes as an entry, and that is all.
        outside: Whether those are followed, too, that lead out of the folder.
        deepest: How many folders below each other are entered, where links are followed.
        failed: Is given what cannot be looked at, by path, and why. Else nobody hears of it.
        entries: What is in a folder, where somebody remembers it; raises OSError.
    """

    def __init__(
        self,
        top: str,
        *,
        counts: Callable[[str], bool] = lambda _: True,
        enters: Callable[[Entry, Parts], bool] = lambda *_: True,
        follows: bool = False,
        outside: bool = False,
        deepest: int = DEEPEST,
        failed: Callable[[str, Parts, OSError], None] | None = None,
        entries: Callable[[str], Iterable[Entry]] = listed,
    ) -> None:
        self._top, self._counts, self._enters, self._follows = top, counts, enters, follows
        self._within, self._deepest = not outside, deepest
        self._failed, self._entries = failed, entries
        self._real = os.path.realpath(top)

    def __iter__(self) -> Iterator[Visited]:
        """Every entry that counts."""
        counts, enters, follows = self._counts, self._enters, self._follows
        linked: set[Identity] = set()  # folders that were reached through a link
        way = [*self._topmost()]
        while way:
            folder = way[-1]
            for entry in folder.entries:
                if not counts(entry.name):
                    continue
                link = entry.is_symlink()
                if link and follows and self._within and not is_inside(entry.path, self._real):
                    continue
                is_folder = _is_folder(entry)
                yield entry, folder.parts, is_folder
                if is_folder and (follows or not link) and enters(entry, folder.parts):
                    way += self._inner(entry, folder, linked)
                    break
            else:
                way.pop()

    def _topmost(self) -> Iterator[_Folder]:
        try:
            above = (identity_of(os.stat(self._top)),) if self._follows else ()  # noqa: PTH116  # no Path is made here
        except OSError as error:
            self._tell(self._top, (), error)
        else:
            yield from self._opened(self._top, (), above, linked=False)

    def _inner(self, entry: Entry, outer: _Folder, linked: set[Identity]) -> Iterator[_Folder]:
        parts = (*outer.parts, entry.name)
        if not self._follows:
            yield from self._opened(entry.path, parts, (), linked=False)
            return
        through = outer.linked or entry.is_symlink()
        try:
            identity = identity_of(entry.stat())
        except OSError as error:
            self._tell(entry.path, outer.parts, error)
            return
        # Two links to each other's folders would be followed twice, four times, eight times.
        again = identity in outer.above or (through and identity in linked)
        if not again and len(outer.parts) < self._deepest:
            if through:
                linked.add(identity)
            yield from self._opened(entry.path, parts, (*outer.above, identity), linked=through)

    def _opened(
        self, path: str, parts: Parts, above: tuple[Identity, ...], *, linked: bool
    ) -> Iterator[_Folder]:
        try:
            yield _Folder(iter(self._entries(path)), parts, above, linked)
        except OSError as error:
            self._tell(path, parts, error)

    def _tell(self, path: str, parts: Parts, error: OSError) -> None:
        if self._failed is not None:
            self._failed(path, parts, error)


def _is_folder(entry: Entry) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself: whoever reads it is told
        return False


def leads_to_itself(entry: Entry) -> bool:
    """Whether *entry* is a symbolic link that leads, by whatever way, to itself."""
    try:
        entry.is_file()
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def is_inside(path: str, real_top: str) -> bool:
    """Whether *path* is below *real_top*, the real path of a folder, wherever links lead."""
    return os.path.commonpath((os.path.realpath(path), real_top)) == real_top


def identity_of(status: os.stat_result) -> Identity:
    """What tells a folder from every other, whatever path leads to it."""
    return status.st_dev, status.st_ino
