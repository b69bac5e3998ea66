"""Follows facts from one thing to the next until a question is answered, without a model.

A fact leads from a thing that it names to the other one that it names; its other words say how. A
question names a thing, too: its words, from that thing outwards, are cut into stretches, one a
fact, so that each stretch is as much as possible what its fact says. Of facts that say the same of
a thing, the latest counts. Words are alike if one begins as the other, or by an embedder.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from cortex.runtime.retrieval import Embedder, words_of

from .likeness import WordLikeness
from .statements import Statement
from .things import LONGEST_THING, Fact, Words, direction, facts_of, kinds_of, telling_words

MOST_HOPS: Final = 4
LONGEST_STRETCH: Final = 5  # words of a question that one fact answers
LEAST: Final = 0.05  # likeness of a stretch and a fact; below it, a fact is not followed
AS_LIKELY: Final = 0.85  # of the best fact's likeness, from where on the latest is taken
HOP: Final = 0.3  # what each fact of a chain costs but the first


class Step(msgspec.Struct, frozen=True):
    """One fact of a chain."""

    statement: Statement
    thing: str  # from which it leads
    leads_to: str
    asked: str  # the words of the question that it answers
    likeness: float = 1.0  # from 0 to 1: how far it says these words


class Chain(msgspec.Struct, frozen=True):
    """Facts that answer a question one after the other; the last one leads to the answer."""

    steps: tuple[Step, ...]
    answer: str
    certainty: float  # from 0 to 1: how much the facts say what was asked


class _Path(NamedTuple):
    value: float
    hops: tuple[tuple[Fact, str, str, Words, float], ...]


Known = dict[tuple[str, str, int, int], _Path]


class Facts:
    """Statements, by the things they name."""

    def __init__(self, statements: Sequence[Statement], embedder: Embedder | None = None) -> None:
        self._of: defaultdict[str, list[Fact]] = defaultdict(list)
        self._words = WordLikeness(embedder)
        facts = facts_of(statements)
        for fact in facts:
            for thing in fact.things:
                self._of[thing].append(fact)
        self._kinds = kinds_of(facts)

    def follow(self, question: str) -> Chain | None:
        """The chain that says most of what *question* asks; None if no fact says any of it."""
        best: tuple[float, Words, _Path] | None = None
        for thing in self._things(question):
            for words in _outwards(question, thing):
                path = self._path(thing, "", words, MOST_HOPS, {})
                share = path.value / max(len(words), 1)
                if path.hops and (best is None or share > best[0]):
                    best = share, words, path
        return _chain(best[2], best[0]) if best else None

    def _things(self, question: str) -> list[str]:
        """The things of facts that *question* names, the longest first, none inside another."""
        words = words_of(question)
        found: list[str] = []
        taken: set[int] = set()
        for size in range(min(len(words), LONGEST_THING), 0, -1):
            for start in range(len(words) - size + 1):
                places = range(start, start + size)
                thing = " ".join(words[start : start + size])
                if thing in self._of and taken.isdisjoint(places):
                    found.append(thing)
                    taken.update(places)
        return found

    def _path(self, thing: str, came_from: str, words: Words, hops: int, known: Known) -> _Path:
        """The best facts from *thing* on for *words*, the first of which is asked first."""
        key = thing, came_from, len(words), hops
        if key in known:
            return known[key]
        best = _Path(0.0, ())
        for size in range(1, min(len(words), LONGEST_STRETCH) + 1) if hops else ():
            asked, rest = words[:size], words[size:]
            led = self._led(thing, came_from, asked)
            if led is None:
                continue
            fact, to, like = led
            onward = self._path(to, thing, rest, hops - 1, known) if rest else _Path(0.0, ())
            value = like - (HOP if came_from else 0.0) + onward.value
            if value > best.value:
                best = _Path(value, ((fact, thing, to, asked, like), *onward.hops))
        known[key] = best
        return best

    def _led(self, thing: str, came_from: str, asked: Words) -> tuple[Fact, str, float] | None:
        """The latest fact about *thing* of those that say best what is *asked*, and where to."""
        found = []
        for fact in self._of.get(thing, ()):
            for to in fact.things:
                if to not in (thing, came_from):
                    kinds = self._kinds.get((fact.says, fact.things.index(to)), ())
                    like = self._words.of(asked, fact.says, kinds) * direction(fact, thing, to)
                    found.append((like, fact.order, fact, to))
        most = max((like for like, *_ in found), default=0.0)
        if most < LEAST:
            return None
        _, _, fact, to = max(
            (each for each in found if each[0] >= AS_LIKELY * most), key=lambda each: each[1]
        )
        return fact, to, most


def _outwards(question: str, thing: str) -> list[Words]:
    """The words of *question* from *thing* outwards: those before it first, or those behind."""
    plain = words_of(question)
    size = len(thing.split())
    at = next(at for at in range(len(plain)) if " ".join(plain[at : at + size]) == thing)
    before = telling_words(" ".join(plain[:at]))[::-1]
    behind = telling_words(" ".join(plain[at + size :]))
    if re.search(rf"\b{re.escape(thing)}['\u2019]s\b", " ".join(question.lower().split())):
        return [behind + before]  # "the spouse of X's child" is the child's
    return [before + behind, behind + before]


def _chain(path: _Path, share: float) -> Chain:
    steps = tuple(
        Step(
            fact.statement,
            fact.written[thing],
            fact.written[to],
            " ".join(asked),
            round(min(max(like / len(asked), 0.0), 1.0), 4),
        )
        for fact, thing, to, asked, like in path.hops
    )
    return Chain(steps, steps[-1].leads_to, round(min(max(share, 0.0), 1.0), 4))
