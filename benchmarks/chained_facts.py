"""Numbered facts of which later ones win, and questions that chain several of them; seeded.

The shape of a memory benchmark's "fact consolidation": invented names, one sentence a fact, a
third of the facts told again later with another value, in the same or in other words. A question
names one thing and asks for what is one to four facts away. The wordings of the `visible` sets may
be looked at when rules are written; those of `unseen`, of other relations, are only measured on.
"""

import tomllib
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import msgspec

_SETS: Final[dict[str, Any]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)


class Relation(msgspec.Struct, frozen=True):
    """What leads from one thing to another, and how that is said. `{x}` to `{y}`."""

    of: str  # kind of the one
    to: str  # kind of the other
    facts: tuple[str, ...]
    phrases: tuple[str, ...]  # in a question


class Question(NamedTuple):
    """What is asked, and the fact that answers it with those that lead there."""

    text: str
    answer: str
    chain: tuple[int, ...]  # numbers of the facts, first hop first


class Facts(NamedTuple):
    """Numbered facts, and questions by the number of hops."""

    facts: tuple[str, ...]
    questions: dict[int, tuple[Question, ...]]


def relations(name: str) -> tuple[Relation, ...]:
    """The set *name*: "visible", "second" or "unseen"."""
    return msgspec.convert(_SETS[name], tuple[Relation, ...])


_LOWER: Final = {
    "sport": ("curling", "lacrosse", "handball", "table tennis", "water polo", "fencing", "rowing"),
    "instrument": ("flute", "oboe", "harp", "sitar", "banjo", "cello", "bagpipe"),
    "dish": ("lentil stew", "plum cake", "barley soup", "pickled herring", "chestnut bread"),
    "profession": ("carpenter", "notary", "beekeeper", "surgeon", "tailor", "sculptor"),
    "religion": ("Stoicism", "Taoism", "Jainism", "Shinto", "Zoroastrianism"),
    "language": ("Velian", "Ostric", "Marnish", "Tolese", "Quendish"),
}
_MANY: Final = {
    "person": 60,
    "book": 20,
    "film": 20,
    "song": 20,
    "painting": 20,
    "company": 20,
    "city": 24,
    "country": 12,
    "product": 16,
}
_ASKS: Final = (
    "What is {np}?",
    "Who or what is {np}?",
    "Can you tell me {np}?",
    "Please name {np}.",
)
_TITLES: Final = ("Night", "Garden", "River", "Silent", "Golden", "Winter", "Letter", "House")
HOPS: Final = (1, 2, 3, 4)
AGAIN: Final = 0.35  # share of the facts that are told again, with another value


def chained(
    relations: tuple[Relation, ...], seed: int, asked: int = 20, *, mixed: bool = False
) -> Facts:
    """Facts about some 200 things, and *asked* questions each of one, two, three and four hops.

    A relation is told in one of its wordings, another one in another world; in all if *mixed*.
    """
    random = Random(seed)
    told = [relation.facts if mixed else (random.choice(relation.facts),) for relation in relations]
    kinds = dict.fromkeys(kind for each in relations for kind in (each.of, each.to))
    things = {kind: _names(random, kind) for kind in kinds}
    said: list[str] = []
    current: dict[
        tuple[int, str], tuple[str, int]
    ] = {}  # value and its fact, by relation and thing
    keys = [
        (at, thing)
        for at, relation in enumerate(relations)
        for thing in things[relation.of]
        if random.random() < 0.6
    ]
    random.shuffle(keys)
    keys += random.sample(keys, int(AGAIN * len(keys)))
    for at, thing in keys:
        relation = relations[at]
        before = current.get((at, thing), ("", 0))[0]
        value = random.choice([one for one in things[relation.to] if one not in (before, thing)])
        text = random.choice(told[at]).format(x=thing, y=value)
        current[at, thing] = value, len(said)
        said.append(text[0].upper() + text[1:])
    return Facts(
        tuple(said),
        {hops: tuple(_asked(random, relations, current, hops, asked)) for hops in HOPS},
    )


def _asked(
    random: Random,
    relations: tuple[Relation, ...],
    current: dict[tuple[int, str], tuple[str, int]],
    hops: int,
    most: int,
) -> list[Question]:
    found: list[Question] = []
    keys = sorted(current)
    for _ in range(most * 60):
        if len(found) == most:
            break
        at, thing = random.choice(keys)
        phrase, chain, seen = thing, list[int](), {thing}
        while len(chain) < hops:
            # "The spouse of X's child" is the child's: only what is asked first owns like that.
            forms = [one for one in relations[at].phrases if not (chain and "{x}'s" in one)]
            phrase = random.choice(forms).format(x=phrase)
            thing, number = current[at, thing]
            chain.append(number)
            onward = [other for other, one in keys if one == thing]
            if thing in seen or (len(chain) < hops and not onward):
                break
            seen.add(thing)
            at = random.choice(onward) if onward else at
        else:
            found.append(Question(random.choice(_ASKS).format(np=phrase), thing, tuple(chain)))
    return found


def _names(random: Random, kind: str) -> tuple[str, ...]:
    if kind in _LOWER:
        return _LOWER[kind]
    found: dict[str, None] = {}
    while len(found) < _MANY.get(kind, 12):
        found[_name(random, kind)] = None
    return tuple(found)


def _name(random: Random, kind: str) -> str:
    if kind == "person":
        return f"{_word(random)} {_word(random)}"
    if kind in ("book", "film", "song", "painting"):
        return f"The {' '.join(random.sample(_TITLES, 2))} of {_word(random)}"
    if kind == "company":
        return f"{_word(random)} {random.choice(('Group', 'Works', 'Industries', 'Labs'))}"
    if kind in ("stadium", "museum"):
        return f"{_word(random)} {random.choice(('Hall', 'Park', 'Arena', 'Gallery'))}"
    if kind == "university":
        return f"University of {_word(random)}"
    return _word(random)


def _word(random: Random) -> str:
    size = random.randint(2, 3)
    parts = [random.choice("bdfgklmnprstvz") + random.choice("aeiou") for _ in range(size)]
    return ("".join(parts) + random.choice(("n", "r", "l", "s", "th", ""))).capitalize()
