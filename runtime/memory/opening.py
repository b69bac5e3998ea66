"""Opens the store and the index of a home's memory for a read, which fails on no disk.

Both are made from the log, so that a read may make them in a folder that passes: where the home may
not be written, is not trusted, or its disk takes nothing. One warning says the last.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import TYPE_CHECKING, Final, NamedTuple

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


class OpenedStore(NamedTuple):
    """A store at the end of the log."""

    store: MemoryStore
    folder: Path | None  # for the index; None for one that passes


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
            return OpenedStore(_advanced(home.path, source), home.path)
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
    home: Home, folder: Path | None, view: MemoryView, stack: ExitStack
) -> OpenedFinder:
    """A finder that is closed with *stack*; its index is in *folder*, or in one that passes.

    By words alone if the index passes.

    Raises:
        RetrievalError: No folder can be written.
    """
    # Not above: numpy and faiss take their time to load.
    from cortex.runtime.knowledge import embedder_of
    from cortex.runtime.retrieval import StoreDiskError

    failed: StoreDiskError | None = None
    if folder is not None:
        embedder = embedder_of(Config.load(home).knowledge)
        try:
            return _updated(folder, embedder, view, stack)
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
