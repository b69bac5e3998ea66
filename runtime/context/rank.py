"""Rank: how much each chunk of each item has to do with the step."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from .chunks import Chunk, cut
from .errors import ItemLinesError
from .lexical import Bm25, content_words
from .material import Clean
from .prompt import Neutralised
from .request import Item, Step


class Ranked(NamedTuple):
    """An item cut into chunks, each with its score."""

    item: Item
    lines: list[str]
    numbers: Sequence[int]  # of the lines, in the source
    chunks: tuple[Chunk, ...]
    scores: tuple[float, ...]  # one a chunk: lexical relevance, 0 to 1, plus the item's own score
    neutralised: tuple[Neutralised, ...]

    @property
    def score(self) -> float:
        """The score of the best chunk."""
        return max(self.scores)


def rank(items: list[Clean], step: Step) -> list[Ranked]:
    """Score all chunks together, so that scores of different items can be compared.

    Raises:
        ItemLinesError: The line numbers of an item do not fit its lines.
    """
    cuts: list[tuple[Clean, list[str], tuple[Chunk, ...]]] = []
    words: list[list[str]] = []
    for entry in items:
        lines = _lines(entry)
        chunks = cut(lines)
        cuts.append((entry, lines, chunks))
        words.extend(
            content_words("\n".join((entry.item.id, c.heading, *lines[c.start : c.end])))
            for c in chunks
        )
    question = content_words(" ".join((step.description, step.goal, *step.parameters.values())))
    relevance = Bm25(words, question).scores
    best = max(relevance, default=0.0) or 1.0
    scores = iter(relevance)
    return [
        Ranked(
            entry.item,
            lines,
            _numbers(entry.item, len(lines)),
            chunks,
            tuple(round(next(scores) / best + entry.item.score, 6) for _ in chunks),
            entry.neutralised,
        )
        for entry, lines, chunks in cuts
    ]


def _lines(entry: Clean) -> list[str]:
    """The lines of a text; a line break at its end opens a line only where that has a number."""
    lines = entry.text.split("\n")
    if not lines[-1] and len(entry.item.line_numbers) != len(lines):
        del lines[-1]
    return lines


def _numbers(item: Item, lines: int) -> Sequence[int]:
    numbers = item.line_numbers or range(item.first_line, item.first_line + lines)
    if len(numbers) != lines or any(after <= before for before, after in pairwise(numbers)):
        raise ItemLinesError(item.id, lines, len(numbers))
    return numbers
