"""The knowledge of a home for components: opened by the first query, kept up to date."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from cortex.bus import Event
from cortex.bus.events import KnowledgeIndexed, KnowledgeRemoved
from cortex.runtime.kernel import Config, Home
from cortex.runtime.knowledge import KnowledgeConfig, QuestionTooLargeError, Root, roots_of_home
from cortex.runtime.retrieval import MOST_PASSAGES, TOKENS, EmbedderError, above_and_itself

from .library import library_knowledge

if TYPE_CHECKING:
    from cortex.runtime.knowledge import Indexed, Knowledge
    from cortex.runtime.retrieval import SearchResult

EMBEDDED: Final = 2_000  # maximum of passages while a caller waits for the answer
LONGEST_TEXT: Final = 1_000  # characters of a question
LONGEST_ASKED: Final = 10_000  # characters of an accepted text, of which only the beginning is used
MOST_UNDER: Final = 100  # topics of a question
TOLD_BYTES: Final = 128 << 10  # of the lists in one event; the bus accepts twice as much
LEFT_S: Final = 2.0  # how long a close waits for an abandoned query


Item = TypeVar("Item")


class OpenedKnowledge:
    """The store of *home*, or one in memory without a home; thread-safe.

    Nothing is opened or loaded before the first query: a runtime without queries
    pays nothing.
    """

    def __init__(
        self, home: Home | None, config: Config | None, keep: Callable[[bytes], str]
    ) -> None:
        self.roots = roots_of(home)
        self._home, self._keep = home, keep
        self._config = config.knowledge if config else KnowledgeConfig()
        self._passing: TemporaryDirectory[str] | None = None
        self._knowledge: Knowledge | None = None
        self._lock = threading.Lock()  # a query that takes too long is abandoned, and continues

    def close(self) -> None:
        """Close the store; an abandoned query keeps it open until the process ends."""
        if not self._lock.acquire(timeout=LEFT_S):
            return
        try:
            if self._knowledge is not None:
                self._knowledge.close()
                self._knowledge = None
            if self._passing is not None:
                self._passing.cleanup()
                self._passing = None
        finally:
            self._lock.release()

    def update(self) -> "Indexed":
        """Update the store from the files.

        Raises:
            RetrievalError: The store cannot be read or written.
        """
        with self._lock:
            return self._updated(self._opened())

    def find(
        self,
        texts: Sequence[str],
        limit: int = MOST_PASSAGES,
        under: Sequence[str] = (),
        tokens: int | None = TOKENS,
    ) -> "tuple[Indexed, SearchResult]":
        """Changes in the files, and the most relevant passages for *texts*.

        Raises:
            RetrievalError: The store cannot be read or written; or *under* is over its limit.
        """
        if len(under) > MOST_UNDER:
            raise QuestionTooLargeError(
                f"{len(under):,} topics stand under `under`, a question may have {MOST_UNDER}: "
                "name one above them"
            )
        with self._lock:
            knowledge = self._opened()
            indexed = self._updated(knowledge)
            answers = [
                knowledge.find(text[:LONGEST_TEXT], limit, under=under, tokens=tokens)
                for text in texts
            ]
            topics = knowledge.topics() if under else ()
        notes = (*_notes(texts, under, topics), *(note for each in answers for note in each.notes))
        from cortex.runtime.retrieval import fused

        return indexed, fused(answers, limit, tokens, tuple(dict.fromkeys(notes)))

    def _updated(self, knowledge: "Knowledge") -> "Indexed":
        try:
            return knowledge.update(keep=self._keep, vectors=EMBEDDED)
        except EmbedderError:  # the finder reports it, and searches by words only
            return knowledge.update(keep=self._keep, vectors=0)

    def _opened(self) -> "Knowledge":
        from cortex.runtime.knowledge import Knowledge

        if self._knowledge is None:
            if self._home is None and self._passing is None:
                self._passing = TemporaryDirectory(prefix="cortex-")
            folder = (
                self._home.path if self._home else Path(self._passing.name if self._passing else "")
            )
            self._knowledge = Knowledge.open(folder, self.roots, self._config)
        return self._knowledge


def roots_of(home: Home | None) -> tuple[Root, ...]:
    """The folders of the knowledge of *home* and of the library."""
    own = roots_of_home(home.path) if home else ()
    return (*own, Root(str(library_knowledge()), "library"))


def told(indexed: "Indexed") -> Iterator[Event]:
    """The events of an update, in sizes that the bus accepts; none if nothing changed."""
    for batch in indexed.batches:
        for files in _parted(batch.files):
            yield KnowledgeIndexed(
                blob=batch.blob,
                files=tuple(msgspec.to_builtins(file) for file in files),
                chunks=sum(file.chunks for file in files),
            )
    for paths in _parted(indexed.removed):
        yield KnowledgeRemoved(paths=paths)


def _parted(items: Iterable[Item]) -> Iterator[tuple[Item, ...]]:
    """*items* in order, in groups of at most `TOLD_BYTES` encoded bytes."""
    part: list[Item] = []
    size = 0
    for item in items:
        size += len(msgspec.msgpack.encode(item))
        if part and size > TOLD_BYTES:
            yield tuple(part)
            part, size = [], len(msgspec.msgpack.encode(item))
        part.append(item)
    if part:
        yield tuple(part)


def _notes(texts: Sequence[str], under: Sequence[str], topics: Sequence[str]) -> Iterator[str]:
    for text in texts:
        if len(text) > LONGEST_TEXT:
            yield f"a text of {len(text):,} characters was asked by its first {LONGEST_TEXT:,}"
    standing = {above for topic in topics for above in above_and_itself(topic)}
    for wanted in under:
        if wanted not in standing:
            yield f"there is no knowledge under {wanted}"
