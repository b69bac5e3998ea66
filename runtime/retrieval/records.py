"""Finds records of the log, such as processes and executions, by their descriptions.

The same store, embedder and score as for passages, in a file of their own, which may be deleted at
any time. A record is a file of one chunk to the store: its name is the title, its key the path.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

from .embedders import Embedder
from .errors import EmbedderError, StoreDiskError
from .finder import Finder, SearchResult
from .store import ChunkEntry, NewFile, PassageStore

FOLDER: Final = "vectors"  # in a home
TOGETHER: Final = 500  # records in one transaction
LONGEST_CHARS: Final = 8_000  # of a description; longer ones add no meaning


class RecordPart(NamedTuple):
    """One piece of a record: what stands beside it counts with it."""

    line: int  # its place in the record, counted from 1
    text: str
    speaker: str = ""


class RecordText(NamedTuple):
    """Something of the log, and what is said about it."""

    key: str  # by which it is known
    stamp: str  # equal as long as nothing more is to be said about it
    name: str
    text: str
    topic: str = ""  # by which a search is narrowed, as by the topic of a file
    parts: tuple[RecordPart, ...] = ()  # in place of its text


class RecordFinder:
    """Finds records of one kind; a context manager, for one thread."""

    def __init__(self, store: PassageStore, embedder: Embedder | None) -> None:
        self._store, self._embedder = store, embedder
        self._finder = Finder(store, embedder)

    @classmethod
    def open(cls, home: Path, kind: str, embedder: Embedder | None) -> Self:
        """The records of *kind* ("processes") in the home at *home*.

        Raises:
            StoreDiskError: The store's file cannot be made or read.
        """
        store = PassageStore.open(home / FOLDER / f"{kind}.db")
        try:
            with store.using():
                return cls(store, embedder)
        except StoreDiskError:
            if not store.damaged:
                raise
            return cls(store.renewed(), embedder)

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
        """The stamp of every record that is in, by key.

        Raises:
            StoreDiskError: The store cannot be read.
        """
        with self._using():
            return {file.path: file.digest for file in self._store.files()}

    def update(self, fresh: Iterable[RecordText], gone: Sequence[str] = ()) -> tuple[str, ...]:
        """Put *fresh* in, each in the place of what had its key, and take out *gone*.

        In the order given: what is killed half-way holds the first ones, each of them whole.

        Returns:
            What was not as it should be: without an embedder, records are found by their words.

        Raises:
            StoreDiskError: The disk did not take it.
        """
        with self._using():
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

    def find(
        self,
        question: str,
        limit: int,
        under: Sequence[str] = (),
        asker: str = "",
        *,
        texts: bool = True,
    ) -> SearchResult:
        """The records that have most to do with *question*; `path` of a passage is the key.

        Only those with one of the topics of *under*, if there are any. *asker* is the speaker whom
        "I" and "my" mean. *texts* says whether to read their texts, too.

        Raises:
            StoreDiskError: The store cannot be read.
        """
        with self._using():
            return self._finder.find(
                question, limit, under=under, tokens=None, asker=asker, texts=texts
            )

    @contextmanager
    def _using(self) -> Iterator[None]:
        """Any use of the store; one that proves damaged is empty for the next use."""
        try:
            with self._store.using():
                yield
        except StoreDiskError:
            if self._store.damaged:
                self._store = self._store.renewed()
                self._finder = Finder(self._store, self._embedder)
            raise


def _file(record: RecordText) -> NewFile:
    parts = record.parts or (RecordPart(1, record.text),)
    entries = [
        ChunkEntry(record.name, each.line, each.text[:LONGEST_CHARS], each.speaker)
        for each in parts
    ]
    return NewFile(
        root="",
        path=record.key,
        topic=record.topic,
        scope="",
        digest=record.stamp,
        size_bytes=0,
        changed_ns=0,
        entries=entries,
        bytes=sum(len(each.text.encode()) for each in entries),
    )
