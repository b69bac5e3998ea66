"""How alike words are: one begins as the other, or an embedder says that they mean the same."""

from typing import Final

from cortex.runtime.retrieval import Embedder

from .reading import root
from .things import Words

UNASKED: Final = 0.1  # what a fact loses that says nothing of what is asked but by what it leads to
BEGINNING: Final = 5  # characters that words must share to be alike, if they have as many
LEAST_ROOT: Final = 4
UNLIKE: Final = 0.1  # cosine of two words that have nothing to do with each other
ALIKE: Final = 0.5  # and of two that mean the same


class WordLikeness:
    """How alike words are; remembered, since facts are told in the same words."""

    def __init__(self, embedder: Embedder | None) -> None:
        self._embedder = embedder
        self._stretches: dict[tuple[Words, Words, Words], float] = {}
        self._pairs: dict[tuple[str, str], float] = {}

    def of(self, asked: Words, says: Words, kinds: Words) -> float:
        """How many of the words *asked* a fact that *says* these words says.

        It leads to a thing that is one of *kinds*.
        """
        key = asked, says, kinds
        if key not in self._stretches:
            self._stretches[key] = self._compare(*key)
        return self._stretches[key]

    def _compare(self, asked: Words, says: Words, kinds: Words) -> float:
        if not asked or not says:
            return 0.0
        pairs = [
            (self._pair(one, other), at, other) for at, one in enumerate(asked) for other in says
        ]
        pairs += [(1.0, at, kind) for at, one in enumerate(asked) for kind in kinds if one == kind]
        ours, answered, used = 0.0, set[int](), set[str]()
        for like, at, other in sorted(pairs, reverse=True):
            if at not in answered and other not in used:  # each word answers one
                ours += like
                answered.add(at)
                used.add(other)
        theirs = sum(max(self._pair(one, other) for one in asked) for other in says) / len(says)
        return ours - UNASKED * (1 - theirs)

    def _pair(self, one: str, other: str) -> float:
        key = one, other
        if key not in self._pairs:
            self._pairs[key] = self._alike(one, other)
        return self._pairs[key]

    def _alike(self, one: str, other: str) -> float:
        short, long = sorted((root(one), root(other)), key=len)
        if long.startswith(short[:BEGINNING]) and len(short) >= LEAST_ROOT:
            return 1.0
        if self._embedder is None:
            return 0.0
        first, second = self._embedder.embed([one, other])
        cosine = float(first @ second)
        return min(max((cosine - UNLIKE) / (ALIKE - UNLIKE), 0.0), 1.0)
