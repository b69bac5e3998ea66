"""A text, and the parts of it that a named phrase already covers."""

import re
from array import array
from itertools import pairwise

_TAKEN = 1
_WORD_END = re.compile(r"[\W_]")


class Cover:
    """Finds and replaces phrases in *text* outside of earlier phrases."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._taken = bytearray(len(text))
        self._known: dict[str, array[int]] = {}  # places of phrases that were looked for
        self._spans: list[tuple[int, int, str]] = []  # start, end, name
        self._order: list[tuple[str, str]] = []  # what was taken, with its names

    def count(self, phrase: str) -> int:
        """How often *phrase* occurs, outside of words and of covered parts."""
        return len(self._places(phrase))

    def share(self, places: list[int], size: int) -> float:
        """How much of *places*, where phrases of that *size* begin, is not taken."""
        return sum(self._taken.find(_TAKEN, at, at + size) < 0 for at in places) / len(places)

    def take(self, phrase: str, name: str) -> None:
        """Replace each *phrase* by *name*."""
        self._order.append((phrase, name))
        size = len(phrase)
        for start in self._places(phrase):
            self._taken[start : start + size] = b"\1" * size
            self._spans.append((start, start + size, name))
        del self._known[phrase]

    def on(self, text: str) -> "Cover":
        """What was taken here, taken from another *text*."""
        other = Cover(text)
        for phrase, name in self._order:
            other.take(phrase, name)
        return other

    def text(self) -> str:
        """The text with the names in it."""
        spans = [(0, 0, ""), *sorted(self._spans), (len(self._text), 0, "")]
        parts = []
        for (_, end, name), (start, _, _) in pairwise(spans):
            parts += [name, self._text[end:start]]
        return "".join(parts)

    def _places(self, phrase: str) -> "array[int]":
        size, taken = len(phrase), self._taken
        places = self._known.get(phrase)
        if places is None:
            places = array("L", places_of(phrase, self._text))
        found = array("L", [at for at in places if taken.find(_TAKEN, at, at + size) < 0])
        self._known[phrase] = found
        return found


def places_of(phrase: str, text: str) -> list[int]:
    """The places of *phrase* in *text* that neither begin nor end inside a word or number."""
    found: list[int] = []
    head, tail, size = phrase[0].isalnum(), phrase[-1].isalnum(), len(phrase)
    at = text.find(phrase)
    while at >= 0:
        end = at + size
        if head and at > 0 and text[at - 1].isalnum():
            # Not one character on: within a word of a million no other place is better.
            word_end = _WORD_END.search(text, at)
            at = text.find(phrase, word_end.end()) if word_end else -1
        elif tail and text[end : end + 1].isalnum():
            at = text.find(phrase, at + 1)
        else:
            found.append(at)
            at = text.find(phrase, end)
    return found


def replaced(phrase: str, name: str, text: str) -> str:
    """*text* with *name* in place of *phrase*."""
    if phrase not in text:
        return text
    cover = Cover(text)
    cover.take(phrase, name)
    return cover.text()
