"""Word places: which texts of a growing list contain a word, with the last answers kept.

The prompts of a step, and many steps of a process, ask in the same words. A text never changes, so
an answer stays true for the texts that it was about; only later texts are searched.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np

from cortex.runtime.retrieval import Occurrences, Places

PLACES_KEPT: Final = 1_000_000  # in all answers, 8 MB
MOST_LATER: Final = 1_000  # texts behind an answer, above which the index is faster


class _Answer(NamedTuple):
    places: Places
    texts: int  # how many were searched


class WordPlaces:
    """Places of words in texts; a text's place is its number, from 0."""

    def __init__(self) -> None:
        self._occurrences = Occurrences()
        self._answers: dict[str, _Answer] = {}  # by word, the last asked at the end
        self._kept = 0  # places in them

    def read(self, texts: Sequence[str], most_chars: int) -> None:
        """Index about *most_chars* more characters of *texts*; see `Occurrences.read`."""
        self._occurrences.read(texts, most_chars)

    def of(self, words: Iterable[str], texts: Sequence[str]) -> dict[str, Places]:
        """The places of *texts* that hold each of *words*, ascending; see `Occurrences.of`."""
        found = {word: self._kept_answer(word, texts) for word in words}
        unknown = [word for word, places in found.items() if places is None]
        found |= self._occurrences.of(unknown, texts)
        answers = {word: places for word, places in found.items() if places is not None}
        for word, places in answers.items():
            self._keep(word, _Answer(places, len(texts)))
        return answers

    def _kept_answer(self, word: str, texts: Sequence[str]) -> Places | None:
        places, searched = self._answers.get(word, _NO_ANSWER)
        if len(texts) - searched > MOST_LATER:
            return None
        later = [at for at in range(searched, len(texts)) if word in texts[at].lower()]
        return np.concatenate([places, np.array(later, np.intp)]) if later else places

    def _keep(self, word: str, answer: _Answer) -> None:
        before = self._answers.pop(word, _NO_ANSWER)
        self._answers[word] = answer
        self._kept += len(answer.places) - len(before.places)
        while self._kept > PLACES_KEPT:
            oldest = next(iter(self._answers))
            self._kept -= len(self._answers.pop(oldest).places)


_NO_ANSWER: Final = _Answer(np.empty(0, np.intp), -MOST_LATER - 1)
