"""BM25: scores a text for a question by its words, of which rare ones count more.

    score   = sum of rarity x often x (repeated + 1) / (often + damping), over the words asked
    damping = repeated x (1 - length + length x words of the text / mean of them)

The same few lines score one text, in numbers, and all passages of a store at once, in arrays.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

if TYPE_CHECKING:  # a float is scored without numpy, and most processes score nothing else
    import numpy as np
    import numpy.typing as npt

DECIMALS: Final = 6  # the last bits of a logarithm differ from one C library to the next

Amount = TypeVar("Amount", float, "npt.NDArray[np.float32]")


class Bm25(NamedTuple):
    """The two constants of BM25."""

    repeated: float  # k1: how soon a repeated word stops counting
    length: float  # b: how much a long text is held against it

    def damping(self, words: Amount, mean: float) -> Amount:
        """What a text of so many *words* has against each of them, where *mean* is usual."""
        return self.repeated * (1 - self.length + self.length * words / mean)

    def score(
        self,
        weights: Mapping[str, float],
        often: Callable[[str], Amount | None],
        damping: Amount,
        score: Amount,
    ) -> Amount:
        """*score* and what the words of *weights* add to it, in their order.

        Args:
            weights: What each word of the question weighs.
            often: How often a text has a word; None where it has not.
            damping: Of the text.
            score: What it has without the words.
        """
        for word, weight in weights.items():
            times = often(word)
            if times is not None:
                score += weight * (self.repeated + 1) * times / (times + damping)
        return score


TEXTS: Final = Bm25(repeated=1.2, length=0.6)  # for texts of any length


def rarity(texts: int, having: int) -> float:
    """The weight of a word that *having* of *texts* texts contain: the rarer, the higher."""
    return math.log(1 + (texts - having + 0.5) / (having + 0.5))


class TextCounts(NamedTuple):
    """How often each word of a question occurs in a text that has *length* words."""

    counts: Mapping[str, int]  # of words that occur
    length: int


class TextScores:
    """BM25 of a fixed list of texts for one question, all given as their words, or counted.

    `scores` holds one score a text, 0 where no word of the question occurs.
    """

    def __init__(
        self, texts: Sequence[Sequence[str] | TextCounts], question: Iterable[str]
    ) -> None:
        asked = frozenset(question)
        counted = [
            text
            if isinstance(text, TextCounts)
            else TextCounts(Counter(filter(asked.__contains__, text)), len(text))
            for text in texts
        ]
        self._texts = len(counted)
        self._in_texts = Counter(chain.from_iterable(text.counts for text in counted))
        mean = sum(text.length for text in counted) / max(self._texts, 1) or 1.0
        # Sorted, so that sums are the same on every machine.
        weights = {word: self.weight(word) for word in sorted(asked)}
        self.scores = [
            round(TEXTS.score(weights, counts.get, TEXTS.damping(words, mean), 0.0), DECIMALS)
            for counts, words in counted
        ]

    def weight(self, word: str) -> float:
        """The weight of a *word* of the question: the rarer among the texts, the higher."""
        return rarity(self._texts, self._in_texts[word])
