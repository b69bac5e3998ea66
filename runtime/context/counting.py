"""Count each text once: the same pieces are counted again with every prompt of a step."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

from .tokens import Counter

KEPT: Final = 1 << 16  # texts: about 8 MB of digests


class CountedOnce:
    """A counter that remembers how many tokens a text has, by its digest; safe to share."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self.encoding = counter.encoding
        self.exact = counter.exact
        self._known: dict[bytes, int] = {}

    def count(self, text: str) -> int:
        """Tokens of *text*."""
        digest = blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()
        known = self._known.get(digest)
        if known is None:
            known = self._counter.count(text)
            if len(self._known) >= KEPT:
                self._known = {}  # in one step, so that no other thread sees half of it
            self._known[digest] = known
        return known

    def lengths(self, text: str) -> Sequence[int]:
        """UTF-8 bytes of each token of *text*, in order."""
        return self._counter.lengths(text)
