"""Rank: the relevance of each chunk of each item for the step, per token.

    score = retrieved + confidence x (relevance + LINKED x linked) + RECENCY x recency
            + DENSITY x density

`relevance` is BM25 to the step's question, as a share of the best chunk's; BM25 normalises by
length, so that the score is a value per token. `linked` is the best relevance among the items
that an edge joins to this one. `recency` halves with every HALF_LIFE newer items of the section,
for items with a position in the log. `density` is the share of a chunk's words that are new.
"""

from collections import Counter as Tally
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import msgspec

from cortex.runtime.retrieval import (
    Chunk,
    Remembered,
    TextCounts,
    TextScores,
    chunks_of_lines,
    content_words,
)

from ..errors import ItemLinesError
from ..material import Clean, Ranked, Worth
from ..request import Item, PromptStep, Section

LINKED: Final = 0.25  # a neighbour of a relevant item is worth less than the item
RECENCY: Final = 0.125  # only breaks ties: an old item with an answer beats a new one without
HALF_LIFE: Final = 8  # items
DENSITY: Final = 0.05
DECIMALS: Final = 6
IDS_CHARS: Final = 200_000  # of the ids whose words are remembered


class _Cut(msgspec.Struct, frozen=True, gc=False):
    """A text in chunks; very many are kept, and the garbage collector looks at little of them."""

    lines: tuple[str, ...]
    chunks: tuple[Chunk, ...]
    sizes: tuple[int, ...]  # of each chunk, in words, its heading's among them
    tallies: tuple[dict[str, int], ...]  # of each chunk, how often each of these words occurs


def question_of(step: PromptStep) -> list[str]:
    """The words of what a step asks."""
    return content_words(" ".join((step.description, step.goal, *step.parameters.values())))


def rank(items: list[Clean], step: PromptStep) -> list[Ranked]:
    """Score all chunks together, so that scores of different items can be compared.

    Raises:
        ItemLinesError: The line numbers of an item do not fit its lines.
    """
    cuts = [_cut(entry) for entry in items]
    question = frozenset(question_of(step))
    texts: list[TextCounts] = []
    density: list[list[float]] = []
    for entry, made in zip(items, cuts, strict=True):
        own = _words_of_id(entry.item.id)
        texts += (_counts(made, at, own, question) for at in range(len(made.chunks)))
        density.append([_density(made, at, own) for at in range(len(made.chunks))])
    raw = TextScores(texts, question).scores
    best = max(raw, default=0.0) or 1.0
    flat = iter(raw)
    relevance = [[next(flat) / best for _ in made.chunks] for made in cuts]
    linked = _linked(items, [max(each) for each in relevance])
    recent = _recency(items)
    return [
        _ranked(entry, made, relevance[at], density[at], linked[at], recent[at])
        for at, (entry, made) in enumerate(zip(items, cuts, strict=True))
    ]


def _counts(made: _Cut, at: int, own: tuple[str, ...], question: frozenset[str]) -> TextCounts:
    """The input of BM25 for a chunk and the words of its item's id."""
    tally = made.tallies[at]
    counts = {word: tally[word] for word in question if word in tally}
    for word in own:
        if word in question:
            counts[word] = counts.get(word, 0) + 1
    return TextCounts(counts, made.sizes[at] + len(own))


def _density(made: _Cut, at: int, own: tuple[str, ...]) -> float:
    tally, words = made.tallies[at], made.sizes[at] + len(own)
    different = len(tally) + len([word for word in set(own) if word not in tally])
    return different / words if words else 0.0


def _ranked(
    entry: Clean,
    made: _Cut,
    relevance: list[float],
    density: list[float],
    linked: float,
    recency: float,
) -> Ranked:
    item = entry.item
    confidence = min(max(item.confidence, 0.0), 1.0)
    same = item.score + confidence * LINKED * linked + RECENCY * recency
    scores = tuple(
        round(same + confidence * about + DENSITY * dense, DECIMALS)
        for about, dense in zip(relevance, density, strict=True)
    )
    at = scores.index(max(scores))
    return Ranked(
        item,
        made.lines,
        _numbers(item, len(made.lines)) if not entry.form else range(1, len(made.lines) + 1),
        made.chunks,
        scores,
        entry.neutralised,
        entry.form,
        entry.saved,
        Worth(item.score, relevance[at], linked, recency, density[at]),
    )


def in_form(ranked: Ranked, entry: Clean) -> Ranked:
    """*ranked* with the text of *entry*, another form of it that is included whole or not at all.

    Its score stays, because its content is the same.
    """
    lines = entry.text.removesuffix("\n").split("\n")
    return ranked._replace(
        lines=lines,
        numbers=range(1, len(lines) + 1),
        chunks=(Chunk(0, len(lines), ""),),
        scores=(max(ranked.scores),),
        form=entry.form,
        saved=entry.saved,
    )


def _linked(items: list[Clean], relevance: list[float]) -> list[float]:
    places = {entry.item.id: at for at, entry in enumerate(items)}
    linked = [0.0] * len(items)
    for at, entry in enumerate(items):
        for link in entry.item.links:
            other = places.get(link.to)
            if other is not None and other != at:
                linked[at] = max(linked[at], relevance[other])
                linked[other] = max(linked[other], relevance[at])
    return linked


def _recency(items: list[Clean]) -> list[float]:
    newest: dict[Section, list[int]] = {}
    for entry in items:
        if entry.item.logged:
            newest.setdefault(entry.item.section, []).append(entry.item.logged)
    age: dict[tuple[Section, int], int] = {}
    for section, positions in newest.items():
        for newer, position in enumerate(sorted(set(positions), reverse=True)):
            age[section, position] = newer
    return [
        0.5 ** (age[entry.item.section, entry.item.logged] / HALF_LIFE)
        if entry.item.logged
        else 0.0
        for entry in items
    ]


def _cut(entry: Clean) -> _Cut:
    item, text = entry.item, entry.text
    # A line break at the end opens a line only where that has a number.
    if text.endswith("\n") and len(item.line_numbers) != text.count("\n") + 1:
        text = text[:-1]
    return cut_words(text)


def _cut_words(text: str) -> _Cut:
    lines = text.split("\n")
    chunks = chunks_of_lines(lines)
    words = [content_words("\n".join((c.heading, *lines[c.start : c.end]))) for c in chunks]
    sizes = tuple(map(len, words))
    return _Cut(tuple(lines), chunks, sizes, tuple(map(_tally, words)))


def _tally(words: list[str]) -> dict[str, int]:
    # A Counter, and its copy by dict(), are looked at by the garbage collector, word by word.
    return {word: times for word, times in Tally(words).items()}  # noqa: C416


def _id_words(item_id: str) -> tuple[str, ...]:
    return tuple(content_words(item_id))


_words_of_id = Remembered(_id_words, IDS_CHARS)
# The lines of a text, its chunks, and how often each word is in each of them with its heading's.
cut_words = Remembered(_cut_words)


def _numbers(item: Item, lines: int) -> Sequence[int]:
    numbers = item.line_numbers
    if not numbers:
        return range(item.first_line, item.first_line + lines)
    if len(numbers) != lines or any(after <= before for before, after in pairwise(numbers)):
        raise ItemLinesError(item.id, lines, len(numbers))
    return numbers
