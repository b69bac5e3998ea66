"""The memory of a home for components: opened by the first query, brought up to date by each."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from cortex.bus import Log, Recorded, Vocabulary
from cortex.runtime.kernel import Config, Home
from cortex.runtime.log import EventLog
from cortex.runtime.memory import MemoryStore
from cortex.runtime.subjects import PersonalLog, SubjectKeys

if TYPE_CHECKING:
    from cortex.runtime.memory import MemoryFinder, MemoryResult, MemoryView

LONGEST_TEXT = 1_000  # characters of a question


class OpenedMemory:
    """The store of *home*, or one in a folder that passes; thread-safe.

    Nothing is opened or loaded before the first query.
    """

    def __init__(
        self,
        home: Home | None,
        config: Config,
        history: Callable[[str], Iterable[Recorded]],
        vocabulary: Vocabulary,
        log: Log | None = None,
    ) -> None:
        self._home, self._config = home, config
        self._history, self._vocabulary = history, vocabulary
        self._log, self._opened_log = log, log is None
        self._passing: TemporaryDirectory[str] | None = None
        self._store: MemoryStore | None = None
        self._finder: MemoryFinder | None = None
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close what is open."""
        with self._lock:
            if self._finder is not None:
                self._finder.close()
                self._finder = None
            if self._opened_log and self._log is not None:
                self._log.close()
                self._log = None
            if self._passing is not None:
                self._passing.cleanup()
                self._passing = None
            self._store = None

    @contextmanager
    def view(self, at: int | None = None) -> "Iterator[MemoryView]":
        """Memory at the end of the log, or at position *at*.

        Raises:
            MemoryStoreError: The store cannot be used.
        """
        with self._lock:
            store = self._opened()
            store.advance()
            with store.view(at) as view:
                yield view

    def find(
        self,
        texts: Sequence[str],
        scopes: Sequence[str],
        *,
        history: bool,
        limit: int,
        asked_ns: int,
        thorough: bool = True,
        subject: str | None = None,
    ) -> "list[MemoryResult]":
        """What fits each text best, at one position of the log.

        *asked_ns* is when it is asked, UTC nanoseconds: "last week" is the week before. See
        `MemoryFinder.find` for *thorough* and *subject*.

        Raises:
            MemoryStoreError: The store cannot be used.
            RetrievalError: The index cannot be used.
        """
        with self.view() as view:
            finder = self._opened_finder()
            notes = finder.update(view)
            found = [
                finder.find(
                    text[:LONGEST_TEXT],
                    view,
                    scopes,
                    history=history,
                    limit=limit,
                    asked_ns=asked_ns,
                    thorough=thorough,
                    subject=subject,
                )
                for text in texts
            ]
        from msgspec.structs import replace

        return [replace(each, notes=(*each.notes, *notes)) for each in found]

    def _folder(self) -> Path:
        if self._home is not None:
            return self._home.path
        if self._passing is None:
            self._passing = TemporaryDirectory(prefix="cortex-")
        return Path(self._passing.name)

    def _opened(self) -> MemoryStore:
        if self._store is None:
            if self._log is None and self._home is not None:
                opened = EventLog.open(self._home.log_path, readonly=True)
                self._log = PersonalLog(opened, SubjectKeys.of_home(self._home.path))
            if self._log is None:
                raise RuntimeError("memory needs a home or a log")
            self._store = MemoryStore(self._folder(), self._log, self._history, self._vocabulary)
        return self._store

    def _opened_finder(self) -> "MemoryFinder":
        if self._finder is None:
            # Not above: numpy and faiss take their time to load.
            from cortex.runtime.knowledge import embedder_of
            from cortex.runtime.memory import MemoryFinder

            self._finder = MemoryFinder.open(self._folder(), embedder_of(self._config.knowledge))
        return self._finder
