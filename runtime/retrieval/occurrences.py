"""Occurrences: in which of a growing list of texts a word stands, wherever in the text it does.

Kept are the runs of letters and digits of each text, lower case. A word that is a run itself stands
in a text if it is part of one of the text's runs, so that the list of all runs, which is short
beside the texts, is searched instead of them.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

Places: TypeAlias = npt.NDArray[np.intp]

_RUN: Final = re.compile(r"[^\W_]+")
_BLANKS: Final = {code: " " for code in range(128) if not chr(code).isalnum()}
_NOWHERE: Final = np.empty(0, np.intp)


class Occurrences:
    """Places of words in the texts that were read so far; a text's place is its number, from 0."""

    def __init__(self) -> None:
        self.texts = 0  # how many were read
        self._places: defaultdict[str, list[int]] = defaultdict(list)  # by run
        self._runs = "\n"  # all runs, each between line breaks

    def read(self, texts: Sequence[str], most_chars: int) -> None:
        """Take in those of *texts* that were not read yet, about *most_chars* characters of them.

        The first of *texts* are those that were read before.
        """
        known = len(self._places)
        for place in range(self.texts, len(texts)):
            if most_chars <= 0:
                break
            most_chars -= len(texts[place])
            for run in _runs_of(texts[place].lower()):
                self._places[run].append(place)
            self.texts = place + 1
        self._runs += "".join(f"{run}\n" for run in islice(self._places, known, None))

    def of(self, words: Iterable[str], texts: Sequence[str]) -> dict[str, Places]:
        """The places of *texts* that hold each of *words*, ascending; those not read are searched.

        Words are lower case and have no white space.
        """
        unread = [text.lower() for text in texts[self.texts :]]
        found: dict[str, Places] = {}
        for word in words:
            if _RUN.fullmatch(word):
                read, first, rest = self._read(word), self.texts, unread
            else:  # it may begin in one run and end behind it: no list of runs knows it
                read, first, rest = _NOWHERE, 0, [text.lower() for text in texts]
            searched = [at for at, text in enumerate(rest, first) if word in text]
            found[word] = np.concatenate([read, np.array(searched, np.intp)])
        return found

    def _read(self, word: str) -> Places:
        found = [np.array(self._places[run], np.intp) for run in self._holding(word)]
        if len(found) > 1:
            return np.unique(np.concatenate(found))
        return found[0] if found else _NOWHERE

    def _holding(self, word: str) -> set[str]:
        """The runs of which *word* is a part."""
        holding: set[str] = set()
        at = self._runs.find(word)
        while at >= 0:
            end = self._runs.index("\n", at)
            holding.add(self._runs[self._runs.rindex("\n", 0, at) + 1 : end])
            at = self._runs.find(word, end)
        return holding


def _runs_of(text: str) -> set[str]:
    # Plain text is taken apart in half the time that the pattern takes.
    return set(text.translate(_BLANKS).split() if text.isascii() else _RUN.findall(text))
