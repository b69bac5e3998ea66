"""Occurrences: which texts of a growing list contain a word, at any place.

The index holds the runs of letters and digits of each text, in lower case. A word that is a run
itself occurs in a text if it is part of one of its runs, so the list of all runs, which is much
shorter than the texts, is searched. Texts not indexed yet are held in lower case.
"""

import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import accumulate, islice
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

Places: TypeAlias = npt.NDArray[np.intp]

_RUN: Final = re.compile(r"[^\W_]+")
_BLANKS: Final = {code: " " for code in range(128) if not chr(code).isalnum()}
BLOCK_BYTES: Final = 1 << 20  # that are searched at once
_NOWHERE: Final = np.empty(0, np.intp)


class Occurrences:
    """Places of words in the texts that were read so far; a text's place is its number, from 0."""

    def __init__(self) -> None:
        self.texts = 0  # how many were read
        # By run. Arrays, since there are millions of places: the garbage collector would look at
        # each in a list again and again.
        self._places: defaultdict[str, array[int]] = defaultdict(_new_places)
        self._runs = "\n"  # all runs, each between line breaks
        self._unread: list[_Stretch] = []  # of the texts that were not read yet

    def read(self, texts: Sequence[str], most_chars: int) -> None:
        """Take in those of *texts* that were not read yet, about *most_chars* characters of them.

        The first of *texts* are those that were read before.
        """
        places = self._places
        known = len(places)
        for place in range(self.texts, len(texts)):
            if most_chars <= 0:
                break
            text = texts[place]
            most_chars -= len(text)
            for run in _runs_of(text.lower()):
                places[run].append(place)
            self.texts = place + 1
        self._runs += "".join(f"{run}\n" for run in islice(self._places, known, None))

    def of(self, words: Iterable[str], texts: Sequence[str]) -> dict[str, Places]:
        """The places of *texts* that hold each of *words*, ascending; those not read are searched.

        Words are lower case and have no white space.
        """
        self._take(texts)
        found: dict[str, Places] = {}
        for word in words:
            if _RUN.fullmatch(word):
                unread = (each.having(word, self.texts) for each in self._unread)
                found[word] = np.concatenate([self._read(word), *unread])
            else:  # it may begin in one run and end behind it: no list of runs knows it
                searched = (at for at, text in enumerate(texts) if word in text.lower())
                found[word] = np.fromiter(searched, np.intp)
        return found

    def _take(self, texts: Sequence[str]) -> None:
        """Keep those of *texts* in lower case that are new; forget those that were read."""
        upto = max(self.texts, self._unread[-1].end if self._unread else 0)
        if upto < len(texts):
            self._unread.append(_Stretch(upto, texts[upto:]))
        self._unread = [each for each in self._unread if each.end > self.texts]

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


class _Stretch:
    """Texts one after the other, in UTF-8: a word is found in it without a look at each.

    Its first two bytes are compared at all places of a block, which stays in the processor's
    cache, in half the time of `bytes.find`; the others where these fit.
    """

    def __init__(self, first: int, texts: Sequence[str]) -> None:
        # With line breaks between them: no word has one, so none begins in one and ends in another.
        lower = [_encoded(text.lower()) for text in texts]
        self.end = first + len(texts)  # place behind the last of them
        self._first = first
        self._data = b"\n".join(lower)
        self._starts = np.fromiter(accumulate((len(e) + 1 for e in lower), initial=0), np.intp)

    def having(self, word: str, least: int) -> Places:
        """The places from *least* on that hold *word*."""
        key = _encoded(word)
        start = int(self._starts[max(least - self._first, 0)])
        begins = self._beginning(key, start)
        data = np.frombuffer(self._data, np.uint8)
        for at in range(2, len(key)):
            begins = begins[data[begins + at] == key[at]]
        numbers = np.unique(np.searchsorted(self._starts, begins, "right")) - 1
        return self._first + numbers

    def _beginning(self, key: bytes, start: int) -> Places:
        """The places from *start* on at which the first two bytes of *key* are, ascending."""
        data = np.frombuffer(self._data, np.uint8)
        last = len(data) - len(key) + 1  # behind the last place at which it may begin
        found = [_NOWHERE]
        for first in range(start, last, BLOCK_BYTES):
            end = min(first + BLOCK_BYTES, last)
            fitting = data[first:end] == key[0]
            if len(key) > 1:
                fitting &= data[first + 1 : end + 1] == key[1]
            found.append(np.flatnonzero(fitting) + first)
        return np.concatenate(found)


def _encoded(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def _new_places() -> "array[int]":
    return array("i")


def _runs_of(text: str) -> set[str]:
    # Plain text is taken apart in half the time that the pattern takes.
    return set(text.translate(_BLANKS).split() if text.isascii() else _RUN.findall(text))
