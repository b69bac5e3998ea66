"""Applies a person's change of a text to another version of that text, if it still fits.

It searches the current text for the changed words, each with the words beside them.
Each must occur once, and in the same order: all of them are changed, or none.
"""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import NamedTuple

MOST = 1_000  # words and marks in a change: comparing takes time with the square of them

_PARTS = re.compile(r"\w+|\s+|[^\w\s]")
_is_word = re.compile(r"\w").match


class _Piece(NamedTuple):
    """Changed words, and the words beside them, by which they are found again."""

    before: str
    old: str
    after: str
    new: str

    @property
    def whole(self) -> str:
        return self.before + self.old + self.after


def merged(text: str, old: str, new: str) -> str | None:
    """*text*, with the change from *old* to *new*; None if that no longer fits."""
    was, now = _PARTS.findall(old), _PARTS.findall(new)
    if max(len(was), len(now)) > MOST:
        return None
    parts: list[str] = []
    end = 0
    for piece in _pieces(was, now):
        at = text.find(piece.whole)
        if at < 0 or at != text.rfind(piece.whole) or at + len(piece.before) < end:
            return None
        at += len(piece.before)
        parts += text[end:at], piece.new
        end = at + len(piece.old)
    return "".join((*parts, text[end:]))


def _pieces(was: list[str], now: list[str]) -> Iterator[_Piece]:
    whole = "".join(was)
    for kind, start, end, from_, to in SequenceMatcher(
        None, was, now, autojunk=False
    ).get_opcodes():
        if kind == "equal":
            continue
        first, last = _word_before(was, start), _word_after(was, end)
        while (first, last) != (0, len(was)) and whole.count("".join(was[first:last])) > 1:
            first, last = _word_before(was, first), _word_after(was, last)
        yield _Piece(
            "".join(was[first:start]),
            "".join(was[start:end]),
            "".join(was[end:last]),
            "".join(now[from_:to]),
        )


def _word_before(parts: list[str], at: int) -> int:
    """Where the word before the part *at* begins, or the text."""
    return next((n for n in range(at - 1, -1, -1) if _is_word(parts[n])), 0)


def _word_after(parts: list[str], at: int) -> int:
    """Where the word after the parts until *at* ends, or the text."""
    return next((n + 1 for n in range(at, len(parts)) if _is_word(parts[n])), len(parts))
