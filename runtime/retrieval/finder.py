"""Find passages: words, neighbours, meaning, speakers and links in one score."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

import msgspec
import numpy as np

from .certainty import NOTHING, SHOWN, Evidence, caution, evidence
from .embedders import Embedder
from .errors import EmbedderError
from .links import Likeness, Links
from .packing import MOST_PASSAGES, TOKENS, packed
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
from .store import PassageStore, StoredChunk, StoredFile, above_and_itself
from .vectors import MEANING, VectorIndex

COMPARED: Final = (
    1_700  # chunks whose vectors are looked at because of their words; above, the best
)
SIMILAR: Final = 300  # chunks that are looked at because of their meaning alone
READ_TOGETHER: Final = 20  # passages


class Passage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A chunk that was found."""

    chunk: int  # its id in the store
    topic: str  # "" where the name of its file cannot be one
    path: str
    scope: str
    digest: str  # sha256 of the file as it was indexed
    heading: str  # titles above it, outermost first, joined by " > "
    first_line: int
    text: str
    score: float  # 1 is the best by words, neighbours and meaning; links may add to it
    why: dict[str, float]  # the parts of the score


class SearchResult(msgspec.Struct, frozen=True):
    """What was found, best first, and what was not as it should be."""

    passages: tuple[Passage, ...]
    notes: tuple[str, ...] = ()
    certainty: float = 0.0  # from 0 to 1, that they answer; below `SHOWN` there are none
    caution: str = ""  # what to say above them, or in their place; "" if they are certain
    known: float = 0.0  # share of the question's words, by rarity, that the store has

    def notes_and_caution(self) -> tuple[str, ...]:
        """All that is to be said of it, for who keeps it as one list."""
        return (*self.notes, self.caution) if self.caution else self.notes


def fused(
    results: Sequence[SearchResult],
    limit: int = MOST_PASSAGES,
    tokens: int | None = TOKENS,
    notes: tuple[str, ...] = (),
) -> SearchResult:
    """The best of what several questions found: 1 is the best of each, so that none is drowned.

    The greatest certainty decides what is said of all of it.
    """
    best: dict[int, int] = {}  # place in `passages`, by chunk
    passages = [passage for result in results for passage in result.passages]
    for place, passage in enumerate(passages):
        if passage.score > passages[best.setdefault(passage.chunk, place)].score:
            best[passage.chunk] = place
    order = sorted(best.values(), key=lambda place: (-passages[place].score, place))
    certainty = max((result.certainty for result in results), default=0.0)
    kept = packed([passages[place] for place in order[:limit]], tokens)
    said = caution(certainty) if any(result.caution for result in results) else ""
    return SearchResult(tuple(kept), notes, certainty, said)


