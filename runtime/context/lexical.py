"""Words and BM25: the lexical relevance of short texts to a question."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Final

from msgspec import Struct

# What is longer than any word is data: it is cut, or the cache of words would hold megabytes.
_WORD = re.compile(r"[^\W\d_]{1,256}|\d{1,256}")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_IDEOGRAPH = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")  # no spaces between words

# Words that a question is made of, whatever it asks about.
STOPWORDS: Final = frozenset(
    re.findall(
        r"\w+",
        """
        a about all am an and any are as at be been but by can could did do does find for from get
        give had has have how i if in into is it its list me my no not of on or our please say she
        he should show so some tell than that the their them then there these they this those to
        us use was we were what when where which while who whom whose why will with would you your
        """,
    )
)

_K1: Final = 1.2  # how soon a repeated word stops counting
_B: Final = 0.6  # how much a long text is held against it
_DECIMALS: Final = 6  # the last bits of a logarithm differ from one C library to the next


def content_words(text: str) -> list[str]:
    """The words of *text* that say what it is about: lower case, stemmed, stop words left out."""
    return list(chain.from_iterable(map(_terms, _WORD.findall(text))))


@lru_cache(maxsize=1 << 16)  # a text repeats its words: this is four fifths of ranking
def _terms(word: str) -> tuple[str, ...]:
    if _IDEOGRAPH.search(word):
        return tuple(word)
    parts = (part.lower() for part in _CAMEL.split(word))
    return tuple(stem(part) for part in parts if part not in STOPWORDS)


def stem(word: str) -> str:
    """*word* without its commonest English endings; equal stems count as equal words."""
    for ending, least in (("ing", 6), ("ies", 5), ("ed", 5), ("es", 5), ("s", 4)):
        if word.endswith(ending) and len(word) >= least and not word.endswith("ss"):
            word = word[: -len(ending)] + ("y" if ending == "ies" else "")
            break
    if len(word) >= 4 and word.endswith("e"):
        return word[:-1]
    return word[:-1] if len(word) >= 5 and word[-1] == word[-2] else word


class TextCounts(Struct, frozen=True):
    """How often each word of a question occurs in a text that has *length* words."""

    counts: Mapping[str, int]  # of words that occur at all
    length: int


class Bm25:
    """BM25 of a fixed list of texts for one question, all given as their words, or counted.

    `scores` holds one score a text, 0 where no word of the question occurs.
    """

    def __init__(
        self, texts: "Sequence[Sequence[str] | TextCounts]", question: Iterable[str]
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
        weights = {word: self.weight(word) for word in sorted(asked)}
        self.scores = [
            round(_score(text.counts, weights, _K1 * (1 - _B + _B * text.length / mean)), _DECIMALS)
            for text in counted
        ]

    def weight(self, word: str) -> float:
        """How much a *word* of the question tells: the rarer among the texts, the more."""
        among = self._in_texts[word]
        return math.log(1 + (self._texts - among + 0.5) / (among + 0.5))


def _score(counts: Mapping[str, int], weights: dict[str, float], damping: float) -> float:
    # In the order of the weights, so that the sum is the same on every machine.
    return sum(
        weight * counts[word] * (_K1 + 1) / (counts[word] + damping)
        for word, weight in weights.items()
        if word in counts
    )
