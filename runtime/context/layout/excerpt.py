"""Excerpts: the beginning and the end of a text that is too long, with a mark between them."""

from collections.abc import Callable
from typing import Final

_LEAST_CHARS: Final = 40  # a shorter excerpt says nothing
_CHARS_A_TOKEN: Final = 4  # what to try first
_MOST_CHARS_A_TOKEN: Final = 8  # what is longer is not counted to find out that it is too long
_HEAD_SHARE: Final = 0.6


def excerpt(text: str, tokens: int, count: Callable[[str], int], mark: str = "") -> str:
    """*text*, or as much of its two ends as takes about *tokens*, with *mark* between them."""
    if len(text) <= tokens * _MOST_CHARS_A_TOKEN and count(text) <= tokens:
        return text
    chars = min(max(tokens, 1) * _CHARS_A_TOKEN, len(text) - 1)
    while True:
        made = cut_middle(text, chars, mark)
        taken = count(made)
        if taken <= tokens or chars <= _LEAST_CHARS:
            return made
        chars = max(_LEAST_CHARS, min(chars * tokens // taken, chars * 9 // 10))


def cut_middle(text: str, chars: int, mark: str = "") -> str:
    """The ends of *text*, *chars* of it, cut at line breaks where there are any near.

    Where there is no *mark*, one says how much is missing.
    """
    if len(text) <= chars:
        return text
    first = round(chars * _HEAD_SHARE)
    head = _to_line_end(text[:first])
    tail = _from_line_start(text[len(text) - (chars - first) :])
    missing = f"[{len(text) - len(head) - len(tail):,} characters left out]"
    return "\n".join((head.rstrip("\n"), mark or missing, tail))


def left_out(handle: str, extent: str) -> str:
    """The line that stands for what `read_result` gives by *handle*."""
    return f"[left out here; read_result {handle} gives all of it{extent and ': '}{extent}]"


def _to_line_end(text: str) -> str:
    end = text.rfind("\n") + 1
    return text[:end] if end > len(text) // 2 else text


def _from_line_start(text: str) -> str:
    start = text.find("\n") + 1
    return text[start:] if 0 < start < len(text) // 2 else text
