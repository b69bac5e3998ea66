"""Embeds a text as the sum of its words' vectors, and caches the vector of each word."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from .embedder import Vectors, normalised

REMEMBERED: Final = 100_000  # words, 100 MB


class WordVectors:
    """Makes vectors of texts of the vectors that *make* gives for words it was not given yet."""

    def __init__(self, dimension: int, make: Callable[[list[str]], Vectors]) -> None:
        self._make = make
        self._rows: dict[str, int] = {}
        self._new: list[str] = []  # words that have a row and no vector yet
        self._vectors = np.zeros((1024, dimension), np.float32)

    def of(self, texts: Sequence[Sequence[str]]) -> Vectors:
        """One row for each of *texts*, given as words."""
        if len(self._rows) > REMEMBERED:
            self._rows.clear()
        rows = [list(map(self._row, words)) for words in texts]
        self._learn()
        result = np.zeros((len(texts), self._vectors.shape[1]), np.float32)
        for number, of_text in enumerate(rows):
            if of_text:
                result[number] = self._vectors[of_text].sum(axis=0)
        return normalised(result)

    def weighted(self, words: Mapping[str, float]) -> Vectors:
        """One vector for all *words*, each by its weight."""
        rows = [self._row(word) for word in words]
        self._learn()
        weights = np.array(list(words.values()), np.float32)
        together = np.einsum("i,ij->j", weights, self._vectors[rows])  # by `@`, threads would spin
        result: Vectors = normalised(together[None])[0]
        return result

    def _row(self, word: str) -> int:
        row = self._rows.get(word)
        if row is None:
            row = self._rows[word] = len(self._rows)
            self._new.append(word)
        return row

    def _learn(self) -> None:
        if not self._new:
            return
        new, self._new = self._new, []
        while len(self._vectors) < len(self._rows):
            self._vectors = np.concatenate([self._vectors, np.zeros_like(self._vectors)])
        self._vectors[len(self._rows) - len(new) : len(self._rows)] = self._make(new)
