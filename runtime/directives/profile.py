"""The three profiles: one core, and how each reads what a user says."""

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from . import dialogue, seed, strict
from .decision import Decision
from .identity import item, listed, spoken
from .state import State

Step = Callable[[State, str], tuple[State, Decision]]


class Profile(Struct, frozen=True, kw_only=True):
    """How texts become directives. A profile has no state of its own."""

    name: str
    version: int  # of the JSON in which its states are exported
    step: Step  # a pure function: the state after a text, and what was decided
    identity: Callable[[str], str]  # the stored spelling of an item


SEED: Final = Profile(name="seed", version=1, step=seed.step, identity=listed)
DIALOGUE: Final = Profile(name="dialogue", version=2, step=dialogue.step, identity=spoken)
STRICT: Final = Profile(name="strict", version=2, step=strict.step, identity=item)
PROFILES: Final = {each.name: each for each in (SEED, DIALOGUE, STRICT)}
_ASKED_BY: Final = {
    "policy_add": SEED,
    "fact_set": SEED,
    "use_only": DIALOGUE,
    "replace_use": DIALOGUE,
}


def reader(profile: Profile, state: State) -> Profile:
    """Who reads the next text: *profile*, or the one whose question is open.

    To a question of another profile, a yes would mean something else, or nothing.
    """
    return profile if state.pending is None else _ASKED_BY[state.pending.kind]
