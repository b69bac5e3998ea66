"""Adapters of the knowledge store for the evaluation scripts of CORTEX_EVAL.

`index(docs)` writes each group of documents as one file of the store and `rank(query)` asks its
finder. `Said` adds `compile(query, budget)`: the passages as a prompt shows them, the turns of a
session under one line with its date, in the order in which they were said.
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
    Embedder,
    Entry,
    Finder,
    HashingEmbedder,
    LocalEmbedder,
    NewFile,
    PassageStore,
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
        self.finder = Finder(store, self.embedder())
        self.finder.embed()

    def rank(self, query: str) -> list[int]:
        """Places of all documents, best first."""
        ranking, _ = self.finder.rank(query)
        found = [chunk_id - 1 for chunk_id in ranking.ids.tolist()]
        return [*found, *sorted(set(range(len(self.docs))).difference(found))]


class Hashing(Words):
    """With the default embedder."""

    name = "default"

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
    def index(self, docs: Sequence[Any]) -> None:
        """As above, and count tokens."""
        super().index(docs)
        ntok = importlib.import_module("eval_locomo").ntok  # the scripts' own count
        self._count = ntok
        self._lines = [f"{doc.text}\n" for doc in docs]
        self._heads = [f"[{doc.meta.get('date', doc.group)}]\n" for doc in docs]
        self._costs = [ntok(line) for line in self._lines]
        self._head_costs = {head: ntok(head) for head in set(self._heads)}

    def compile(self, query: str, budget: int) -> Compiled:
        """The best passages that fit *budget* tokens."""
        taken: list[int] = []
        heads: set[str] = set()
        left = budget
        for place in self.rank(query):
            head = self._heads[place]
            cost = self._costs[place] + (0 if head in heads else self._head_costs[head])
            if cost <= left:
                left -= cost
                heads.add(head)
                taken.append(place)
        while taken and self._count(self._text(taken)) > budget:
            taken.pop()
        return Compiled(self._text(taken), [self.docs[place].id for place in taken])

    def _text(self, taken: list[int]) -> str:
        parts: list[str] = []
        last = ""
        for place in sorted(taken):
            if self._heads[place] != last:
                last = self._heads[place]
                parts.append(last)
            parts.append(self._lines[place])
        return "".join(parts)


class HashingSaid(_Compiling, Hashing):
    """The default embedder, as a prompt shows it."""

    name = "default, shown"


class LocalSaid(_Compiling, Local):
    """MiniLM, as a prompt shows it."""

    name = "minilm, shown"


def _file(group: str, members: list[Any]) -> NewFile:
    entries: list[Entry] = []
    for doc in members:
        # A passage of an encyclopedia stands alone under its title; a turn beside other turns.
        title, _, text = doc.text.partition("\n") if doc.id == doc.group else ("", "", doc.text)
        speaker = SPEAKER.match(doc.text) if not title else None
        # As a transcript is cut: the date above its turns is the title that they stand under.
        heading = title or doc.meta.get("date", "")
        entries.append(Entry(heading, 1, text or title, speaker[1] if speaker else ""))
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
