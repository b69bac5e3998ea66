"""Find passages: words, neighbours, meaning, speakers and links in one score."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

import msgspec
import numpy as np

from .embedders import Embedder
from .errors import EmbedderError
from .links import Likeness, Links
from .postings import Ids, Mask, Postings, Values, among
from .ranking import (
    CANDIDATES,
    WEIGHTS,
    Question,
    Weights,
    asked,
    candidates,
    expansion,
    lexical,
    shares,
    spoken,
    unnamed,
)
from .store import PassageStore, StoredChunk, above_and_itself
from .vectors import MEANING, VectorIndex

COMPARED: Final = (
    1_700  # chunks whose vectors are looked at because of their words; above, the best
)
SIMILAR: Final = 300  # chunks that are looked at because of their meaning alone
FOUND: Final = 10
SOFTENED: Final = 0.25  # four deviations from the usual are as much as the best words


class Passage(msgspec.Struct, frozen=True, kw_only=True):
    """A chunk that was found."""

    chunk: int  # its id in the store
    topic: str  # "" where the name of its file cannot be one
    path: str
    scope: str
    digest: str  # sha256 of the file as it was indexed
    heading: str  # titles that it stands under, outermost first, joined by " > "
    first_line: int
    text: str
    score: float  # 1 is the best by words, neighbours and meaning; links may add to it
    why: dict[str, float]  # the parts of the score


class SearchResult(msgspec.Struct, frozen=True):
    """What was found, best first, and what was not as it should be."""

    passages: tuple[Passage, ...]
    notes: tuple[str, ...] = ()


def fused(results: Sequence[SearchResult], limit: int, notes: tuple[str, ...] = ()) -> SearchResult:
    """The best of what several questions found: 1 is the best of each, so that none is drowned."""
    best: dict[int, int] = {}  # place in `passages`, by chunk
    passages = [passage for result in results for passage in result.passages]
    for place, passage in enumerate(passages):
        if passage.score > passages[best.setdefault(passage.chunk, place)].score:
            best[passage.chunk] = place
    order = sorted(best.values(), key=lambda place: (-passages[place].score, place))
    return SearchResult(tuple(passages[place] for place in order[:limit]), notes)


class Ranking(NamedTuple):
    """Chunks with their scores, best first."""

    ids: Ids
    scores: Values
    cosines: Values  # with the question; 0 without an embedder
    why: dict[str, Values]  # one value a chunk, by the name of the part


class Finder:
    """Finds passages in one store. One thread at a time may use it."""

    def __init__(
        self,
        store: PassageStore,
        embedder: Embedder | None = None,
        weights: Weights = WEIGHTS,
    ) -> None:
        self._store, self._embedder, self._weights = store, embedder, weights
        self._postings = Postings(store)
        self._vectors: VectorIndex | None = None
        if embedder is not None:
            path = store.path.with_name(f"{store.path.stem}.faiss")
            self._vectors = VectorIndex(path, embedder, store.identity())

    @property
    def embedder(self) -> str:
        """The embedder's name; empty where there is none."""
        return self._embedder.name if self._embedder else ""

    @property
    def vectors(self) -> int:
        """How many vectors there are."""
        return len(self._vectors.ids) if self._vectors else 0

    def embed(self, most: int | None = None) -> int:
        """Make vectors that are missing, at most *most*; how many were made.

        Raises:
            EmbedderError: The embedder is not there, or does not answer as it should.
        """
        self._refresh()
        return self._vectors.update(self._store, self._postings, most) if self._vectors else 0

    def find(self, question: str, limit: int = FOUND, *, under: Sequence[str] = ()) -> SearchResult:
        """The passages that have most to do with *question*.

        Args:
            question: Words as people say them.
            limit: Most passages that come back.
            under: Topics; a passage stands in one of them or below it. All, where it is empty.
        """
        ranking, notes = self.rank(question, under=under)
        places = list(islice(self._telling(ranking), limit))
        ids: list[int] = ranking.ids[places].tolist()
        chunks = self._store.chunks(ids)
        passages = [
            self._passage(chunks[chunk_id], ranking, place)
            for place, chunk_id in zip(places, ids, strict=True)
            if chunk_id in chunks
        ]
        return SearchResult(tuple(passages), notes)

    def _telling(self, ranking: Ranking) -> Iterator[int]:
        """The places of chunks that have to do with the question at all."""
        if len(ranking.ids):
            telling = self._fits(ranking.why["words"], ranking.cosines)
            yield from np.flatnonzero(telling | (ranking.why["linked"] > 0)).tolist()

    def _fits(self, words: Values, cosines: Values) -> Mask:
        """Which chunks share a word with the question, or are more like it than by chance."""
        fitting: Mask = words > 0
        if self._vectors is not None:
            fitting |= cosines > self._vectors.alike
        return fitting

    def _passage(self, chunk: StoredChunk, ranking: Ranking, place: int) -> Passage:
        file = self._postings.files[self._postings.file_of[chunk.id]]
        return Passage(
            chunk=chunk.id,
            topic=file.topic,
            path=file.path,
            scope=file.scope,
            digest=file.digest,
            heading=chunk.heading,
            first_line=chunk.line,
            text=chunk.text,
            score=round(float(ranking.scores[place]), 4),
            why={name: round(float(part[place]), 4) for name, part in ranking.why.items()},
        )

    def rank(self, question: str, *, under: Sequence[str] = ()) -> tuple[Ranking, tuple[str, ...]]:
        """Every chunk that has to do with *question*, best first; and notes."""
        self._refresh()
        postings, weights = self._postings, self._weights
        told = asked(postings, question)
        likeness, notes = self._likeness(unnamed(told))
        similar = np.zeros(0, np.int64)
        if likeness is not None and (likeness.vectors.weight >= MEANING or not told.weights):
            similar = likeness.vectors.similar(likeness.question, SIMILAR)
        at = self._under(candidates(postings, told, similar, weights), under)
        if not len(at):
            return Ranking(at, np.zeros(0, np.float32), np.zeros(0, np.float32), {}), notes
        words = lexical(postings, at, told.weights, weights)
        said = 1 + np.float32(weights.speaker) * spoken(at, told)
        more = self._expanded(told, at, words * said)
        meaning, cosines = self._meaning(at, words + more, similar, likeness)
        base = words + more + meaning
        base = shares((base - min(float(base.min()), 0.0)) * said)
        links = Links(self._store, postings, weights).bonuses(
            told, at, base, self._fits(words, cosines), likeness
        )
        linked = np.zeros(len(at), np.float32)
        for chunk_id, gain in links.items():
            place = int(np.searchsorted(at, chunk_id))
            if place < len(at) and at[place] == chunk_id:
                linked[place] = gain * weights.link
        scores = base + linked
        order = np.lexsort((at, -scores))
        order = order[scores[order] > 0]
        parts = {"words": words, "shared": more, "meaning": meaning, "said": said, "linked": linked}
        why = {name: part[order] for name, part in parts.items()}
        return Ranking(at[order], scores[order], cosines[order], why), notes

    def _refresh(self) -> None:
        if self._postings.generation != self._store.generation():
            self._postings = self._postings.renewed()

    def _likeness(self, question: str) -> tuple[Likeness | None, tuple[str, ...]]:
        if self._vectors is None:
            return None, ()
        notes: list[str] = []
        missing = self._vectors.missing(self._postings)
        if missing:
            notes.append(
                f"{missing:,} of {self._postings.chunks:,} passages have no vector yet: they are "
                "found by their words alone"
            )
        if missing == self._postings.chunks:
            return None, tuple(notes)
        try:
            return Likeness(self._vectors, self._vectors.query(question)), tuple(notes)
        except EmbedderError as error:
            return None, (*notes, f"found by words alone: {error}")

    def _under(self, at: Ids, topics: Sequence[str]) -> Ids:
        if not topics:
            return at
        wanted = frozenset(topics)
        allowed = np.array(
            [not wanted.isdisjoint(above_and_itself(file.topic)) for file in self._postings.files],
            np.bool_,
        )
        kept: Ids = at[allowed[self._postings.file_of[at]]]
        return kept

    def _expanded(self, question: Question, at: Ids, scores: Values) -> Values:
        order = np.argsort(-scores, kind="stable")[: self._weights.expansion_passages]
        texts = self._store.chunks(at[order].tolist())
        best = [
            (texts[int(at[i])].text, float(scores[i]))
            for i in order
            if scores[i] > 0 and int(at[i]) in texts
        ]
        words = expansion(self._postings, question, best, self._weights)
        return np.float32(self._weights.expansion) * lexical(
            self._postings, at, words, self._weights
        )

    def _meaning(
        self, at: Ids, words: Values, similar: Ids, likeness: Likeness | None
    ) -> tuple[Values, Values]:
        """Likeness of each chunk and its neighbours, in fourths of a deviation from the usual.

        Beside it the cosine of the chunk alone. In a large store both are 0 for those that neither
        the words nor the meaning put forward.
        """
        found, cosines = np.zeros(len(at), np.float32), np.zeros(len(at), np.float32)
        if likeness is None or not len(likeness.vectors.ids):
            return found, cosines
        looked = np.arange(len(at))
        if len(at) > COMPARED and self._postings.chunks > CANDIDATES:
            best = np.argpartition(-words, COMPARED)[:COMPARED]
            looked = np.union1d(best, np.flatnonzero(among(at, np.sort(similar))))
        chosen = at[looked]
        near = self._weights.vector_near
        steps = range(-len(near), len(near) + 1)
        around = self._postings.each(np.concatenate([chosen + step for step in steps]))
        alike = likeness.vectors.likeness(around, likeness.question)
        mean, deviation = likeness.vectors.usual(likeness.question)
        unusual = ((alike - mean) / deviation).astype(np.float32)
        share = np.float32(likeness.vectors.weight * SOFTENED)
        found[looked] = share * self._postings.near(chosen, around, unusual, near)
        cosines[looked] = alike[np.searchsorted(around, chosen)]
        return found, cosines