class Ranking(NamedTuple):
    """Chunks with their scores, best first."""

    ids: Ids
    scores: Values
    cosines: Values  # with the question; 0 without an embedder
    why: dict[str, Values]  # one value a chunk, by the name of the part
    evidence: Evidence = NOTHING

    @property
    def certainty(self) -> float:
        """From 0 to 1, that the store answers the question."""
        return self.evidence.certainty


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
        """The embedder's name; empty if there is none."""
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

    def find(
        self,
        question: str,
        limit: int = MOST_PASSAGES,
        *,
        under: Sequence[str] = (),
        tokens: int | None = TOKENS,
        asker: str = "",
        texts: bool = True,
    ) -> SearchResult:
        """The passages most relevant to *question*.

        Args:
            question: In natural language.
            limit: Most passages to return.
            under: Topics; passages must be in or below one of them. If empty, all.
            tokens: Most tokens of them, estimated; None if only *limit* counts.
            asker: The speaker who is meant by "I" and "my"; if empty, nobody is.
            texts: Whether to read their texts, by which *tokens* are estimated; otherwise "".
        """
        ranking, notes = self.rank(question, under=under, asker=asker)
        places = list(islice(self._telling(ranking), limit))
        said = caution(ranking.certainty) if places else ""
        if ranking.certainty < SHOWN:
            return SearchResult((), notes, ranking.certainty, said, ranking.evidence.known)
        passages = tuple(packed(self._passages(ranking, places, texts=texts), tokens))
        return SearchResult(passages, notes, ranking.certainty, said, ranking.evidence.known)

    def _passages(
        self, ranking: Ranking, places: Sequence[int], *, texts: bool
    ) -> Iterator[Passage]:
        """Those at *places*; no more of them are read than somebody takes, but for a few."""
        for start in range(0, len(places), READ_TOGETHER):
            part = places[start : start + READ_TOGETHER]
            ids: list[int] = ranking.ids[part].tolist()
            chunks = self._postings.stored(ids) if texts else self._store.chunks(ids, texts=False)
            files: list[int] = self._postings.file_of[ranking.ids[part]].tolist()
            scores = _rounded(ranking.scores[part])
            columns = {name: _rounded(values[part]) for name, values in ranking.why.items()}
            for at, chunk_id in enumerate(ids):
                if chunk_id in chunks:
                    why = {name: values[at] for name, values in columns.items()}
                    file = self._postings.files[files[at]]
                    yield _passage(chunks[chunk_id], file, scores[at], why)

    def _telling(self, ranking: Ranking) -> Iterator[int]:
        """The places of chunks with any relevance to the question."""
        if len(ranking.ids):
            telling = self._fits(ranking.why["words"], ranking.cosines)
            yield from np.flatnonzero(telling | (ranking.why["linked"] > 0)).tolist()

    def _fits(self, words: Values, cosines: Values) -> Mask:
        """Which chunks share a word with the question, or are more like it than by chance."""
        fitting: Mask = words > 0
        if self._vectors is not None:
            fitting |= cosines > self._vectors.alike
        return fitting

    def rank(
        self, question: str, *, under: Sequence[str] = (), asker: str = ""
    ) -> tuple[Ranking, tuple[str, ...]]:
        """Every chunk that has to do with *question*, best first; and notes.

        Turns of *asker* count more if the question is in the first person.
        """
        self._refresh()
        postings, weights = self._postings, self._weights
        told = asked(postings, question, asker)
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
        links = Links(postings, weights).bonuses(
            told, at, base, self._fits(words, cosines), likeness
        )
        linked = np.zeros(len(at), np.float32)
        for chunk_id, gain in links.items():
            place = int(np.searchsorted(at, chunk_id))
            if place < len(at) and at[place] == chunk_id:
                linked[place] = gain * weights.link
        scores = base + linked
        order = np.lexsort((at, -scores))
        # The least like the question has no score left, and may have its words all the same.
        order = order[(scores[order] > 0) | (words[order] > 0)]
        parts = {"words": words, "shared": more, "meaning": meaning, "said": said, "linked": linked}
        why = {name: part[order] for name, part in parts.items()}
        ids, near = at[order], cosines[order]
        return Ranking(
            ids, scores[order], near, why, self._evidence(told, ids, near, likeness)
        ), notes

    def _evidence(
        self, question: Question, ids: Ids, cosines: Values, likeness: Likeness | None
    ) -> Evidence:
        if likeness is None:
            return evidence(self._postings, question, ids)
        vectors = likeness.vectors
        beyond, spelling = vectors.beyond_chance(cosines), vectors.spelling(cosines)
        return evidence(self._postings, question, ids, beyond, spelling)

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
            vector = self._vectors.query(question)
            weighted = self._vectors.query_by_rarity(question, self._postings)
            likeness = Likeness(self._vectors, vector, vector if weighted is None else weighted)
            self._vectors.measure_chance()
        except EmbedderError as error:
            return None, (*notes, f"found by words alone: {error}")
        return likeness, tuple(notes)

    def _under(self, at: Ids, topics: Sequence[str]) -> Ids:
        if not topics:
            return at
        wanted = frozenset(topics)
        named, topic_of = self._postings.topics
        fits = [not wanted.isdisjoint(above_and_itself(topic)) for topic in named]
        allowed = np.array(fits, np.bool_)[topic_of]
        kept: Ids = at[allowed[self._postings.file_of[at]]]
        return kept

    def _expanded(self, question: Question, at: Ids, scores: Values) -> Values:
        order = np.argsort(-scores, kind="stable")[: self._weights.expansion_passages]
        texts = self._postings.stored(at[order].tolist())
        best = [
            (texts[int(at[i])], float(scores[i]))
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
        steps = range(-len(near.shares), len(near.shares) + 1)
        around = self._postings.each(np.concatenate([chosen + step for step in steps]))
        cosine, alike = likeness.cosines(around)
        mean, deviation = likeness.vectors.usual(likeness.by_rarity)
        unusual = ((alike - mean) / deviation).astype(np.float32)
        share = np.float32(likeness.vectors.weight * self._weights.meaning)
        found[looked] = share * self._postings.near(chosen, around, unusual, near)
        cosines[looked] = cosine[np.searchsorted(around, chosen)]
        return found, cosines


def _rounded(values: Values) -> list[float]:
    # A list: of an array, each number by itself takes ten times as long.
    found: list[float] = values.astype(np.float64).round(4).tolist()
    return found


def _passage(chunk: StoredChunk, file: StoredFile, score: float, why: dict[str, float]) -> Passage:
    return Passage(
        chunk=chunk.id,
        topic=file.topic,
        path=file.path,
        scope=file.scope,
        digest=file.digest,
        heading=chunk.heading,
        first_line=chunk.line,
        text=chunk.text,
        score=score,
        why=why,
    )
