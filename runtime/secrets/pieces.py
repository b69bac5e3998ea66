"""A text that comes in pieces, masked as the whole of it would be."""

from .mask import Mask


class MaskedPieces:
    """Masks the pieces of one text: all of them together are its text without known secrets.

    What may be the beginning of a known secret is held back until it is known how it goes on. What
    only looks like a secret is masked where a piece holds all of it.
    """

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self._held = ""

    def next(self, text: str, *, last: bool) -> str:
        """The next piece, as far as it can be shown; the *last* one whole."""
        text = self._held + text
        held = 0 if last else self._mask.begun(text)
        self._held = text[len(text) - held :]
        return self._mask.text(text[: len(text) - held])
