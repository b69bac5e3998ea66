"""Where two logs part: the first position with another leaf hash; and two moments of one log.

The logs store the leaf hashes of their trees in tiles. The hashes above them are made from these on
demand, which takes longer than comparing the tiles. So the tiles are compared, a page at a time,
and a binary search finds the position within the first page that differs.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol

from cortex.bus import Log, Recorded, decode
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Home
from cortex.runtime.log import EventLog, MemoryLog
from cortex.runtime.subjects import PersonalLog, SubjectKeys

from .sides import HistoryDiff, side_of
from .state import changes_of, state_of

PAGE: Final = 16 * 256  # leaf hashes: sixteen tiles
HASH_BYTES: Final = 32
READ: Final = 1_024  # records of a page
READ_BYTES: Final = 4 << 20
FOLDER: Final = ".cortex"


class Leaves(Protocol):
    """The part of a log that says where it parts from another."""

    def leaf_hashes(self, first: int, last: int) -> bytes:
        """RFC 6962 leaf hashes of positions *first* to *last*, both included."""
        ...


@contextmanager
def opened_log(path: Path) -> Iterator[Log]:
    """The log at *path*, for reading: a log file, a home, or a folder with a home.

    Raises:
        HomeError: The folder is no home.
        LogError: The log is not there, or cannot be read.
    """
    if path.is_dir():
        home = Home((path / FOLDER if (path / FOLDER).is_dir() else path).absolute())
        home.check()
        path = home.log_path
    log = EventLog.open(path, readonly=True)
    try:
        yield PersonalLog(log, SubjectKeys.of_home(path.parent))
    finally:
        log.close()


def diff_logs(a: Log, b: Log, names: tuple[str, str]) -> HistoryDiff:
    """Where the logs *a* and *b* part, and what each has from there.

    Raises:
        LogError: One of them cannot be read.
    """
    heads = a.state().head, b.state().head
    common = first_difference(a, b, min(heads)) - 1
    parted = None if heads == (common, common) else common + 1
    sides = [
        side_of(name, head, records_after(log, common, head))
        for name, head, log in zip(names, heads, (a, b), strict=True)
    ]
    return HistoryDiff(kind="logs", common=common, parted=parted, a=sides[0], b=sides[1])


def first_difference(a: Leaves, b: Leaves, through: int) -> int:
    """The first position up to *through* with another leaf hash; *through* + 1 if there is none."""
    for first in range(1, through + 1, PAGE):
        last = min(first + PAGE - 1, through)
        ours, theirs = a.leaf_hashes(first, last), b.leaf_hashes(first, last)
        if ours != theirs:
            return first + _first_other(ours, theirs)
    return through + 1


def records_after(log: Log, after: int, through: int) -> Iterator[Recorded]:
    """The records of *log* behind position *after*, up to *through*."""
    while after < through:
        page = log.read(after, min(READ, through - after), READ_BYTES)
        if not page:
            return
        yield from map(decode, page)
        after += len(page)


def _first_other(ours: bytes, theirs: bytes) -> int:
    """Which hash is the first that differs, from 0: equal beginnings are searched by halves."""
    low, high = 0, len(ours) // HASH_BYTES - 1
    while low < high:
        middle = (low + high) // 2
        end = (middle + 1) * HASH_BYTES
        if ours[:end] == theirs[:end]:
            low = middle + 1
        else:
            high = middle
    return low


def diff_moments(home: Home, a: int, b: int) -> HistoryDiff:
    """What *home* has at position *b* and had not at position *a*; or the other way round.

    One history is the beginning of the other, so they diverge where the shorter one ends.

    Raises:
        CortexError: The log cannot be read.
    """
    with History.open(home.at(a)) as first, History.open(home.at(b)) as second:
        common = min(a, b)
        sides = [
            side_of(f"position {at:,}", at, records_after(_log(history), common, at))
            for history, at in ((first, a), (second, b))
        ]
        return HistoryDiff(
            kind="moments",
            common=common,
            parted=None if a == b else common + 1,
            a=sides[0],
            b=sides[1],
            state=changes_of(state_of(first), state_of(second)),
        )


def _log(history: History) -> Log:
    return history.log if history.log is not None else MemoryLog()
