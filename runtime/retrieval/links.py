"""Follows names: a passage with half of an answer often names the title of the rest."""

from collections.abc import Mapping
from math import log
from typing import NamedTuple

import numpy as np

from .embedders.embedder import Vectors
from .postings import Ids, Mask, Postings, Values, among
from .ranking import Question, Weights
from .store import StoredChunk
from .vectors import VectorIndex
from .words import plain


class Likeness(NamedTuple):
    """What is needed to compare by meaning."""

    vectors: VectorIndex
    question: Vectors
    by_rarity: Vectors  # the same, its rare words counting more where words can be weighted

    def cosines(self, at: Ids) -> tuple[Values, Values]:
        """Those of the chunks of *at* with the question, and with it by rarity."""
        if self.by_rarity is self.question:
            (alike,) = self.vectors.likeness(at, (self.question,))
            return alike, alike
        alike, by_rarity = self.vectors.likeness(at, (self.question, self.by_rarity))
        return alike, by_rarity


class Links:
    """The names in good passages, followed to the passages that share them."""

    def __init__(self, postings: Postings, weights: Weights) -> None:
        self._postings, self._weights = postings, weights

    def bonuses(
        self, question: Question, at: Ids, base: Values, fits: Mask, likeness: Likeness | None
    ) -> dict[int, float]:
        """The bonus of chunks that are linked with the best of *at*, by chunk id.

        *base* are the scores of *at*, the best 1. Names are followed only from those that *fits*
        says have to do with the question themselves: chance leads nowhere.
        """
        order = np.argsort(-base, kind="stable")[: self._weights.link_passages]
        best = [int(chunk_id) for chunk_id in at[order[fits[order]]]]
        asked = f" {plain(question.text)} "
        names = {
            chunk_id: self._followed(chunk, asked)
            for chunk_id, chunk in self._postings.stored(best).items()
        }
        led = {other for found in names.values() for name in found for other in self._with(name)}
        others = self._postings.stored(sorted(led))
        linked = np.array(sorted({*best, *others}), np.int64)
        places = np.minimum(at.searchsorted(linked), len(at) - 1)
        known = np.where(at[places] == linked, base[places], 0.0)
        scores = dict(zip(linked.tolist(), known.tolist(), strict=True))
        held = _Held(self._postings, question, linked, likeness)
        gained: dict[int, float] = {}
        for chunk_id in names:
            found = self._links(chunk_id, names[chunk_id], others)
            if found:
                self._gain(gained, chunk_id, found, held, scores)
        return gained

    def _followed(self, chunk: StoredChunk, asked: str) -> dict[str, str]:
        """The names in *chunk* that may lead somewhere, as they are written."""
        names = self._postings.names(chunk, self._weights.link_names)
        return {
            name: written
            for name, written in names.items()
            # What is asked about leads back to the question.
            if f" {name} " not in asked and 2 <= len(self._with(name)) <= self._weights.link_most
        }

    def _with(self, name: str) -> list[int]:
        return self._postings.with_phrase(name, self._weights.link_most + 1)

    def _links(
        self, chunk_id: int, names: Mapping[str, str], others: Mapping[int, StoredChunk]
    ) -> dict[int, float]:
        """The chunks that write a name of *names* as *chunk_id* does, and how strong that links."""
        found: dict[int, float] = {}
        for name, written in names.items():
            alike = self._postings.writing(name, written, self._weights.link_most + 1)
            rare = 1 - log(max(len(alike), 2)) / log(max(self._postings.chunks, 2))
            for other in alike:
                strength = rare * self._titled(name, others[other]) * self._short(other)
                if other != chunk_id and strength > found.get(other, 0.0):
                    found[other] = strength
        return found

    def _titled(self, name: str, chunk: StoredChunk) -> float:
        """1 if *name* is the title above *chunk*; less for a partial match."""
        more = self._weights.link_title
        if not chunk.heading:
            return 1 / (1 + more)
        title = plain(chunk.heading.rsplit(" > ", 1)[-1].split("(", 1)[0])
        share = (len(name) / len(title)) ** 2 if f" {name} " in f" {title} " else 0.0
        return (1 + more * share) / (1 + more)

    def _short(self, chunk_id: int) -> float:
        """1; less for a passage so long that it writes many names, whatever it is about."""
        words = float(self._postings.lengths[chunk_id])
        return min(1.0, self._weights.link_words / max(words, 1.0))

    def _gain(
        self,
        gained: dict[int, float],
        chunk_id: int,
        found: Mapping[int, float],
        held: "_Held",
        scores: Mapping[int, float],
    ) -> None:
        weights = self._weights
        others = np.array(sorted(found), np.int64)
        link = np.array([found[other] for other in others.tolist()])
        fits = np.array([scores.get(other, 0.0) for other in others.tolist()])
        fits = weights.link_any + weights.link_base * fits
        fits += weights.link_rest * held.rest_of_words(chunk_id, others)
        if held.knows_meaning:
            fits += weights.link_rest_vector * held.rest_of_meaning(chunk_id, others)
        gains = scores[chunk_id] ** 2 * link * fits
        for other, gain in zip(others.tolist(), gains.tolist(), strict=True):
            gained[other] = max(gained.get(other, 0.0), gain)
        back = weights.link_back * float(gains.max())
        gained[chunk_id] = max(gained.get(chunk_id, 0.0), back)


class _Held:
    """What of a question is in which of *chunks*, ascending: words, and meaning."""

    def __init__(
        self, postings: Postings, question: Question, chunks: Ids, likeness: Likeness | None
    ) -> None:
        self._chunks = chunks
        self._words = [
            (among(chunks, postings.of(word)[0]), np.float32(weight / question.total))
            for word, weight in question.weights.items()
        ]
        self.knows_meaning = likeness is not None
        if likeness is not None:
            self._question = likeness.question
            self._vectors = likeness.vectors.vectors(chunks, len(likeness.question))

    def rest_of_words(self, chunk_id: int, others: Ids) -> Values:
        """The share of the question's words that *others* have and the chunk has not."""
        at, places = int(self._chunks.searchsorted(chunk_id)), self._chunks.searchsorted(others)
        found = np.zeros(len(others), np.float32)
        for held, share in self._words:
            if not held[at]:
                found[held[places]] += share
        return found

    def rest_of_meaning(self, chunk_id: int, others: Ids) -> Values:
        """How similar *others* are to the question without the chunk's meaning."""
        question, own = self._question, self._vectors[self._chunks.searchsorted(chunk_id)]
        rest = question - float(question @ own) * own
        length = float(np.linalg.norm(rest)) or 1.0
        found: Values = self._vectors[self._chunks.searchsorted(others)] @ (rest / length)
        return np.maximum(found, 0.0)
