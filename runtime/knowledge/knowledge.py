"""All the knowledge of a home: its store, kept at what stands in the files, and its finder."""

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Self, TypeVar

import msgspec

from cortex.runtime.retrieval import (
    MOST_PASSAGES,
    TOKENS,
    Embedder,
    EmbedderError,
    EndpointEmbedder,
    Finder,
    HashingEmbedder,
    LocalEmbedder,
    PassageStore,
    SearchResult,
    StaticEmbedder,
    StoreDiskError,
)

from .indexing import Indexed, Keep, index
from .settings import KnowledgeConfig
from .topics import Root

FILE: Final = "vectors/knowledge.db"  # in a home; the folder may be deleted at any time
EMBEDDED_AT_ONCE: Final = 2_000  # chunks, while somebody waits for an answer

Result = TypeVar("Result")


class Statistics(msgspec.Struct, frozen=True, kw_only=True):
    """What a store holds."""

    path: str
    files: int  # that are indexed
    chunks: int
    text_bytes: int
    vectors: int
    embedder: str  # "" where none is set
    by_scope: dict[str, int]  # files
    notes: tuple[str, ...]  # one line a file that is not, or not fully, indexed


class Knowledge:
    """What `open` opened; threads may share it."""

    def __init__(
        self, store: PassageStore, roots: Sequence[Root], embedder: Embedder | None
    ) -> None:
        self._store, self._roots, self._embedder = store, tuple(roots), embedder
        self._finder = Finder(store, embedder)
        self._keep: Keep | None = None
        self._lock = threading.Lock()

    @classmethod
    def open(cls, home: Path, roots: Sequence[Root], config: KnowledgeConfig) -> Self:
        """The knowledge of the home at *home*, which stands under *roots*.

        Raises:
            StoreDiskError: The store's file cannot be made or read.
            EmbedderError: The embedder that *config* names is not there.
        """
        embedder = embedder_of(config)
        store = PassageStore.open(home / FILE)
        try:
            with store.using():
                return cls(store, roots, embedder)
        except StoreDiskError:
            if not store.damaged:
                raise
            return cls(store.renewed(), roots, embedder)

    def close(self) -> None:
        """Let the store's file go."""
        with self._lock:
            self._store.close()

    def update(self, *, keep: Keep | None = None, vectors: int | None = None) -> Indexed:
        """Bring the store to what stands in the files, then make vectors, at most *vectors*.

        Raises:
            StoreDiskError: The disk did not take it.
            EmbedderError: The embedder does not answer; what was indexed is found by its words.
        """
        self._keep = keep or self._keep

        def updated() -> Indexed:
            indexed = self._indexed()
            self._finder.embed(vectors)
            return indexed

        return self._whole(updated)

    def find(
        self,
        question: str,
        limit: int = MOST_PASSAGES,
        *,
        under: Sequence[str] = (),
        tokens: int | None = TOKENS,
    ) -> SearchResult:
        """As `Finder.find`, on what was indexed last.

        Raises:
            StoreDiskError: The store cannot be read.
        """
        return self._whole(
            lambda: self._finder.find(question, limit, under=under, tokens=tokens),
            self._filled_again,
        )

    def _indexed(self) -> Indexed:
        return index(self._store, self._roots, keep=self._keep, now_ns=time.time_ns())

    def _filled_again(self) -> None:
        self._indexed()
        with contextlib.suppress(EmbedderError):  # it is found by words then, and said so
            self._finder.embed(EMBEDDED_AT_ONCE)

    def _whole(
        self, work: Callable[[], Result], prepare: Callable[[], None] = lambda: None
    ) -> Result:
        """What *work* gives; by an empty store, that *prepare* fills, where it proves damaged."""
        with self._lock:
            try:
                with self._store.using():
                    return work()
            except StoreDiskError:
                if not self._store.damaged:
                    raise
            self._store = self._store.renewed()
            with self._store.using():
                self._finder = Finder(self._store, self._embedder)
                prepare()
                return work()

    def topics(self) -> tuple[str, ...]:
        """Every topic that was indexed last, sorted; without those whose file cannot be."""
        with self._lock, self._store.using():
            files = self._store.files()
            return tuple(sorted({file.topic for file in files if file.topic and file.is_indexed}))

    def notes(self) -> tuple[str, ...]:
        """One line a file that is not, or not fully, indexed."""
        with self._lock, self._store.using():
            return tuple(file.note for file in self._store.files() if file.note)

    def statistics(self) -> Statistics:
        """What the store holds."""
        with self._lock, self._store.using():
            scopes = self._store.query(
                """
                select scope, count(*) as files, sum(chunks) as chunks, sum(bytes) as bytes
                from files where chunks or note = '' group by scope order by min(first), min(id)
                """
            )
            vectors, embedder = self._finder.vectors, self._finder.embedder
        return Statistics(
            path=str(self._store.path),
            files=sum(each["files"] for each in scopes),
            chunks=sum(each["chunks"] for each in scopes),
            text_bytes=sum(each["bytes"] for each in scopes),
            vectors=vectors,
            embedder=embedder,
            by_scope={each["scope"]: each["files"] for each in scopes},
            notes=self.notes(),
        )


def embedder_of(config: KnowledgeConfig) -> Embedder | None:
    """The embedder that *config* names; None for `none`.

    Raises:
        EmbedderError: Its model is not where it should be.
    """
    match config.embedder:
        case "none":
            return None
        case "local":
            return LocalEmbedder(Path(config.model).expanduser())
        case "endpoint":
            return EndpointEmbedder(config.base_url, config.model, config.key_env)
        case "static":
            return StaticEmbedder()
        case "hashing":
            return HashingEmbedder()
        case _:
            return StaticEmbedder() if StaticEmbedder.is_installed() else HashingEmbedder()
