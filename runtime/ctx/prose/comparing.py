"""Sentence by sentence: what a text states and another one does not, wherever it stands there."""

from collections import Counter, defaultdict
from itertools import chain

from . import blocks, checker
from .checker import Fact


def lost(source: str, result: str) -> list[Fact]:
    """The facts of *source* that no sentence of *result* states together with their sentence's.

    A sentence that was said twice may be said once, and one may be cut in two.
    """
    there = [checker.facts(unit) for unit in blocks.units(result)]
    places: dict[Fact, list[int]] = defaultdict(list)
    for at, facts in enumerate(there):
        for fact in dict.fromkeys(facts):
            places[fact].append(at)
    found: dict[Fact, None] = {}
    for wanted in dict.fromkeys(tuple(checker.facts(unit)) for unit in blocks.units(source)):
        found |= dict.fromkeys(_lost_of(list(wanted), there, places))
    return list(found)


def _lost_of(
    wanted: list[Fact], there: list[list[Fact]], places: dict[Fact, list[int]]
) -> list[Fact]:
    """Which of the facts *wanted*, all of one sentence, do not stand where the others do."""
    nowhere = [fact for fact in wanted if fact not in places]
    if nowhere or not wanted:
        return nowhere
    rarest = min(wanted, key=lambda fact: len(places[fact]))
    around = [there[max(at - 1, 0) : at + 2] for at in places[rarest]]
    fewest: list[Fact] = wanted
    for facts in chain((there[at] for at in places[rarest]), map(_joined, around)):
        if checker.in_order(wanted, facts):
            return []
        missing = list((Counter(wanted) - Counter(facts)).elements())
        fewest = min(fewest, missing or wanted, key=len)
    return fewest


def _joined(sentences: list[list[Fact]]) -> list[Fact]:
    return list(chain.from_iterable(sentences))
