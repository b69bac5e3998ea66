"""What a memory of statements is compared with: words, vectors, both, each also by date; a library.

All have `index(said)` and `rank(question)`, which gives places of statements, the best first.
"""

import importlib
import json
import subprocess
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
from changing_facts import DAY_NS, Said

from cortex.runtime.retrieval import Embedder

RECENT: Final = 5  # hits, the best, that are sorted by date, the newest first
FOUND: Final = 20
RRF: Final = 60
STOPPED: Final = (
    "a an and are as at be by did do does for from had has have how i in is it its me my of on or "
    "the that this to was we were what when where which who will with you your"
)
# Its own defaults; asked a day after the last statement, and each question as if it were the first.
LANGCHAIN: Final = """
import datetime, json, sys, warnings
warnings.filterwarnings("ignore")
from langchain_classic.retrievers import TimeWeightedVectorStoreRetriever
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore

given = json.load(open(sys.argv[1]))
vectors = {text: vector for text, _, vector in given["said"]}
vectors.update(given["asked"])

class Known(Embeddings):
    def embed_documents(self, texts):
        return [vectors[text] for text in texts]

    def embed_query(self, text):
        return vectors[text]

class Store(InMemoryVectorStore):
    def _select_relevance_score_fn(self):
        return lambda cosine: cosine

now = datetime.datetime.now()
times = [now - datetime.timedelta(seconds=age_s) for _, age_s, _ in given["said"]]
memory = TimeWeightedVectorStoreRetriever(vectorstore=Store(Known()), k=20)
memory.add_documents(
    [
        Document(text, metadata=dict(last_accessed_at=time, created_at=time, at=at))
        for at, ((text, _, _), time) in enumerate(zip(given["said"], times))
    ]
)
ranks = []
for question in given["asked"]:
    ranks.append([found.metadata["at"] for found in memory.invoke(question)])
    for kept, time in zip(memory.memory_stream, times):
        kept.metadata["last_accessed_at"] = time
print(json.dumps(ranks))
"""


class Baseline(Protocol):
    """Ranks statements for a question."""

    name: str

    def index(self, said: Sequence[Said]) -> None:
        """Take *said* in; they are in the order of their dates."""
        ...

    def rank(self, question: str) -> list[int]:
        """Places of statements, the best first."""
        ...


class Words:
    """BM25 of the package `bm25s`, stemmed, question words stopped."""

    name = "BM25 (bm25s)"

    def index(self, said: Sequence[Said]) -> None:
        """Take *said* in."""
        bm25s: Any = importlib.import_module("bm25s")
        stemmer: Any = importlib.import_module("Stemmer").Stemmer("english")
        self._cut: Any = partial(
            bm25s.tokenize,
            stopwords=STOPPED.split(),
            stemmer=stemmer,
            show_progress=False,
            return_ids=False,
        )
        self._index: Any = bm25s.BM25(k1=0.9, b=0.4)
        self._index.index(self._cut([each.text for each in said]), show_progress=False)
        self._count = len(said)

    def rank(self, question: str) -> list[int]:
        """Places of all statements."""
        (words,) = self._cut([question])
        known = [word for word in words if word in self._index.vocab_dict]
        scores = self._index.get_scores(known) if known else np.zeros(self._count)
        return [int(at) for at in np.argsort(-scores, kind="stable")]


class Vectors:
    """The cosine of an embedder's vectors."""

    def __init__(self, embedder: Embedder, name: str) -> None:
        self._embedder, self.name = embedder, f"vectors ({name})"

    def index(self, said: Sequence[Said]) -> None:
        """Take *said* in."""
        self._rows = self._embedder.embed([each.text for each in said])

    def rank(self, question: str) -> list[int]:
        """Places of all statements."""
        cosines = self._rows @ self._embedder.embed([question])[0]
        return [int(at) for at in np.argsort(-cosines, kind="stable")]


class Fused:
    """Reciprocal rank fusion."""

    def __init__(self, *parts: Baseline) -> None:
        self._parts = parts
        self.name = "fusion of the two"

    def index(self, said: Sequence[Said]) -> None:
        """Take *said* in."""
        for part in self._parts:
            part.index(said)

    def rank(self, question: str) -> list[int]:
        """Places of all statements."""
        scores: dict[int, float] = {}
        for part in self._parts:
            for place, at in enumerate(part.rank(question)):
                scores[at] = scores.get(at, 0.0) + 1 / (RRF + 1 + place)
        return sorted(scores, key=lambda at: (-scores[at], at))


class Recent:
    """The best of another one, the newest first."""

    def __init__(self, base: Baseline) -> None:
        self._base = base
        self.name = f"{base.name}, first {RECENT} by date"

    def index(self, said: Sequence[Said]) -> None:
        """Take *said* in."""
        self._base.index(said)

    def rank(self, question: str) -> list[int]:
        """Places of all statements."""
        ranked = self._base.rank(question)
        return [*sorted(ranked[:RECENT], reverse=True), *ranked[RECENT:]]


class TimeWeighted:
    """LangChain's memory by likeness and age, in a Python of its own."""

    name = "LangChain time-weighted"

    def __init__(self, python: str, embedder: Embedder) -> None:
        self._python, self._embedder = python, embedder

    def index(self, said: Sequence[Said]) -> None:
        """Take *said* in."""
        self._said = said

    def ranks(self, questions: Sequence[str]) -> list[list[int]]:
        """Places of its 20 best statements, for each of *questions*."""
        last = self._said[-1].time_ns + DAY_NS
        rows = self._embedder.embed([each.text for each in self._said]).tolist()
        asked = dict(zip(questions, self._embedder.embed(list(questions)).tolist(), strict=True))
        said = [
            (each.text, (last - each.time_ns) / 1e9, row)
            for each, row in zip(self._said, rows, strict=True)
        ]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "given.json"
            path.write_text(json.dumps({"said": said, "asked": asked}))
            command = [self._python, "-c", LANGCHAIN, str(path)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
        found: list[list[int]] = json.loads(done.stdout.splitlines()[-1])
        by_question = dict(zip(asked, found, strict=True))
        return [by_question[question] for question in questions]
