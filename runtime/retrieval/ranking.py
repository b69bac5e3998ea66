"""Ranks passages for a question: the formula of docs/knowledge.md, and its weights.

One method for every kind of text. No weight depends on a corpus or on a question.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
import numpy as np

from .bm25 import Bm25
from .postings import COMMON_SHARE, LARGE, Ids, Near, Postings, Values, among
from .store import StoredChunk
from .words import STOPWORDS, asked_words, words_of

CANDIDATES: Final = 2_000  # chunks that are scored exactly
ASKED: Final = 80  # words of good passages that are asked how rare they are
SELDOM: Final = 20  # a significant word is in at most every 20th chunk
SELDOM_MOST: Final = 2_000  # and in no more than so many
_FIRST_PERSON = re.compile(r"\b(?:i|my|mine|me|myself|we|our|ours|us)\b", re.IGNORECASE)
_OWNER = re.compile(r"([^\W_]+)(?:['\u2019]s\b)?")


class Weights(msgspec.Struct, frozen=True, kw_only=True):
    """What counts how much."""

    repeated: float = 1.5  # k1 of BM25: how soon a word that is repeated stops counting
    length: float = 0.4  # b of BM25: how much a long passage is held against it
    near: Near = Near((0.5, 0.3, 0.15), 100.0)  # words of the neighbours
    meaning: float = 0.25  # four deviations from the usual are as much as the best words
    vector_near: Near = Near((0.3, 0.15), 100.0)  # meaning of the neighbours
    expansion: float = 0.1  # words that the best passages share, beside those of the question
    expansion_words: int = 10
    expansion_passages: int = 10
    speaker: float = 0.3  # for turns of a speaker whom the question names
    link: float = 1.0  # a passage that a name in a good one leads to
    link_passages: int = 4  # from which names are followed
    link_names: int = 12  # of each
    link_most: int = 40  # chunks; a name in more of them leads nowhere
    link_words: float = 100.0  # of a passage; a longer one writes many names, by chance
    link_title: float = 2.0  # a name that is the other's title, beside one it mentions
    link_any: float = 0.3  # for any link
    link_base: float = 0.5  # how well the other passage fits the whole question
    link_rest: float = 2.0  # how well it fits what the first one left open, by words
    link_rest_vector: float = 2.0  # and by meaning
    link_back: float = 0.5  # what the first one gains by leading on


WEIGHTS: Final = Weights()


class Question(msgspec.Struct, frozen=True):
    """A question with what was found out about its words."""

    text: str
    words: tuple[str, ...]  # that count
    stems: frozenset[str]
    weights: dict[str, float]  # of each word that occurs
    turns: dict[str, Ids]  # of speakers that the question names, by the word of the name

    @property
    def total(self) -> float:
        """What all words weigh together."""
        return sum(self.weights.values()) or 1.0


def asked(postings: Postings, text: str, asker: str = "") -> Question:
    """*text* as a question to *postings*; "I" and "my" in it are the speaker *asker*."""
    stems: dict[str, str] = {}
    words_asked = asked_words(text)
    for stem, word in zip(postings.stems(words_asked), words_asked, strict=True):
        stems.setdefault(stem, word)
    weights: dict[str, float] = {}
    rare: dict[str, float] = {}
    for word in stems.values():
        holding = len(postings.of(word)[0])
        if holding:
            weights[word] = postings.weight(holding)
            if postings.chunks < LARGE or holding <= COMMON_SHARE * postings.chunks:
                rare[word] = weights[word]
    words = tuple(stems.values())
    turns = {word: said for word in words if len(said := postings.spoken_by(word))}
    own = _FIRST_PERSON.search(text) if asker else None
    if own and len(said := postings.spoken_by(asker.lower())):
        turns[own[0].lower()] = said
    return Question(text, words, frozenset(stems), rare or weights, turns)


def unnamed(question: Question) -> str:
    """The text of *question* without the speakers' names, unless nothing else is left.

    The speaker of a turn is known; names would make all turns of a person similar.
    """

    def kept(match: re.Match[str]) -> str:
        name = match[1]
        # A speaker may be called Mark: only what is written as a name is taken for one.
        return "" if name[0].isupper() and name.lower() in question.turns else match[0]

    rest = _OWNER.sub(kept, question.text)
    return rest if set(words_of(rest)).difference(STOPWORDS) else question.text


def candidates(postings: Postings, question: Question, similar: Ids, weights: Weights) -> Ids:
    """The chunks worth an exact score: all of a small store, else those near words and meaning."""
    if postings.chunks <= CANDIDATES:
        return postings.live
    rough = np.zeros(len(postings.file_of), np.float32)
    for word, weight in question.weights.items():
        rough[postings.of(word)[0]] += np.float32(weight)
    spread = rough.copy()
    for distance, share in enumerate(weights.near.shares, 1):
        spread[distance:] += np.float32(share) * rough[:-distance]
        spread[:-distance] += np.float32(share) * rough[distance:]
    spread[postings.file_of < 0] = 0.0
    best = np.flatnonzero(spread)
    if len(best) > CANDIDATES:
        best = best[np.argpartition(-spread[best], CANDIDATES)[:CANDIDATES]]
    return np.union1d(best, similar[postings.file_of[similar] >= 0])


def lexical(postings: Postings, at: Ids, words: Mapping[str, float], weights: Weights) -> Values:
    """BM25 over each chunk of *at* together with its neighbours; the best has 1."""
    lengths = postings.near(at, postings.live, postings.lengths[postings.live], weights.near)
    mean = postings.usual_length(weights.near)
    bm25 = Bm25(weights.repeated, weights.length)

    def often(word: str) -> Values:
        return postings.near(at, *postings.of(word), weights.near)

    damping = bm25.damping(lengths, mean)
    return shares(bm25.score(words, often, damping, np.zeros(len(at), np.float32)))


def expansion(
    postings: Postings,
    question: Question,
    passages: Sequence[tuple[StoredChunk, float]],
    weights: Weights,
) -> dict[str, float]:
    """The words that the best *passages*, given with their scores, share and seldom others."""
    found: dict[str, float] = {}
    for chunk, score in passages:
        for word in postings.words(chunk):
            found[word] = found.get(word, 0.0) + score
    told: dict[str, float] = {}
    most = min(max(postings.chunks // SELDOM, 100), SELDOM_MOST)
    # The most shared first: to ask of each word how rare it is would cost more than it brings.
    shared = sorted(found, key=lambda word: (-found[word], word))[:ASKED]
    postings.count(shared, most)
    for word in shared:
        holding = postings.among(word, most)
        if 1 < holding < most and postings.stem(word) not in question.stems:
            told[word] = found[word] * postings.weight(holding)
    best = sorted(told, key=lambda word: (-told[word], word))[: weights.expansion_words]
    top = max((told[word] for word in best), default=1.0)
    return {word: told[word] / top * postings.weight(postings.among(word, most)) for word in best}


def spoken(at: Ids, question: Question) -> Values:
    """1 for each chunk of *at* whose speaker the question names, otherwise 0."""
    said = np.zeros(len(at), np.float32)
    for turns in question.turns.values():
        said[among(at, turns)] = 1.0
    return said


def shares(scores: Values) -> Values:
    """*scores* with the best at 1."""
    most = scores.max() if len(scores) else 0.0
    return scores / most if most > 0 else scores
