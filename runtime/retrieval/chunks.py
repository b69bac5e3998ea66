"""Cut a text into chunks along its structure: headings, paragraphs, definitions, records, turns.

A chunk is the unit of search and display. Blocks, the smallest parts of a kind of text, are packed
into chunks in order, each into the chunk before it or into a new one. Chunks cover the whole text.
Files are cut at characters; texts whose lines are cited are cut at lines.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from typing import Final, TypeAlias

import msgspec

from .blocks import WHOLE_CHARS, SourceBlock, blocks_of, blocks_of_lines

CHUNK_CHARS: Final = WHOLE_CHARS  # a fifth of a page: what one question is about
LONGEST_CHARS: Final = 2_000  # a block up to this length stays whole
LINES_CHARS: Final = 1_200  # of lines, about 300 tokens: small enough to leave the rest out
SMALL_CHARS: Final = 300  # a section of lines shorter than this shares its chunk with the next one

_BREAKS: Final = ("\n", ". ", ", ", " ")  # where a block that is too long is cut, best first
_TITLES = re.compile(r"(?:#[^\n]*+|\s++)*+")  # possessive: it never tries another way
_SPEAKER = re.compile(r"([A-Z][\w .'-]{0,30}): ")

# The heading of one chunk from the first to the second place and the block behind it; None where
# they do not belong together.
Joined: TypeAlias = Callable[[int, int, str, SourceBlock], str | None]


class Chunk(msgspec.Struct, frozen=True, order=True, gc=False):
    """Consecutive characters, or lines, of a text; places count from 0, the end is excluded.

    The garbage collector does not look at chunks: they hold no cycle, and very many are kept.
    """

    start: int
    end: int
    heading: str  # titles above it, outermost first, joined by " > "; of lines, one
    speaker: str = ""  # its speaker, in a transcript


def chunks_of(suffix: str, text: str) -> list[Chunk]:
    """The chunks of *text*, which is in a file named `*suffix`, by characters."""

    def joined(start: int, end: int, heading: str, block: SourceBlock) -> str | None:
        size = block.end - start
        if size <= CHUNK_CHARS and block.heading == heading:
            return heading
        # Nothing but titles, which are found with what follows them.
        titles = size <= LONGEST_CHARS and _TITLES.fullmatch(text, start, end)
        return block.heading if titles else None

    return list(_packed(_short(text, blocks_of(suffix, text)), joined))


def chunks_of_lines(lines: list[str]) -> tuple[Chunk, ...]:
    """The chunks of *lines*, by lines; none has over `LINES_CHARS` unless one line alone has."""
    if len(lines) == 1 and not lines[0].startswith("#"):
        return (Chunk(0, 1, ""),)
    at = list(accumulate((len(line) + 1 for line in lines), initial=0))

    def joined(start: int, end: int, heading: str, block: SourceBlock) -> str | None:
        opens = block.opens and at[end] - at[start] >= SMALL_CHARS
        return None if opens or at[block.end] - at[start] > LINES_CHARS else heading

    return tuple(_packed(blocks_of_lines(lines, LINES_CHARS), joined))


def _packed(blocks: Iterable[SourceBlock], joined: Joined) -> Iterator[Chunk]:
    start = end = 0  # of the chunk that may still grow
    heading = ""
    for block in blocks:
        if start < end:
            both = None if block.alone else joined(start, end, heading, block)
            if both is not None:
                end, heading = block.end, both
                continue
            yield Chunk(start, end, heading)
        start, end, heading = block.start, block.end, block.heading
        if block.alone:
            yield Chunk(start, end, heading, block.speaker)
            start = end
    if start < end:
        yield Chunk(start, end, heading)


def _short(text: str, blocks: Iterable[SourceBlock]) -> Iterator[SourceBlock]:
    """*blocks* without those that hold white space only, long ones cut, each with its speaker."""
    for block in blocks:
        start, end = block.start, block.end
        while end - start > LONGEST_CHARS:
            cut = _cut(text, start)
            yield _spoken(text, block._replace(start=start, end=cut))
            start = cut
        if text[start : start + 1].strip() or not text[start:end].isspace():
            yield _spoken(text, block._replace(start=start) if start > block.start else block)


def _spoken(text: str, block: SourceBlock) -> SourceBlock:
    speaker = _SPEAKER.match(text, block.start) if block.alone else None
    return block._replace(speaker=speaker[1]) if speaker else block


def _cut(text: str, start: int) -> int:
    end = start + CHUNK_CHARS
    for mark in _BREAKS:
        found = text.rfind(mark, start + CHUNK_CHARS // 2, end)
        if found >= 0:
            return found + len(mark)
    return end
