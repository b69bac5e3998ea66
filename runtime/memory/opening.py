"""Opens the store and the index of a home's memory for a read, which fails on no disk.

Both are made from the log, so that a read may make them in a folder that passes: where the home may
not be written, is not trusted, or its disk takes nothing. One warning says the last.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from cortex.bus import Logger
from cortex.runtime.access.trust import UntrustedHomeError
from cortex.runtime.kernel import Config, Home
from cortex.runtime.log import MemoryLog
from cortex.runtime.projections import HomeLog

from .errors import MemoryStoreError
from .store import MemoryStore
from .view import MemoryView

if TYPE_CHECKING:
    from cortex.runtime.retrieval import Embedder, StoreDiskError

    from .finding import MemoryFinder

# A folder that needs no disk, on Linux.
MAIN_MEMORY: Final = Path("/dev/shm")  # noqa: S108  # the folder that is made in it is our own
NOWHERE: Final = "no folder can be written that passes: free some space in the one for such files"

log = Logger("cortex.memory")


class IndexFolder(NamedTuple):
    """The folder of the index, for as long as the store that it is made from stands there.

    An erasure removes both. Who had the store open still reads what was erased, and must not write
    it into a new index.
    """

    folder: Path
    store: Path
    file: tuple[int, int]  # device and inode of the store; no other file has them while it is open

    @classmethod
    def beside(cls, store: MemoryStore) -> Self:
        """The one for *store*, in its folder."""
        return cls(store.path.parent, store.path, _file(store.path))

    def is_valid(self) -> bool:
        """Whether the store was not removed."""
        return _file(self.store) == self.file

    def remove(self) -> None:
        """Remove the index; the next read makes it again."""
        for path in (self.folder / "vectors").glob("memory.*"):
            path.unlink(missing_ok=True)


class OpenedStore(NamedTuple):
    """A store at the end of the log."""

    store: MemoryStore
    place: IndexFolder | None  # of the index; None for one that passes


class OpenedFinder(NamedTuple):
    """A finder at the position of the view."""

    finder: "MemoryFinder"
    notes: tuple[str, ...]


def opened_store(home: Home, source: HomeLog, stack: ExitStack) -> OpenedStore:
    """The store of *home*, or one in a folder that is removed with *stack*.

    Raises:
        MemoryStoreError: No folder can be written, or a record cannot be read.
    """
    failed: MemoryStoreError | None = None
    if is_usable(home):
        try:
            store = _advanced(home.path, source)
            return OpenedStore(store, IndexFolder.beside(store))
        except MemoryStoreError as error:
            failed = error
            _warn(error)
    for folder in _passing(stack):
        try:
            return OpenedStore(_advanced(folder, source), None)
        except MemoryStoreError as error:
            failed = error
    raise failed or MemoryStoreError(str(home.path), NOWHERE)


def opened_finder(
    home: Home, index: IndexFolder | None, view: MemoryView, stack: ExitStack
) -> OpenedFinder:
    """A finder that is closed with *stack*; its index is in its folder, or in one that passes.

    By words alone if the index passes.

    Raises:
        RetrievalError: No folder can be written.
    """
    # Not above: numpy and faiss take their time to load.
    from cortex.runtime.knowledge import embedder_of
    from cortex.runtime.retrieval import StoreDiskError

    failed: StoreDiskError | None = None
    if index is not None and index.is_valid():
        embedder = embedder_of(Config.load(home).knowledge)
        try:
            with ExitStack() as opened:
                found = _updated(index.folder, embedder, view, opened)
                if index.is_valid():
                    stack.push(opened.pop_all())
                    return found
            index.remove()  # there was an erasure meanwhile
        except StoreDiskError as error:
            failed = error
            _warn(error)
    for passing in _passing(stack):
        try:
            return _updated(passing, None, view, stack)
        except StoreDiskError as error:
            failed = error
    raise failed or StoreDiskError(str(home.path), NOWHERE)


def is_usable(home: Home) -> bool:
    """Whether the store in *home* may be used: nobody else made it, and it can be written."""
    try:
        home.require_trust()
    except UntrustedHomeError:
        return False
    return os.access(home.path, os.W_OK)


def _file(path: Path) -> tuple[int, int]:
    """Device and inode of a file; zeros if it is not there."""
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_dev, status.st_ino


def _advanced(folder: Path, source: HomeLog) -> MemoryStore:
    store = MemoryStore(folder, source.log or MemoryLog(), source.stream, source.vocabulary)
    store.advance()
    return store


def _updated(
    folder: Path, embedder: "Embedder | None", view: MemoryView, stack: ExitStack
) -> OpenedFinder:
    from cortex.runtime.retrieval import StoreDiskError

    from .finding import MemoryFinder

    with ExitStack() as opened:
        try:
            finder = MemoryFinder.open(folder, embedder)
            opened.callback(finder.close)
            notes = finder.update(view)
        except OSError as error:  # no folder can be made
            raise StoreDiskError(str(folder), str(error)) from error
        stack.push(opened.pop_all())
    return OpenedFinder(finder, notes)


def _passing(stack: ExitStack) -> Iterator[Path]:
    """Folders that are removed with *stack*, as long as none is good enough."""
    for root in dict.fromkeys((Path(gettempdir()), MAIN_MEMORY)):
        with suppress(OSError):
            passing = TemporaryDirectory(prefix="cortex-", dir=root)
            yield Path(stack.enter_context(passing))


def _warn(error: "MemoryStoreError | StoreDiskError") -> None:
    log.warning("memory_not_written", error=error.problem, instead="memory is made from the log")
