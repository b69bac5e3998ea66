"""Recall: what earlier turns said and the prompt has shed, back where the step asks for it.

It stands at the end, in the volatile stretch: it may be another with every prompt, and no byte
before it moves.
"""

from collections import Counter as Tally
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from cortex.runtime.retrieval import (
    Chunk,
    Remembered,
    TextScores,
    chunks_of_lines,
    content_words,
)

from ..layout.fence import body
from ..material import Choice, Ranked, clean_text
from ..prompt import Neutralised
from ..request import SPOKEN, Bounds, Item, PromptStep, Turn, TurnPart
from ..selection.compress import is_json
from ..selection.fit import Count, size
from ..selection.rank import question_of

SHARE: Final = 1 / 16  # of the effective window: what is recalled takes at most
READ_CHARS: Final = 40_000  # of one text
PASSAGE_CHARS: Final = 400  # of whole lines: room is scarce, and what is asked for is short
COMMON: Final = 0.1  # of the passages: a word that more of them have is not what is meant
FEW: Final = 8  # passages, among which no word is common
COVERED: Final = 0.4  # of what is asked, by the weight of its words: less is no answer
NEAR_BEST: Final = 0.75  # of the best score: what says much less is left where it is
LAST_CHARS: Final = 240  # of what the model said last, which counts as asking too
MISSES: Final = 8  # passages that did not fit, after which none is tried


class _Place(NamedTuple):
    said: int  # which text
    chunk: Chunk


class _Passages(NamedTuple):
    lines: list[str]
    chunks: tuple[Chunk, ...]
    words: tuple[list[str], ...]  # one list a passage


class _Text(NamedTuple):
    item: Item
    lines: list[str]
    neutralised: tuple[Neutralised, ...]


def room_for_recall(bound: Bounds) -> int:
    """Tokens that turns leave to what may have to be recalled."""
    return int(bound.effective_window * SHARE)


def recall(
    away: Sequence[TurnPart], step: PromptStep, turns: Sequence[Turn], tokens: int, count: Count
) -> list[Choice]:
    """Of what is *away*, the passages that say most about what is asked now, in *tokens* tokens.

    Asked is what the step asks, and what the model wrote last. Who asks in other words still names
    what is meant: of the step's question only those words count that some passages have and most
    have not; of the last words all count that most have not. A passage must hold enough of one of
    both, each word weighed by how rare it is among the passages.
    """
    texts: list[_Text] = []
    places: list[_Place] = []
    words: list[list[str]] = []
    for said in away:
        text, chunks, own = _cut(said)
        places += (_Place(len(texts), chunk) for chunk in chunks)
        words += own
        texts.append(text)
    order: dict[int, None] = {}
    asked, last = frozenset(question_of(step)), frozenset(content_words(_last_words(turns)))
    often = Tally(chain.from_iterable(map((asked | last).intersection, words)))
    most = max(FEW, COMMON * len(words))
    # What the step asks comes before what its model wrote.
    for question, fewest in ((asked, 1), (last, 0)):
        telling = frozenset(word for word in question if fewest <= often[word] <= most)
        found = dict(_answering(words, telling))
        least = NEAR_BEST * max(found.values(), default=0.0)
        # Of two that say as much the newer one comes first.
        best = sorted(found, key=lambda at: (-found[at], -at))
        order |= dict.fromkeys(at for at in best if found[at] >= least)
    return _taken(texts, [places[at] for at in order], tokens, count)


def _answering(words: list[list[str]], question: frozenset[str]) -> Iterator[tuple[int, float]]:
    """Places of the passages that hold enough of *question*, each with its score."""
    index = TextScores(words, question)
    weights = {word: index.weight(word) for word in sorted(question)}
    whole = sum(weights.values())
    for at, score in enumerate(index.scores):
        if score > 0:
            held = question.intersection(words[at])
            if sum(weights[word] for word in sorted(held)) >= COVERED * whole:
                yield at, score


def _last_words(turns: Sequence[Turn]) -> str:
    answers = [said.text for said in turns[-1].said if said.kind == "answer"] if turns else []
    return " ".join(answers)[-LAST_CHARS:]


def _cut(said: TurnPart) -> tuple[_Text, tuple[Chunk, ...], list[list[str]]]:
    source = said.text[:READ_CHARS]
    if is_json(source):
        source = msgspec.json.format(source, indent=1)  # into lines, so that a part may be taken
    text, neutralised = clean_text(source, untrusted=said.kind not in SPOKEN)
    made = _passages(text)
    item = Item(
        id=f"recalled:{said.id}",
        section="step",
        kind="recalled",
        text=text,
        source=said.source,
    )
    return _Text(item, made.lines, neutralised), made.chunks, list(made.words)


def _cut_passages(text: str) -> _Passages:
    lines = text.split("\n")
    chunks = tuple(part for chunk in chunks_of_lines(lines) for part in _parts(lines, chunk))
    words = tuple(content_words("\n".join((c.heading, *lines[c.start : c.end]))) for c in chunks)
    return _Passages(lines, chunks, words)


def _parts(lines: list[str], chunk: Chunk) -> Iterator[Chunk]:
    """*chunk* by whole lines, about `PASSAGE_CHARS` each."""
    start, chars = chunk.start, 0
    for at in range(chunk.start, chunk.end):
        if at > start and chars + len(lines[at]) > PASSAGE_CHARS:
            yield replace(chunk, start=start, end=at)
            start, chars = at, 0
        chars += len(lines[at])
    yield replace(chunk, start=start)


# The lines of a text, its passages, and the words of each of them with its heading's.
_passages = Remembered(_cut_passages)


def _taken(texts: list[_Text], places: list[_Place], tokens: int, count: Count) -> list[Choice]:
    """Passages in the order of *places*, as far as they fit."""
    taken: dict[int, list[Chunk]] = {}
    best: dict[int, int] = {}
    free, missed = tokens, 0
    for place in places:
        ranked = _ranked(texts[place.said], [place.chunk], 0.0)
        opening = 0 if place.said in taken else size(ranked, count).fence_tokens
        needed = opening + count(body(ranked, ((place.chunk.start, place.chunk.end),)))
        if needed <= free:
            free -= needed
            taken.setdefault(place.said, []).append(place.chunk)
            best.setdefault(place.said, len(best))
        else:
            missed += 1
        if missed > MISSES:
            break
    return [_choice(texts[said], taken[said], 1 / (1 + best[said]), count) for said in taken]


def _choice(text: _Text, chunks: list[Chunk], score: float, count: Count) -> Choice:
    runs: list[tuple[int, int]] = []
    for chunk in sorted(chunks):
        start = runs.pop()[0] if runs and runs[-1][1] == chunk.start else chunk.start
        runs.append((start, chunk.end))
    sized = size(_ranked(text, chunks, score), count)
    return Choice(sized, tuple(runs), "an epoch shed it, and the step asks for it")


def _ranked(text: _Text, chunks: list[Chunk], score: float) -> Ranked:
    numbers = range(1, len(text.lines) + 1)
    scores = tuple(score for _ in chunks)
    return Ranked(text.item, text.lines, numbers, tuple(chunks), scores, text.neutralised)
