"""How many tokens a log of any size has: exact up to a bound, estimated from samples beyond it."""

from collections.abc import Callable

EXACT_CHARS = 4_000_000  # counted whole: about half a second
_SAMPLE = 8  # beyond them one piece in so many is counted, for the others too


class TokenTally:
    """Adds up the tokens of the pieces of a log; without a counter there is no sum."""

    def __init__(self, count: Callable[[str], int] | None) -> None:
        self._count = count
        self._tokens = 0
        self._chars = self._counted = self._skipped = 0

    def add(self, piece: str) -> None:
        """Count *piece*, or skip it where enough was counted."""
        self._chars += len(piece)
        if self._count is None:
            return
        if self._chars > EXACT_CHARS and self._skipped < _SAMPLE - 1:
            self._skipped += 1
            return
        self._tokens += self._count(piece)
        self._counted += len(piece)
        self._skipped = 0

    @property
    def tokens(self) -> int | None:
        """Tokens of all pieces: where some were skipped, in proportion to their characters."""
        if self._count is None:
            return None
        scale = self._chars / self._counted if self._counted else 1.0
        return round(self._tokens * scale)
