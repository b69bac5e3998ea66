"""Cut a text into chunks along its structure: headings, paragraphs, definitions, records, turns.

A chunk is what is found and shown. It knows the headings it stands under; its neighbours are the
chunks before and after it in the same file. All of a text stands in its chunks, in order.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from .blocks import WHOLE_CHARS, Block, blocks_of

CHUNK_CHARS: Final = WHOLE_CHARS  # a fifth of a page: what one question is about
LONGEST_CHARS: Final = 2_000  # a block up to this length stays whole
_BREAKS: Final = ("\n", ". ", ", ", " ")  # where a block that is too long is cut, best first
_TITLES = re.compile(r"(?:#[^\n]*+|\s++)*+")  # possessive: it never tries another way
_SPEAKER = re.compile(r"([A-Z][\w .'-]{0,30}): ")


class Chunk(NamedTuple):
    """Some consecutive characters of a text."""

    start: int  # of its first character, from 0
    end: int
    heading: str  # titles that it stands under, outermost first, joined by " > "
    speaker: str = ""  # who says it, in a transcript


def chunks_of(suffix: str, text: str) -> list[Chunk]:
    """The chunks of *text*, which stands in a file named `*suffix`."""
    chunks: list[Chunk] = []
    start = end = 0  # of the chunk that may still grow
    heading = ""
    for block in _short(text, blocks_of(suffix, text)):
        first, last, title, alone = block
        if alone:
            _close(chunks, start, end, heading)
            start = end = last
            match = _SPEAKER.match(text, first)
            chunks.append(Chunk(first, last, title, match[1] if match else ""))
        elif start < end and _belongs(text, start, end, last, title == heading):
            end, heading = last, title
        else:
            _close(chunks, start, end, heading)
            start, end, heading = first, last, title
    _close(chunks, start, end, heading)
    return chunks


def _close(chunks: list[Chunk], start: int, end: int, heading: str) -> None:
    if start < end:
        chunks.append(Chunk(start, end, heading))


def _belongs(text: str, start: int, end: int, last: int, same_heading: bool) -> bool:
    """Whether what ends at *last* stands in one chunk with what stands from *start* to *end*."""
    if last - start <= CHUNK_CHARS and same_heading:
        return True
    return last - start <= LONGEST_CHARS and _is_title(text, start, end)


def _is_title(text: str, start: int, end: int) -> bool:
    """Whether nothing stands there but titles, which are found with what follows them."""
    return _TITLES.fullmatch(text, start, end) is not None


def _short(text: str, blocks: Iterable[Block]) -> Iterator[Block]:
    """*blocks* without those that hold white space only, long ones cut."""
    for block in blocks:
        start, end, _, _ = block
        if end - start > LONGEST_CHARS:
            while end - start > LONGEST_CHARS:
                cut = _cut(text, start)
                yield block._replace(start=start, end=cut)
                start = cut
            block = block._replace(start=start)
        if text[start : start + 1].strip() or not text[start:end].isspace():
            yield block


def _cut(text: str, start: int) -> int:
    end = start + CHUNK_CHARS
    for mark in _BREAKS:
        found = text.rfind(mark, start + CHUNK_CHARS // 2, end)
        if found >= 0:
            return found + len(mark)
    return end
