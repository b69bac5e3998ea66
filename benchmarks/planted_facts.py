"""The facts that a long run plants in its turns, their rivals, and the questions for them.

A fact is who did what with a thing at a town. It has no id: each of its words stands in many other
sentences of the run. Each fact has rivals in other turns, three of a kind: the same of another
town, the same of another thing, and something else about just that thing at that town. It is asked
for in its own words, in other words with both names, and with another word for the thing, too. All
of these were written before any of them was asked.
"""

import random
from collections.abc import Iterable
from typing import Final, NamedTuple

RIVALS: Final = 3  # of each kind, for each fact
PEOPLE: Final = (
    *("Marla Quint", "Tobias Renn", "Ilse Varga", "Owen Strade", "Petra Holm", "Juri Kask"),
    "Noor Salim",
)
TOWNS: Final = (
    *("Velmar", "Ostby", "Kerrin", "Dunholt", "Lissa", "Marwick", "Tolven", "Hagen"),
    "Pradel",
)
THINGS: Final = {  # and what else one may call each of them
    "ferry": "boat",
    "kiln": "oven",
    "archive": "store of old papers",
    "orchard": "fruit garden",
    "ledger": "account book",
    "depot": "storage yard",
    "quarry": "stone pit",
    "lighthouse": "beacon",
    "chapel": "small church",
    "bakery": "bread shop",
    "smithy": "forge",
}


class Relation(NamedTuple):
    """A sentence that names a person, and two questions for it."""

    sentence: str
    asked: str  # in the words of the sentence
    reworded: str  # in others


RELATIONS: Final = (
    Relation(
        "{name} keeps the {thing} at {town}.",
        "Who keeps the {thing} at {town}?",
        "Which person looks after the {thing} in {town}?",
    ),
    Relation(
        "The repair of the {thing} at {town} was paid for by {name}.",
        "Who paid for the repair of the {thing} at {town}?",
        "Whose money went into mending the {thing} in {town}?",
    ),
    Relation(
        "{name} inspected the {thing} at {town} and found no fault.",
        "Who inspected the {thing} at {town}?",
        "By whom was the {thing} in {town} examined?",
    ),
    Relation(
        "The council bought the {thing} at {town} from {name}.",
        "From whom did the council buy the {thing} at {town}?",
        "Which seller handed the {thing} in {town} over to the authorities?",
    ),
    Relation(
        "The {thing} at {town} was designed by {name}.",
        "Who designed the {thing} at {town}?",
        "Which architect drew the {thing} in {town}?",
    ),
)
ELSEWHERE: Final = (  # about the thing at the town, and nothing that is asked for
    "Visitors to the {thing} at {town} come mostly in the afternoon.",
    "The road past the {thing} at {town} was closed for a week.",
    "Two letters about the {thing} at {town} are still unanswered.",
)


class Fact(NamedTuple):
    """What one turn found out, and how it is asked for later."""

    turn: int
    sentence: str
    asked: str  # in the words of the sentence
    reworded: str  # in other words; thing and town have their names
    renamed: str  # and the thing has another


class Planted(NamedTuple):
    """The facts, one a turn, and the sentences that each turn holds."""

    facts: tuple[Fact, ...]
    sentences: dict[int, list[str]]  # by turn, from 1


class _Said(NamedTuple):
    relation: Relation
    thing: str
    town: str

    def sentence(self, name: str) -> str:
        return self.relation.sentence.format(name=name, thing=self.thing, town=self.town)


def planted(rng: random.Random, facts: int, turns: int) -> Planted:
    """A fact in each of the first *facts* turns, and rivals of it in any of *turns*."""
    every = [_Said(r, thing, town) for r in RELATIONS for thing in THINGS for town in TOWNS]
    chosen = rng.sample(every, facts)
    made = tuple(_fact(turn, said, rng.choice(PEOPLE)) for turn, said in enumerate(chosen, 1))
    sentences: dict[int, list[str]] = {turn: [] for turn in range(1, turns + 1)}
    for fact in made:
        sentences[fact.turn].append(fact.sentence)
    for turn, said in enumerate(chosen, 1):
        for rival in (each for _ in range(RIVALS) for each in _rivals(rng, said, chosen)):
            other = rng.choice([each for each in sentences if each != turn])
            sentences[other].append(rival)
    return Planted(made, sentences)


def _fact(turn: int, said: _Said, name: str) -> Fact:
    relation, thing, town = said
    return Fact(
        turn,
        said.sentence(name),
        relation.asked.format(thing=thing, town=town),
        relation.reworded.format(thing=thing, town=town),
        relation.reworded.format(thing=THINGS[thing], town=town),
    )


def _rivals(rng: random.Random, said: _Said, facts: Iterable[_Said]) -> tuple[str, str, str]:
    """Sentences that share its words and are no fact of this run."""
    taken = set(facts)
    towns = [town for town in TOWNS if said._replace(town=town) not in taken]
    things = [thing for thing in THINGS if said._replace(thing=thing) not in taken]
    return (
        said._replace(town=rng.choice(towns)).sentence(rng.choice(PEOPLE)),
        said._replace(thing=rng.choice(things)).sentence(rng.choice(PEOPLE)),
        rng.choice(ELSEWHERE).format(thing=said.thing, town=said.town),
    )
