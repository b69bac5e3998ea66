"""An item cut into chunks, each with its score; apart from what computes it, which needs numpy."""

from collections.abc import Sequence
from typing import NamedTuple

from cortex.runtime.retrieval import Chunk

from ..prompt import Form, Neutralised
from ..request import Item


class Worth(NamedTuple):
    """What the score of an item's best chunk is made of."""

    retrieved: float
    relevance: float
    linked: float
    recency: float
    density: float


class Ranked(NamedTuple):
    """An item cut into chunks, each with its score."""

    item: Item
    lines: list[str]
    numbers: Sequence[int]  # of the lines, in the source
    chunks: tuple[Chunk, ...]
    scores: tuple[float, ...]  # one a chunk
    neutralised: tuple[Neutralised, ...]
    form: Form = ""
    saved: int = 0  # tokens that its form takes less than its own text
    worth: Worth | None = None

    @property
    def score(self) -> float:
        """The score of the best chunk."""
        return max(self.scores)
