"""Checks a text by somebody else: which facts it lost, and what of a draft loses none.

A sentence of the source is answered by the one sentence of the draft that states its facts, these
alone, in their order, has more words in common with it than with any other, and none that only
another one has. Without an answer it stands as it was; what then is left of the draft goes.
"""

from collections import Counter, defaultdict
from itertools import chain

import msgspec

from . import blocks, checker
from .checker import Fact


class Sentence(msgspec.Struct):
    """A sentence and what the checker reads in it."""

    text: str
    facts: list[checker.Fact]
    words: list[str]  # of weight


class Answers(msgspec.Struct):
    """What a draft makes of one sentence of the source."""

    taken: list[int] = []  # the sentence of the draft that states it
    refused: bool = False  # one was about it and said something else


def restored(source: str, draft: str) -> str:
    """*draft*, and each sentence of *source* of which it does not state every fact.

    Where both have equally many paragraphs they are compared one by one, and what is restored
    stands where it was; else in the order of the source. Code, tables and markup have to stand in
    the draft as they are, or the paragraph stays as it was. A sentence that states no fact may be
    left out.
    """
    own, theirs = source.split("\n\n"), draft.split("\n\n")
    if len(own) != len(theirs):
        return _restored(source, draft)
    return "\n\n".join(map(_restored, own, theirs))


def _restored(source: str, draft: str) -> str:
    pieces, drafted = blocks.split(source), set(draft.split("\n"))
    exact = [line for block in pieces if not block.is_prose for line in block.lines]
    if source == draft or not {line for line in exact if line.strip()} <= drafted:
        return source
    own, theirs = _sentences(source), _sentences(draft)
    answers = _answers(own, theirs)
    kept = [
        bool(answer.taken) or not (sentence.facts or answer.refused)
        for sentence, answer in zip(own, answers, strict=True)
    ]
    if all(kept) and [at for each in answers for at in each.taken] == list(range(len(theirs))):
        return draft
    said = [
        " ".join(theirs[at].text for at in answer.taken) if keep else sentence.text
        for sentence, answer, keep in zip(own, answers, kept, strict=True)
    ]
    result = ("\n" if len(pieces) > 1 else " ").join(filter(None, said))
    return source if not result or checker.missing(source, result) else result


def _sentences(text: str) -> list[Sentence]:
    units = [each for each in blocks.units(text) if each.strip()]
    return [Sentence(each, checker.facts(each), checker.words(each)) for each in units]


def _answers(own: list[Sentence], theirs: list[Sentence]) -> list[Answers]:
    """For each sentence of *own*, what *theirs* make of it."""
    answers = [Answers() for _ in own]
    known = {word for sentence in own for word in sentence.words}
    for at, place in enumerate(_about(own, theirs)):
        if place is None:
            continue
        sentence, answer = own[place], answers[place]
        if (
            checker.same_facts(sentence.facts, theirs[at].facts, sentence.words)
            and not known.intersection(theirs[at].words).difference(sentence.words)
            and _in_order(sentence.words, theirs[at].words)
            and not answer.taken
        ):
            answer.taken.append(at)
        else:
            answer.refused = True
    return answers


def _about(own: list[Sentence], theirs: list[Sentence]) -> list[int | None]:
    """For each of *theirs*, the one of *own* that it has most words in common with, if one only."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, sentence in enumerate(own):
        for word in set(sentence.words):
            places[word].append(place)
    found: list[int | None] = []
    for sentence in theirs:
        said = places.keys() & set(sentence.words)
        common = Counter(chain.from_iterable(places[word] for word in said)).most_common(2)
        tied = len(common) == 2 and common[0][1] == common[1][1]
        found.append(common[0][0] if common and not tied else None)
    return found


def _in_order(own: list[str], theirs: list[str]) -> bool:
    """Whether words that occur once in both have the same order: who did what to whom."""
    one, other = Counter(own), Counter(theirs)
    once = {word for word in one if one[word] == other[word] == 1}
    return [word for word in own if word in once] == [word for word in theirs if word in once]


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
    """Which of the facts *wanted*, all of one sentence, are not together with the others."""
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
