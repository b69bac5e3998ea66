"""Recall: what earlier turns said and the prompt has shed, back where the step asks for it.

It stands at the end, in the volatile stretch: it may be another with every prompt, and no byte
before it moves.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from cortex.runtime.retrieval import Chunk, TextScores, content_words

from ..layout.fence import body
from ..prompt import Neutralised
from ..request import Bounds, Item, PromptStep, Turn, TurnPart
from ..selection.compress import is_json
from ..selection.fit import Choice, Count, size
from ..selection.material import Ranked, clean_text
from ..selection.rank import cut_words, question_of

SHARE: Final = 1 / 16  # of the effective window: what is recalled takes at most
READ_CHARS: Final = 40_000  # of one text
COVERED: Final = 0.4  # of what is asked, by the weight of its words: less is no answer
NEAR_BEST: Final = 0.75  # of the best score: what says much less is left where it is
LAST_CHARS: Final = 240  # of what the model said last, which counts as asking too
MISSES: Final = 8  # passages that did not fit, after which none is tried


class _Place(NamedTuple):
    said: int  # which text
    chunk: Chunk


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

    Asked is what the step asks, and what the model wrote last. A passage must hold enough of one of
    them, each word weighed by how rare it is among the passages.
    """
    questions = [
        frozenset(question) for question in (question_of(step), content_words(_last_words(turns)))
    ]
    texts: list[_Text] = []
    places: list[_Place] = []
    words: list[list[str]] = []
    for said in away:
        text, chunks, own = _cut(said)
        places += (_Place(len(texts), chunk) for chunk in chunks)
        words += own
        texts.append(text)
    best: dict[int, float] = {}
    for question in questions:
        for at, score in _answering(words, question):
            best[at] = max(best.get(at, 0.0), score)
    # Of two that say as much the newer one comes first.
    order = sorted(best, key=lambda at: (-best[at], -at))
    order = [at for at in order if best[at] >= NEAR_BEST * best[order[0]]]
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
                yield at, score / whole


def _last_words(turns: Sequence[Turn]) -> str:
    answers = [said.text for said in turns[-1].said if said.kind == "answer"] if turns else []
    return " ".join(answers)[-LAST_CHARS:]


def _cut(said: TurnPart) -> tuple[_Text, tuple[Chunk, ...], list[list[str]]]:
    source = said.text[:READ_CHARS]
    if is_json(source):
        source = msgspec.json.format(source, indent=1)  # into lines, so that a part may be taken
    text, neutralised = clean_text(source, untrusted=said.kind != "answer")
    made = cut_words(text)
    item = Item(
        id=f"recalled:{said.id}",
        section="step",
        kind="recalled",
        text=text,
        source=said.source,
    )
    return _Text(item, made.lines, neutralised), made.chunks, list(made.words)


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
