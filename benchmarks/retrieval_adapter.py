"""Adapters of the knowledge store for the evaluation scripts of CORTEX_EVAL.

`index(docs)` writes each group of documents as one file of the store, `rank(query)` asks its finder
for the order of all documents, and `score(query)` how certain it is that the store answers. `Said`
adds `compile(query, budget)`: what `find:`, `find_knowledge` and `cortex knowledge find` give for
so many tokens, by the same functions and defaults, each date once above what was said then.
"""

import importlib
import os
import re
import tempfile
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from cortex.runtime.retrieval import (
    WEIGHTS,
    ChunkEntry,
    Embedder,
    Finder,
    HashingEmbedder,
    LocalEmbedder,
    NewFile,
    PassageStore,
    StaticEmbedder,
    Weights,
    by_file,
    packed,
    written,
)

SPEAKER = re.compile(r"([A-Z][\w .'-]{0,30}): ")
EVAL = Path(os.environ.get("CORTEX_EVAL", "../shared/eval"))


class Compiled(NamedTuple):
    """What the scripts take from `compile`."""

    text: str
    doc_ids: list[str]


class Words:
    """Words, neighbours, speakers and links; no embedder."""

    name = "words"

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="cortex-retrieval-")

    def embedder(self) -> Embedder | None:
        """The embedder that is measured."""
        return None

    def index(self, docs: Sequence[Any]) -> None:
        """Store *docs*: their ids in the store are their places, from 1."""
        self.docs = docs
        store = PassageStore.open(Path(self._folder.name) / "knowledge.db")
        files = [
            _file(group, list(members))
            for group, members in groupby(docs, key=lambda doc: str(doc.group))
        ]
        with store.writing():
            store.put(files)
        self._store = store
        self.weigh(WEIGHTS)
        self.finder.embed()

    def weigh(self, weights: Weights) -> None:
        """Rank by these *weights* from now on."""
        self.finder = Finder(self._store, self.embedder(), weights)

    def rank(self, query: str) -> list[int]:
        """Places of all documents, best first."""
        ranking, _ = self.finder.rank(query)
        found = [chunk_id - 1 for chunk_id in ranking.ids.tolist()]
        return [*found, *sorted(set(range(len(self.docs))).difference(found))]

    def score(self, query: str) -> float:
        """How certain it is that the store answers."""
        return self.finder.rank(query)[0].certainty


class Static(Words):
    """With the table of the extra `static`."""

    name = "static"

    def embedder(self) -> Embedder:
        """One vector a part of a word."""
        return StaticEmbedder()


class Hashing(Words):
    """With hashed parts of words."""

    name = "hashing"

    def embedder(self) -> Embedder:
        """Hashed parts of words."""
        return HashingEmbedder()


class Local(Words):
    """With MiniLM under onnxruntime."""

    name = "minilm"
    _one: Embedder | None = None

    def embedder(self) -> Embedder:
        """The model of CORTEX_EVAL."""
        if Local._one is None:
            tokenizer = next((EVAL / "emb").rglob("tokenizer.json"))
            Local._one = LocalEmbedder(EVAL / "emb", tokenizer)
        return Local._one


class _Compiling(Words):
    def compile(self, query: str, budget: int) -> Compiled:
        """The passages that fit *budget* tokens."""
        count = importlib.import_module("eval_locomo").ntok  # the scripts' own
        found = self.finder.find(query, tokens=None).passages
        taken = packed(found, budget, count)
        text = "".join(map(written, by_file(taken)))
        return Compiled(text, [self.docs[passage.chunk - 1].id for passage in taken])


class WordsSaid(_Compiling, Words):
    """No embedder, as a prompt shows it."""

    name = "words, shown"


class HashingSaid(_Compiling, Hashing):
    """Hashed parts of words, as a prompt shows it."""

    name = "hashing, shown"


class StaticSaid(_Compiling, Static):
    """The table, as a prompt shows it."""

    name = "static, shown"


class LocalSaid(_Compiling, Local):
    """MiniLM, as a prompt shows it."""

    name = "minilm, shown"


def _file(group: str, members: list[Any]) -> NewFile:
    entries: list[ChunkEntry] = []
    for line, doc in enumerate(members, 1):
        # A passage of an encyclopedia stands alone under its title; a turn beside other turns.
        title, _, text = doc.text.partition("\n") if doc.id == doc.group else ("", "", doc.text)
        speaker = SPEAKER.match(doc.text) if not title else None
        # As a transcript is cut: the date above its turns is the title that they stand under.
        heading = title or doc.meta.get("date", "")
        entries.append(ChunkEntry(heading, line, text or title, speaker[1] if speaker else ""))
    return NewFile(
        root="eval",
        path=group,
        topic="",
        scope="home",
        digest="",
        size_bytes=0,
        changed_ns=0,
        entries=entries,
    )
