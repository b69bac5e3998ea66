"""How certain it is that a store answers a question: 0 to 1, by its words and by its meaning.

    certainty = 1 / (1 + e^-x)
    x = -3.4 + 9.5 known + 4.2 covered - 2.1 names                 by words alone
    x = -4.2 + 5.5 known + 6 covered - 2.7 names + likeness        where an embedder knows meaning

A word that no passage contains lowers the certainty, more so in a large store. Likeness is compared
with the scores of questions that no store answers, in the same store, so it means the same for
every store and every embedder.
"""

import math
import re
from typing import Final, NamedTuple

import numpy as np

from .bm25 import rarity
from .postings import Ids, Mask, Postings, among
from .ranking import Question
from .words import STOPWORDS, asked_words, words_of

SHOWN: Final = 0.45  # a question that is answered less certainly finds nothing
SURE: Final = 0.8  # below it, a line says that what was found is uncertain
LOOKED_AT: Final = 10  # passages, the best, that may cover the question
AROUND: Final = (-2, -1, 0, 1, 2)  # places of the neighbours that count with a passage
BY_CHANCE: Final = 3  # passages of a large store that may hold a word that nothing is said about
LARGE: Final = 100  # passages at which a missing word has about half of its full effect
LIKENESS: Final = (-3.0, 6.0)  # in deviations; clipped beyond
# Questions off every topic: their scores in a store are the level of no answer.
UNRELATED: Final = (
    "How much does a bag of cement weigh?",
    "Who won the cycling race in the mountains last summer?",
    "What time does the ferry to the island leave?",
    "How do bees find their way back to the hive?",
    "Why did the king sell the northern province?",
    "Which vegetables grow well in the shade?",
    "How many strings does a harp have?",
    "What was the weather like on the wedding day?",
    "Where can I buy a second-hand sofa?",
    "How is glass coloured blue?",
    "Does the museum have a room with dinosaurs?",
    "What did grandmother put into the soup?",
    "When do swallows fly south?",
    "How tall is the lighthouse at the harbour?",
    "Which medicine helps against hay fever?",
    "Who composed the opera about the fisherman?",
    "Is the dentist open on Saturdays?",
    "How deep is the lake behind the village?",
    "What colour was the horse that won?",
    "How long does paint on a wooden fence last?",
)
_NAME = re.compile(r"(?<=[\w,;:] )[A-Z][\w-]+")  # a capital that no sentence begins with


class Weights(NamedTuple):
    """The weights; docs/knowledge.md says how they were chosen."""

    bias: float
    known: float
    covered: float
    names: float
    likeness: float


BY_WORDS: Final = Weights(-3.4, 9.5, 4.2, -2.1, 0.0)
BY_MEANING: Final = Weights(-4.2, 5.5, 6.0, -2.7, 1.0)


class Evidence(NamedTuple):
    """What speaks for and against an answer."""

    known: float  # share of the question's words, by rarity, that the store contains
    covered: float  # share that the passage which holds most of them holds, with its neighbours
    names: float  # that the question writes with a capital and the store does not know
    likeness: float | None  # of the passage most like it, in deviations from what nothing finds

    @property
    def certainty(self) -> float:
        """From 0 to 1."""
        weights = BY_WORDS if self.likeness is None else BY_MEANING
        low, high = LIKENESS
        x = weights.bias + weights.known * self.known + weights.covered * self.covered
        x += weights.names * self.names
        x += weights.likeness * min(max(self.likeness or 0.0, low), high)
        return round(1 / (1 + math.exp(-x)), 4)


NOTHING: Final = Evidence(0.0, 0.0, 0.0, None)


def caution(certainty: float) -> str:
    """What to say above passages, or in their place; empty if they are certain to answer."""
    named = f"certainty {int(certainty * 100) / 100:.2f}"  # rounded down: never a line not reached
    if certainty < SHOWN:
        return (
            f"nothing here is likely to answer the question: {named}; below {SHOWN:.2f} nothing is "
            "shown, because few questions that have an answer here come so low"
        )
    if certainty < SURE:
        return (
            f"it is uncertain that what was found answers the question: {named}, certain "
            f"from {SURE:.2f}"
        )
    return ""


def evidence(
    postings: Postings,
    question: Question,
    best: Ids,
    likeness: float | None = None,
    spelling: float = 0.0,
) -> Evidence:
    """The features of *question*, from *best*, the passages ranked first, and the store's words.

    *spelling* is how much one of them looks like it: it counts where no word of it is known.
    """
    size = postings.chunks / (postings.chunks + LARGE)
    stems = {postings.stem(word): word for word in asked_words(question.text)}
    holding = {stem: postings.of(word)[0] for stem, word in stems.items()}
    # A speaker's name stands before half of the turns, and says all the same what is asked about.
    speakers = {postings.stem(name) for name in question.turns}
    weights = {
        stem: rarity(postings.chunks, 1 if stem in speakers else len(ids))
        * (1 if len(ids) else size)
        for stem, ids in holding.items()
    }
    total = sum(weights.values()) or 1.0
    known = sum(
        weights[stem] * len(ids) / (len(ids) + BY_CHANCE * size)
        for stem, ids in holding.items()
        if len(ids)
    )
    if not known and spelling:
        return Evidence(spelling, spelling, 0.0, likeness)
    covered = np.zeros(len(best[:LOOKED_AT]))
    around = postings.beside(best[:LOOKED_AT], AROUND)
    for stem, ids in holding.items():
        covered += weights[stem] * _held(around, ids)
    names = [word for match in _NAME.finditer(question.text) for word in words_of(match[0])]
    unknown = sum(not len(postings.of(word)[0]) for word in names if word not in STOPWORDS)
    return Evidence(
        known / total, float(covered.max(initial=0.0)) / total, unknown * size, likeness
    )


def _held(around: tuple[Ids, Mask], ids: Ids) -> Ids:
    """1 for each chunk that is in *ids*, or has a neighbour that is, in the same file."""
    places, there = around
    held: Ids = np.max(among(places, ids) & there, axis=0).astype(np.int64)
    return held
