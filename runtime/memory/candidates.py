"""Finds what a new statement may replace: current ones of its scope and subject, by their words."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import islice
from typing import Final

from cortex.bus.events import MemoryRecord
from cortex.runtime.retrieval import content_words, rarity

from .requests import Update
from .state import LONGEST_SAID, MemoryState
from .updates import SURE, Statement, may_replace, replaced

MOST: Final = 3  # candidates that are compared
LEAST: Final = 0.25  # share of the known words of the new one, by rarity, that the old one has
COMMON, FEW = 0.02, 500  # a word of more than this share of many statements finds none of them
LOOKED_AT: Final = 50  # newest statements of a word: who repeats a word for long says little by it

KEPT: Final = 256  # new statements whose words are kept
NOW_NS: Final = 1 << 62  # the time of a statement that is so from now on

Place = tuple[str, str]  # scope, subject


class Candidates:
    """Words of the current nodes of a state; it follows the state, and holds nothing that it lacks.

    Nothing is built before the first question, and then only what is of its scope and subject.
    """

    def __init__(self, state: MemoryState) -> None:
        self._state = state
        self._ids: dict[Place, defaultdict[str, list[str]]] = {}
        self._count: Counter[Place] = Counter()  # statements that were read
        self._waiting: dict[Place, list[str]] = {}  # ids whose words were not read yet
        self._read: set[str] = set()
        self._heard = 0  # of what was put into `said`
        self._words: dict[str, list[str]] = {}  # of new statements that are read next, usually

    def __call__(self, asked: MemoryRecord, subject: str, named: Sequence[str]) -> list[Update]:
        """The nodes that *asked* surely replaces; not those that it names itself."""
        if len(asked.content) > LONGEST_SAID:
            return []
        self._follow()
        similar = self._similar(asked, subject)
        if not similar or not may_replace(asked.content, SURE):
            return []
        said = self._state.said
        new = Statement("", asked.content, asked.happened_ns or NOW_NS, kind=asked.kind)
        old = [Statement(each, *said[each]) for each in similar if each not in named]
        return [
            Update(each.old_id, each.certainty, each.reason) for each in replaced(new, old, SURE)
        ]

    def _similar(self, asked: MemoryRecord, subject: str) -> list[str]:
        self._read_words((asked.scope, subject))
        of_word = self._ids.get((asked.scope, subject))
        if of_word is None:
            return []
        words = list(dict.fromkeys(content_words(asked.content)))
        if len(self._words) >= KEPT:
            self._words.clear()
        self._words[asked.content] = words
        statements = max(self._count[asked.scope, subject], 1)
        shared: dict[str, int] = {}
        shared_of, whole = shared.get, 0
        for word in words:
            having = of_word.get(word)
            if having is None:  # what is new is the new value, and no two share it
                continue
            weight = round(rarity(statements, min(len(having), statements)) * 1_000)
            whole += weight
            if len(having) > COMMON * statements and statements > FEW:
                continue
            for each in having[-LOOKED_AT:]:
                shared[each] = shared_of(each, 0) + weight
        said = self._state.said
        enough = ((each, weight) for each, weight in shared.items() if weight >= LEAST * whole)
        similar = [(each, weight) for each, weight in enough if each in said]
        similar.sort(key=lambda found: -found[1])
        return [each for each, _ in similar[:MOST]]

    def _follow(self) -> None:
        """Take in what the state has since the last question."""
        fresh = islice(reversed(self._state.said), self._state.heard - self._heard)
        self._heard = self._state.heard
        for each in reversed([each for each in fresh if each not in self._read]):
            known = self._state.nodes.get(each)
            self._read.add(each)
            if known is not None:
                self._waiting.setdefault((known.scope, known.subject), []).append(each)
        if len(self._read) > 2 * len(self._state.said) + LOOKED_AT:
            self._count.clear()  # most of it is gone: built again
            self._ids, self._waiting, self._read, self._heard = {}, {}, set(), 0

    def _read_words(self, place: Place) -> None:
        for each in self._waiting.pop(place, ()):
            said = self._state.said.get(each)
            if said is not None:
                self._count[place] += 1
                of_word = self._ids.setdefault(place, defaultdict(list))
                words = self._words.pop(said[0], None)
                for word in words or dict.fromkeys(content_words(said[0])):
                    of_word[word].append(each)
