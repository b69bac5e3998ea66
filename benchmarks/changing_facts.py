"""Generated histories of facts that change, with near misses; seeded, in two sets of wordings.

A world has owners (people, projects, services) with attributes. Each attribute is stated, and then
corrected in varied words; between the corrections stand near misses: another attribute of the same
owner, the same attribute of another one, events, plans, questions, repetitions and things that are
true beside each other. The `visible` wordings may be looked at when rules are written and weights
are fitted; the `unseen` ones, with other attributes, are only measured on.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import msgspec

_WORDS: Final[dict[str, Any]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)
OWNERS: Final[dict[str, list[str]]] = _WORDS["owners"]
VALUES: Final[dict[str, list[str]]] = _WORDS["values"]
DAY_NS: Final = 86_400 * 10**9
START_NS: Final = 1_700_000_000 * 10**9


class Attribute(msgspec.Struct, frozen=True):
    """What can change, and how it is said. `{o}` owner, `{v}` value, `{w}` the value before."""

    name: str
    owner: str  # a key of OWNERS
    values: str  # a key of VALUES
    first: tuple[str, ...]
    later: tuple[str, ...]
    asks: tuple[str, ...]
    # By question, the other attributes of the owner that answer it as well: "Where can I find {o}?"
    also: dict[str, tuple[str, ...]] = {}


class Wordings(msgspec.Struct, frozen=True):
    """Attributes, and what is said between."""

    attributes: tuple[Attribute, ...]
    misses: tuple[str, ...]


class Said(NamedTuple):
    """A generated statement."""

    id: str
    text: str
    time_ns: int
    speaker: str
    chain: str  # which attribute of which owner; "" for a near miss
    step: int  # from 0, within the chain
    value: str


class Chain(NamedTuple):
    """A fact with its history."""

    id: str
    ask: str
    statements: tuple[str, ...]  # ids, oldest first
    also: tuple[str, ...] = ()  # chains whose end answers the question as well


class World(NamedTuple):
    """What was said, in order, and what is asked."""

    said: tuple[Said, ...]
    chains: tuple[Chain, ...]


def wordings(name: str) -> Wordings:
    """The set *name*: "visible" or "unseen"."""
    return msgspec.convert(_WORDS[name], Wordings)


def world(
    words: Wordings,
    seed: int,
    chains: int = 24,
    most: int = 6,
    least: int = 1,
    owners: Mapping[str, Sequence[str]] = OWNERS,
) -> World:
    """A world of *chains* facts with *least* to *most* corrections, and near misses between.

    Facts of kinds of which there are no *owners* are left out.
    """
    random = Random(seed)
    kinds = list(words.attributes)
    pairs = [(kind, owner) for kind in kinds for owner in owners.get(kind.owner, ())]
    random.shuffle(pairs)
    told: list[tuple[float, str, str, int, str]] = []  # when, text, chain, step, value
    asked: dict[str, str] = {}
    also: dict[str, tuple[str, ...]] = {}
    for kind, owner in pairs[:chains]:
        name = f"{kind.name}/{owner}"
        ask = random.choice(kind.asks)
        asked[name] = ask.format(o=owner)
        also[name] = tuple(f"{other}/{owner}" for other in kind.also.get(ask, ()))
        steps = random.randint(least, most)
        told += _history(random, kind, owner, name, steps)
    for _ in range(len(told) // 2):
        told.append((random.random(), _miss(random, words), "", 0, ""))
    told.sort()
    said = tuple(
        Said(f"s{at}", text, START_NS + at * DAY_NS, "user", chain, step, value)
        for at, (_, text, chain, step, value) in enumerate(told)
    )
    of = {name: tuple(each.id for each in said if each.chain == name) for name in asked}
    return World(said, tuple(Chain(name, ask, of[name], also[name]) for name, ask in asked.items()))


def _history(
    random: Random, kind: Attribute, owner: str, name: str, steps: int
) -> Iterator[tuple[float, str, str, int, str]]:
    values = _values(random, VALUES[kind.values], steps + 1)
    times = sorted(random.random() for _ in values)
    for step, (at, value) in enumerate(zip(times, values, strict=True)):
        form = random.choice(kind.later if step else kind.first)
        before = values[step - 1] if step else ""
        text = form.format(o=owner, v=value, w=before)
        yield at, text[0].upper() + text[1:], name, step, value


def _values(random: Random, values: Sequence[str], count: int) -> list[str]:
    """*count* values, no two of them alike in a row."""
    found: list[str] = []
    while len(found) < count:
        value = random.choice(values)
        if not found or found[-1] != value:
            found.append(value)
    return found


def _miss(random: Random, words: Wordings) -> str:
    owners = [*OWNERS["person"], *OWNERS["project"], *OWNERS["service"]]
    first, other = random.sample(owners, 2)
    text = random.choice(words.misses).format(
        o=first,
        p=other,
        n=random.choice(VALUES["count"]),
        d=random.choice(VALUES["date"]),
        a=random.choice(words.attributes).name,
    )
    return text[0].upper() + text[1:]
