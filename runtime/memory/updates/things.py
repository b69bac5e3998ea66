"""Reads facts: the things that each names, what it says of them, and what kind of thing each is."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from cortex.runtime.retrieval import names_in, words_of

from .reading import WORD, read, sentences
from .statements import Statement

LONGEST_THING: Final = 6  # words
OFTEN: Final = 0.2  # of the things in one place of one kind of fact, that are called something
NAMED_ALIKE: Final = 4  # things whose names share a word, that says what they are
BACKWARDS: Final = 0.5  # of a fact's likeness, if it is followed from its end to its beginning
DIRECTLY: Final = 0.8  # the same, if its verb stands right before what it leads from
_EMPTY: Final = frozenset(
    ("individual", "list", "name", "one", "people", "person", "someone", "something", "thing")
)
_BEFORE_VALUE: Final = frozenset(
    re.findall(
        r"\w+",
        "a an are as at be by for from had has have in into is near of on than the to was were "
        "with",
    )
)

Words = tuple[str, ...]


class Fact(NamedTuple):
    """A statement about things."""

    statement: Statement
    things: Words  # their words in lower case, in the order of the statement
    written: dict[str, str]  # how each is written
    says: Words  # the other words that count, in lower case
    order: tuple[int, int]  # later facts are greater


def facts_of(statements: Sequence[Statement]) -> list[Fact]:
    """*statements* as facts."""
    named = [_named(statement.text) for statement in statements]
    known = frozenset(thing for found in named for thing in found)
    facts: list[Fact] = []
    for number, (statement, found) in enumerate(zip(statements, named, strict=True)):
        things = _settled(statement.text, found, known)
        says = _says(statement.text, things)
        facts.append(Fact(statement, tuple(things), things, says, (statement.time_ns, number)))
    return facts


def is_fact(text: str) -> bool:
    """Whether *text* is one sentence that states something; no question or plan, and not "I".

    What several sentences say of each other, no reading of one tells.
    """
    parts = sentences(text)
    return len(parts) == 1 and not (parts[0].unsure or parts[0].first_person)


def telling_words(text: str) -> Words:
    """The words of *text* that say what it is about, in lower case and in order."""
    words = (word.text.lower() for word in read(text).words)
    return tuple(word for word in words if word not in _EMPTY)


def kinds_of(facts: Iterable[Fact]) -> dict[tuple[Words, int], Words]:
    """What the things are called that stand in one place of the facts that say the same.

    What ends with "the city of X" calls X a city; so every thing is one that stands where several
    such do.
    """
    members: defaultdict[tuple[Words, int], set[str]] = defaultdict(set)
    called: defaultdict[str, set[str]] = defaultdict(set)
    for fact in facts:
        words = words_of(fact.statement.text)
        for place, thing in enumerate(fact.things):
            members[fact.says, place].add(thing)
            for word in fact.says:
                if f"{' '.join(words)} ".endswith((f" {word} of {thing} ", f" {word} {thing} ")):
                    called[thing].add(word)
    parts = Counter(word for thing in set().union(*members.values()) for word in thing.split())
    for thing in set().union(*members.values()):  # "University of X" is a university
        called[thing].update(word for word in thing.split() if parts[word] >= NAMED_ALIKE)
    found: dict[tuple[Words, int], Words] = {}
    for key, things in members.items():
        counts = Counter(word for thing in things for word in called[thing])
        found[key] = tuple(sorted(word for word, n in counts.items() if n >= OFTEN * len(things)))
    return found


def direction(fact: Fact, thing: str, to: str) -> float:
    """1 if *fact* says something of *thing*; less if it rather says it of *to*."""
    if fact.things.index(thing) < fact.things.index(to):
        return 1.0
    before = f" {' '.join(words_of(fact.statement.text))} ".partition(f" {thing} ")[0].split()
    if read(fact.statement.text).titled:  # "Y is the head of X"
        return 1.0
    # "Y wrote X", but not "Y lives in X"
    return BACKWARDS if before and before[-1] in _BEFORE_VALUE else DIRECTLY


def _says(text: str, things: dict[str, str]) -> Words:
    """The words of a fact that are in no thing it names."""
    rest = f" {' '.join(words_of(text))} "
    for thing in sorted(things, key=len, reverse=True):
        rest = rest.replace(f" {thing} ", " , ")
    return tuple(dict.fromkeys(telling_words(rest)))


def _named(text: str) -> dict[str, str]:
    """What *text* names: what has a capital, and the words in lower case that it ends with."""
    found = {thing: written for thing, written in names_in(text).items() if thing not in _EMPTY}
    if len(found) > 1:  # what it ends with says more of the two: "as its chief executive"
        return found
    run: list[str] = []
    words = read(text).words
    total = len(words_of(text))
    for word in reversed(words):
        if word.kind != WORD or word.place != total - 1 - len(run):
            break
        run.append(word.text)
    if run and len(run) < total:
        written = " ".join(run[::-1])
        found[" ".join(words_of(written))] = written
    return found


def _settled(text: str, found: dict[str, str], known: frozenset[str]) -> dict[str, str]:
    """*found* in their order, each as other facts write it.

    "Water polo was created in ..." is about water polo, if another fact names that.
    """
    words = words_of(text)
    settled: dict[str, str] = {}
    for thing, written in found.items():
        parts = thing.split()
        shorter = (" ".join(parts[at:]) for at in range(1, len(parts)))
        better = next((one for one in shorter if one in known), "") if written.islower() else ""
        settled[better or thing] = better or written
    for size in range(min(len(words) - 1, LONGEST_THING), 1, -1):
        begins = " ".join(words[:size])
        if begins in known and begins not in settled:
            settled = {
                thing: one for thing, one in settled.items() if f" {thing} " not in f" {begins} "
            }
            settled[begins] = begins
            break
    plain = f" {' '.join(words)} "
    return {one: settled[one] for one in sorted(settled, key=lambda one: plain.find(f" {one} "))}
