"""Follow names: a passage that answers half of a question often names where the rest stands."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from .embedders.embedder import Vectors
from .postings import Ids, Mask, Postings, Values, among
from .ranking import Question, Weights
from .store import KnowledgeStore, StoredChunk
from .vectors import VectorIndex
from .words import names_in, plain


class Likeness(NamedTuple):
    """What is needed to compare by meaning."""

    vectors: VectorIndex
    question: Vectors


class Links:
    """The names in good passages, followed to the passages that share them."""

    def __init__(self, store: KnowledgeStore, postings: Postings, weights: Weights) -> None:
        self._store, self._postings, self._weights = store, postings, weights
        self._holding: dict[str, Ids] = {}

    def bonuses(
        self, question: Question, at: Ids, base: Values, fits: Mask, likeness: Likeness | None
    ) -> dict[int, float]:
        """What chunks gain by being linked with the best of *at*, by chunk id.

        *base* are the scores of *at*, the best 1. Names are followed only from those that *fits*
        says have to do with the question themselves: chance leads nowhere.
        """
        order = np.argsort(-base, kind="stable")[: self._weights.link_passages]
        best = [int(chunk_id) for chunk_id in at[order[fits[order]]]]
        texts = self._store.chunks(best)
        asked = f" {plain(question.text)} "
        links = {
            chunk_id: self._links(chunk_id, texts[chunk_id], asked)
            for chunk_id in best
            if chunk_id in texts
        }
        linked = sorted({other for found in links.values() for other in found})
        self._prefer_titles(links, linked)
        wanted = np.array(sorted({*best, *linked}), np.int64)
        places = np.minimum(np.searchsorted(at, wanted), len(at) - 1)
        known = np.where(at[places] == wanted, base[places], 0.0)
        scores = dict(zip(wanted.tolist(), known.tolist(), strict=True))
        gained: dict[int, float] = {}
        for chunk_id, found in links.items():
            if found:
                self._gain(gained, chunk_id, found, question, scores, likeness)
        return gained

    def _links(self, chunk_id: int, chunk: StoredChunk, asked: str) -> dict[int, tuple[float, str]]:
        """The chunks that share a name with *chunk*, with how rare it is, and the name."""
        found: dict[int, tuple[float, str]] = {}
        for name in names_in(f"{chunk.heading}\n{chunk.text}")[: self._weights.link_names]:
            if f" {name} " in asked:  # what is asked about leads back to the question
                continue
            holding = self._with(name)
            if not 2 <= len(holding) <= self._weights.link_most:
                continue
            rare = 1 - np.log(len(holding)) / np.log(max(self._postings.chunks, 2))
            for other in holding.tolist():
                if other != chunk_id and rare > found.get(other, (0.0, ""))[0]:
                    found[other] = (float(rare), name)
        return found

    def _with(self, name: str) -> Ids:
        if name not in self._holding:
            self._holding[name] = self._postings.with_phrase(name, self._weights.link_most + 1)
        return self._holding[name]

    def _prefer_titles(
        self, links: Mapping[int, dict[int, tuple[float, str]]], linked: list[int]
    ) -> None:
        """Make a link stronger whose name is the title that the other passage stands under."""
        titles = {
            chunk_id: plain(chunk.heading.rsplit(" > ", 1)[-1].split("(", 1)[0])
            for chunk_id, chunk in self._store.chunks(linked).items()
        }
        more = self._weights.link_title
        for found in links.values():
            for other, (rare, name) in found.items():
                titled = titles.get(other) == name
                found[other] = (rare * (1 + more * titled) / (1 + more), name)

    def _gain(
        self,
        gained: dict[int, float],
        chunk_id: int,
        found: Mapping[int, tuple[float, str]],
        question: Question,
        scores: Mapping[int, float],
        likeness: Likeness | None,
    ) -> None:
        weights = self._weights
        others = np.array(sorted(found), np.int64)
        link = np.array([found[other][0] for other in others.tolist()])
        fits = np.array([scores.get(other, 0.0) for other in others.tolist()])
        fits = weights.link_any + weights.link_base * fits
        fits += weights.link_rest * self._rest(question, chunk_id, others)
        if likeness is not None:
            fits += weights.link_rest_vector * _rest_of_meaning(likeness, chunk_id, others)
        gains = scores[chunk_id] ** 2 * link * fits
        for other, gain in zip(others.tolist(), gains.tolist(), strict=True):
            gained[other] = max(gained.get(other, 0.0), gain)
        back = weights.link_back * float(gains.max())
        gained[chunk_id] = max(gained.get(chunk_id, 0.0), back)

    def _rest(self, question: Question, chunk_id: int, others: Ids) -> Values:
        """The share of the question's words that *others* have and the chunk has not."""
        found = np.zeros(len(others), np.float32)
        for word, weight in question.weights.items():
            ids, _ = self._postings.of(word)
            if not among(np.array([chunk_id], np.int64), ids)[0]:
                found[among(others, ids)] += np.float32(weight / question.total)
        return found


def _rest_of_meaning(likeness: Likeness, chunk_id: int, others: Ids) -> Values:
    """How much *others* are like what is left of the question without what the chunk means."""
    question = likeness.question
    own = likeness.vectors.vectors(np.array([chunk_id], np.int64), len(question))[0]
    rest = question - float(question @ own) * own
    length = float(np.linalg.norm(rest)) or 1.0
    found: Values = likeness.vectors.vectors(others, len(question)) @ (rest / length)
    return np.maximum(found, 0.0)
