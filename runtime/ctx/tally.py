"""Tokens, counted once a text and no further than a choice between texts needs."""

from collections.abc import Sequence
from typing import Final

from .package import Counter

_BLOCK_CHARS: Final = 32_768
_CUT_TOKENS: Final = 16  # that a cut through a text may add; more than any was seen to


class EncodingCounter:
    """Counts for one encoding; a counter itself."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self._known: dict[str, int] = {}  # of whole texts, of which an encoding has a handful

    def count(self, text: str) -> int:
        """Tokens of *text*."""
        if len(text) < _BLOCK_CHARS // 8:
            return self._counter.count(text)
        known = self._known.get(text)
        if known is None:
            known = self._known[text] = self._counter.count(text)
        return known

    def lengths(self, text: str) -> Sequence[int]:
        """UTF-8 bytes of each token of *text*, in order."""
        lengths = self._counter.lengths(text)
        self._known[text] = len(lengths)
        return lengths

    def known(self, text: str) -> int:
        """Tokens of *text* if they were counted, else 0."""
        return self._known.get(text, 0)

    def is_over(self, text: str, limit: int) -> bool:
        """Whether *text* has more than *limit* tokens."""
        if not self.known(text):
            tokens = 0
            for at in range(0, len(text), _BLOCK_CHARS):
                tokens += self._counter.count(text[at : at + _BLOCK_CHARS]) - _CUT_TOKENS
                if tokens > limit:
                    return True
        return self.count(text) > limit
