"""All the knowledge of a home: its store, kept at what stands in the files, and its finder."""

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

import msgspec

from ..settings import KnowledgeConfig
from ..topics import Root
from .embedders import Embedder, EndpointEmbedder, HashingEmbedder, LocalEmbedder
from .finder import FOUND, Finder, Found
from .indexing import Indexed, Keep, index
from .store import KnowledgeStore

FILE: Final = "vectors/knowledge.db"  # in a home; the folder may be deleted at any time
EMBEDDED_AT_ONCE: Final = 2_000  # chunks, while somebody waits for an answer


class Statistics(msgspec.Struct, frozen=True, kw_only=True):
    """What a store holds."""

    path: str
    files: int
    chunks: int
    text_bytes: int
    vectors: int
    embedder: str  # "" where none is set
    by_scope: dict[str, int]  # files
    notes: tuple[str, ...]  # one line a file that is not, or not fully, indexed


class Knowledge:
    """What `open` opened; threads may share it."""

    def __init__(self, store: KnowledgeStore, roots: Sequence[Root], finder: Finder) -> None:
        self._store, self._roots, self._finder = store, tuple(roots), finder
        self._lock = threading.Lock()

    @classmethod
    def open(cls, home: Path, roots: Sequence[Root], config: KnowledgeConfig) -> Self:
        """The knowledge of the home at *home*, which stands under *roots*.

        Raises:
            KnowledgeDiskError: The store's file cannot be made or read.
            EmbedderError: The embedder that *config* names is not there.
        """
        embedder = embedder_of(config)
        store = KnowledgeStore.open(home / FILE)
        return cls(store, roots, Finder(store, embedder))

    def close(self) -> None:
        """Let the store's file go."""
        with self._lock:
            self._store.close()

    def update(self, *, keep: Keep | None = None, vectors: int | None = None) -> Indexed:
        """Bring the store to what stands in the files, then make vectors, at most *vectors*.

        Raises:
            KnowledgeDiskError: The disk did not take it.
            EmbedderError: The embedder does not answer; what was indexed is found by its words.
        """
        with self._lock:
            indexed = index(self._store, self._roots, keep=keep, now_ns=time.time_ns())
            self._finder.embed(vectors)
            return indexed

    def find(self, question: str, limit: int = FOUND, *, under: Sequence[str] = ()) -> Found:
        """As `Finder.find`, on what was indexed last."""
        with self._lock:
            return self._finder.find(question, limit, under=under)

    def statistics(self) -> Statistics:
        """What the store holds."""
        with self._lock:
            files = self._store.files()
            by_scope: dict[str, int] = {}
            for file in files:
                by_scope[file.scope] = by_scope.get(file.scope, 0) + 1
            return Statistics(
                path=str(self._store.path),
                files=len(files),
                chunks=sum(file.chunks for file in files),
                text_bytes=self._store.text_bytes(),
                vectors=self._finder.vectors,
                embedder=self._finder.embedder,
                by_scope=by_scope,
                notes=tuple(file.note for file in files if file.note),
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
        case _:
            return HashingEmbedder()
