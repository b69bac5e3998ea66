"""What an action or a tool does to the world, as it declares it.

| effect | what it does | after a kill, a lost worker, or an error that nobody expected |
|---|---|---|
| `none` | computes | it is run again |
| `read` | looks at the world | it is run again |
| `idempotent` | changes it, once for a key however often it is done | it is done again, same key |
| `once` | changes it each time | never again by itself: a person is asked what happened |
"""

from typing import Literal, TypeAlias

Effect: TypeAlias = Literal["none", "read", "idempotent", "once"]

EFFECTS: tuple[Effect, ...] = ("none", "read", "idempotent", "once")
UNDECLARED: Effect = "once"  # of what says nothing
FREE: frozenset[Effect] = frozenset(("none", "read"))  # those that change nothing in the world


def effect_of(said: object, otherwise: Effect = UNDECLARED) -> Effect:
    """The effect that is declared as *said*; *otherwise* where that is none of them."""
    for each in EFFECTS:
        if each == said:
            return each
    return otherwise
