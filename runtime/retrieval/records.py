"""Finds records of the log, such as processes and executions, by their descriptions.

The same store, embedder and score as for passages, in a file of their own, which may be deleted at
any time. A record is a file of one chunk to the store: its name is the title, its key the path.
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

from .embedders import Embedder
from .errors import EmbedderError
from .finder import Finder, SearchResult
from .store import Entry, NewFile, PassageStore

FOLDER: Final = "vectors"  # in a home
TOGETHER: Final = 500  # records in one transaction
LONGEST_CHARS: Final = 8_000  # of a description; longer ones add no meaning


class RecordText(NamedTuple):
    """Something of the log, and what is said about it."""

    key: str  # by which it is known
    stamp: str  # equal as long as nothing more is to be said about it
    name: str
    text: str


class RecordFinder:
    """Finds records of one kind; a context manager, for one thread."""

    def __init__(self, store: PassageStore, finder: Finder) -> None:
        self._store, self._finder = store, finder

    @classmethod
    def open(cls, home: Path, kind: str, embedder: Embedder | None) -> Self:
        """The records of *kind* ("processes") in the home at *home*.

        Raises:
            StoreDiskError: The store's file cannot be made or read.
        """
        store = PassageStore.open(home / FOLDER / f"{kind}.db")
        return cls(store, Finder(store, embedder))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._store.close()

    def stamps(self) -> dict[str, str]:
        """The stamp of every record that is in, by key."""
        return {file.path: file.digest for file in self._store.files()}

    def update(self, fresh: Iterable[RecordText], gone: Sequence[str] = ()) -> tuple[str, ...]:
        """Put *fresh* in, each in the place of what had its key, and take out *gone*.

        In the order given: what is killed half-way holds the first ones, each of them whole.

        Returns:
            What was not as it should be: without an embedder, records are found by their words.

        Raises:
            StoreDiskError: The disk did not take it.
        """
        for start in range(0, len(gone), TOGETHER):
            with self._store.writing():
                for key in gone[start : start + TOGETHER]:
                    self._store.remove(key)
        files = map(_file, fresh)
        while part := list(islice(files, TOGETHER)):
            with self._store.writing():
                self._store.put(part)
        try:
            self._finder.embed()
        except EmbedderError as error:
            return (f"found by words alone: {error}",)
        return ()

    def find(self, question: str, limit: int) -> SearchResult:
        """The records that have most to do with *question*; `path` of a passage is the key."""
        return self._finder.find(question, limit, tokens=None)


def _file(record: RecordText) -> NewFile:
    text = record.text[:LONGEST_CHARS]
    return NewFile(
        root="",
        path=record.key,
        topic="",
        scope="",
        digest=record.stamp,
        size_bytes=0,
        changed_ns=0,
        entries=[Entry(record.name, 1, text, "")],
        bytes=len(text.encode()),
    )
