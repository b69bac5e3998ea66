"""Cut a text where its structure allows it: before headings, between paragraphs, between lines."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

CHUNK_CHARS: Final = 1_200  # about 300 tokens: small enough to leave the rest out
SMALL_CHARS: Final = 300  # a section shorter than this shares its chunk with the next one

_HEADING = re.compile(r"#{1,6} \S")
_UNDERLINE = re.compile(r"([=\-~^\"'*+#])\1{2,}\s*$")
_CODE_FENCE = re.compile(r"\s*(```|~~~)")


class Chunk(NamedTuple):
    """Lines of a text, from 0, end excluded; the chunks of a text are all of its lines in order."""

    start: int
    end: int
    heading: str  # the nearest heading above its first line


def cut(lines: list[str]) -> tuple[Chunk, ...]:
    """The chunks of *lines*; none holds more than `CHUNK_CHARS` unless one line alone does."""
    if len(lines) == 1 and not lines[0].startswith("#"):
        return (Chunk(0, 1, ""),)
    chunks: list[Chunk] = []
    start, size, heading, above = 0, 0, "", ""
    for first, last, title in _blocks(lines):
        length = sum(len(line) + 1 for line in lines[first:last])
        opens = title and size >= SMALL_CHARS
        if size and (opens or size + length > CHUNK_CHARS):
            chunks.append(Chunk(start, first, above))
            start, size = first, 0
        heading = title or heading
        if not size:
            above = heading
        size += length
    if size or not chunks:
        chunks.append(Chunk(start, len(lines), above))
    return tuple(chunks)


def _blocks(lines: list[str]) -> Iterator[tuple[int, int, str]]:
    """Runs of lines that belong together: first, end, and the heading that they open with."""
    starts = [*_paragraphs(lines), (len(lines), "")]
    for (first, title), (end, _) in pairwise(starts):
        size, begin = 0, first
        for at in range(first, end):
            if size and size + len(lines[at]) + 1 > CHUNK_CHARS:
                yield begin, at, title if begin == first else ""
                size, begin = 0, at
            size += len(lines[at]) + 1
        yield begin, end, title if begin == first else ""


def _paragraphs(lines: list[str]) -> Iterator[tuple[int, str]]:
    """First line of each paragraph and the heading it is; blank lines end what they follow."""
    in_code, after_blank = False, True
    for at, line in enumerate(lines):
        title = "" if in_code else _title(lines, at)
        if at == 0 or title or (after_blank and line.strip() and not in_code):
            yield at, title
        after_blank = not line.strip()
        if _CODE_FENCE.match(line):
            in_code = not in_code


def _title(lines: list[str], at: int) -> str:
    line = lines[at]
    if _HEADING.match(line):
        return line.lstrip("#").strip()
    below = lines[at + 1] if at + 1 < len(lines) else ""
    text = line.strip()
    if text and len(below.rstrip()) >= len(text) and _UNDERLINE.match(below):
        return "" if _UNDERLINE.match(line) else text
    return ""
