"""The default: word parts hashed into a short vector. No model, no download, no state.

Words that share their parts are alike: another ending, a typing error, a compound. It knows nothing
of meaning, so it weighs little beside the words themselves.
"""

import zlib
from collections.abc import Sequence
from typing import Final

import numpy as np

from ..words import STOPWORDS, words_of
from .by_word import WordVectors
from .embedder import Vectors

DIMENSION: Final = 256
WEIGHT: Final = 0.1
ALIKE: Final = 0.3  # words that share no part deviate by 1/16, the root of 1/DIMENSION, from 0
_PARTS: Final = (3, 4, 5)  # characters


class HashingEmbedder:
    """Signed hashes of the parts of each word; long words, which are rarer, count more."""

    name = f"hashing-{DIMENSION}"
    weight = WEIGHT
    alike = ALIKE

    def __init__(self) -> None:
        self._words = WordVectors(DIMENSION, lambda words: np.stack([_of_word(w) for w in words]))

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text."""
        return self._words.of([sorted(set(words_of(text)).difference(STOPWORDS)) for text in texts])


def _of_word(word: str) -> Vectors:
    marked = f"<{word}>"
    vector = np.zeros(DIMENSION, np.float32)
    for size in _PARTS:
        for at in range(len(marked) - size + 1):
            hashed = zlib.crc32(marked[at : at + size].encode())
            sign = zlib.adler32(marked[at : at + size].encode()[::-1])
            vector[hashed % DIMENSION] += 1.0 if sign & 1 else -1.0
            vector[(hashed >> 16) % DIMENSION] += 1.0 if sign & 2 else -1.0
    length = float(np.linalg.norm(vector)) or 1.0
    return (vector * (min(len(word), 8) / length)).astype(np.float32)
