"""The interface of embedders."""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into vectors of length 1, the same text always into the same one."""

    @property
    def name(self) -> str:
        """What it is, model included: vectors of another name are not compared with its own."""
        ...

    @property
    def weight(self) -> float:
        """How much its likeness counts beside the words, which count 1."""
        ...

    @property
    def alike(self) -> float:
        """The cosine above which likeness is more than chance, and alone reason enough."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text.

        Raises:
            EmbedderError: It is not there, or does not answer as it should.
        """
        ...


@runtime_checkable
class WordEmbedder(Protocol):
    """An embedder whose texts are the sums of their words: a question's words can have weights."""

    def weighted(self, words: Mapping[str, float]) -> Vectors:
        """The vector of all *words*, each by its weight.

        Raises:
            EmbedderError: It is not there.
        """
        ...


def normalised(vectors: Vectors) -> Vectors:
    """*vectors* at length 1; one of zeros stays."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    result: Vectors = (vectors / np.maximum(lengths, 1e-9)).astype(np.float32)
    return result
