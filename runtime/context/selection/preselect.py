"""Preselect: of very many items, those that can be chosen; the others are only counted.

No text is cut, cleaned or tokenised for it. An item of a large section is kept if it is required,
if its priority is raised, if it is among the newest, or if it is among those with most of the
question: each word of it counts ln(items / items that have it), anywhere in the text.
Positions of words are cached with the view, in batches, and so are those of the words that were
asked last: a first compile searches what is not indexed yet, with the same result.
"""

import math
from collections.abc import Iterable
from typing import Final

import numpy as np
import numpy.typing as npt

from cortex.runtime.retrieval import Places

from ..prompt import PassedOver
from ..request import SECTIONS, Item
from .gather import Gathered

ABOVE: Final = 1_000  # items of a section; no more than that are all looked at
NEWEST: Final = 64
BEST: Final = 320
CHARS_A_TOKEN: Final = 4  # of the window: more of the best than fill it cannot win
INDEXED_CHARS: Final = 300_000  # of a view that one compile takes in
DECIMALS: Final = 6  # the last bits of a logarithm differ from one C library to the next

REASON: Final = (
    f"not among the {NEWEST} newest items of the section, nor among the {BEST} that hold most of "
    "what the step asks"
)


def preselect(
    gathered: Gathered, scoped: Places, question: Iterable[str], window: int
) -> tuple[list[Item], tuple[PassedOver, ...]]:
    """The items of *scoped* to examine, and how many others there were, by section.

    Args:
        gathered: All items.
        scoped: Indexes of the candidates, ascending.
        question: The words of the question.
        window: Tokens of the effective window.
    """
    sections = gathered.columns.section[scoped]
    counts = np.bincount(sections, minlength=len(SECTIONS))
    if counts.max() <= ABOVE:
        return [gathered.item(int(at)) for at in scoped], ()
    worth = _Worth(gathered, sorted(set(question)))
    kept: list[Places] = []
    passed: list[PassedOver] = []
    for code, section in enumerate(SECTIONS):
        places = chosen = scoped[sections == code]
        if len(places) > ABOVE:
            chosen = _chosen(gathered, places, worth.among(places), window)
            passed.append(PassedOver(section, len(places) - len(chosen), REASON))
        kept.append(chosen)
    return [gathered.item(int(at)) for at in np.sort(np.concatenate(kept))], tuple(passed)


class _Worth:
    """How much of a question each item contains."""

    def __init__(self, gathered: Gathered, words: list[str]) -> None:
        held, named = gathered.held, gathered.named
        held.words.read(held.texts, INDEXED_CHARS)
        self._scores = gathered.columns.score
        old = held.words.of(words, held.texts)
        new = named.words.of(words, named.texts)
        self._having = [np.concatenate([old[w], new[w] + len(held.texts)]) for w in words]

    def among(self, places: Places) -> npt.NDArray[np.float64]:
        """What each of all items is worth among those at *places*, 0 elsewhere."""
        inside = np.zeros(len(self._scores), np.bool_)
        inside[places] = True
        worth = np.zeros(len(self._scores))
        # In the order of the words, so that sums are the same on every machine.
        for having in self._having:
            here = having[inside[having]]
            if len(here):
                worth[here] += math.log(len(places) / len(here))
        worth += np.where(inside & (self._scores > 0), self._scores, 0.0)
        rounded: npt.NDArray[np.float64] = np.round(worth, DECIMALS)
        return rounded


def _chosen(
    gathered: Gathered, places: Places, worth: npt.NDArray[np.float64], window: int
) -> Places:
    columns = gathered.columns
    always = places[columns.must[places] | columns.raised[places]]
    worthy = places[worth[places] > 0]
    if len(worthy) > BEST:
        least = np.partition(worth[worthy], -BEST)[-BEST]
        worthy = worthy[worth[worthy] >= least]
    # Of two equals the newer one is kept.
    best = worthy[np.lexsort((-worthy, -worth[worthy]))][:BEST]
    sizes = np.cumsum([len(gathered.item(int(at)).text) for at in best])
    best = best[: 1 + int(np.searchsorted(sizes, window * CHARS_A_TOKEN))]
    return np.unique(np.concatenate([always, best, places[-NEWEST:]]))
