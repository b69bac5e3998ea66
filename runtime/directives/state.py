"""What a user laid down, as an immutable value, and the one function that changes it."""

from hashlib import sha256
from typing import Final

from msgspec import Struct, json

from .change import (
    DEVICE,
    PREMISE,
    Answered,
    Asked,
    Change,
    FactCleared,
    FactSet,
    Pending,
    PoliciesReset,
    PolicyRemoved,
    PolicySet,
    StateCleared,
)
from .text_map import EMPTY, TextMap


class State(Struct, frozen=True):
    """Facts, policies, and the question that waits for an answer.

    A copy is free: states share what is equal. Two states are equal if their content is.
    """

    facts: TextMap = EMPTY  # value by name: exclusive, the last one holds
    policies: TextMap = EMPTY  # "use" or "prohibit" by item: additive
    pending: Pending | None = None

    @property
    def premise(self) -> str | None:
        """The premise, or None."""
        return self.facts.get(PREMISE)

    @property
    def device(self) -> str | None:
        """The fact `focus.device` of the seed profile, or None."""
        return self.facts.get(DEVICE)

    @property
    def digest(self) -> str:
        """SHA-256 in hexadecimal: equal states have equal digests, however they came about.

        It costs a few hashes after each update, at any size of the state.
        """
        waiting = b"" if self.pending is None else json.encode(self.pending, order="sorted")
        parts = b"state" + self.facts.digest + self.policies.digest + sha256(waiting).digest()
        return sha256(parts).hexdigest()

    def same_content(self, other: "State") -> bool:
        """Whether no update lies between the two; cheap, where one came from the other."""
        return self.facts is other.facts and self.policies is other.policies


INITIAL = State()
MANY: Final = 16  # changes that are taken over together


def apply(state: State, change: Change) -> State:
    """The state after *change*; no change is refused."""
    match change:
        case PolicySet(item=item, rule=rule):
            return State(state.facts, state.policies.having(item, rule), state.pending)
        case PolicyRemoved(item=item):
            return State(state.facts, state.policies.without(item), state.pending)
        case FactSet(name=name, value=value):
            return State(state.facts.having(name, value), state.policies, state.pending)
        case FactCleared(name=name):
            return State(state.facts.without(name), state.policies, state.pending)
        case PoliciesReset():
            return State(state.facts, _emptied(state.policies), state.pending)
        case StateCleared():
            return State(_emptied(state.facts), _emptied(state.policies), state.pending)
        case Asked(pending=pending):
            return State(state.facts, state.policies, pending)
        case Answered():
            return State(state.facts, state.policies)


def fold(state: State, changes: "tuple[Change, ...]") -> State:
    """The state after all *changes*, in their order."""
    if len(changes) < MANY:
        for change in changes:
            state = apply(state, change)
        return state
    rules: dict[str, str | None] = {}  # by item, None for none: taken over at once
    for change in changes:
        match change:
            case PolicySet(item=item, rule=rule):
                rules[item] = rule
            case PolicyRemoved(item=item):
                rules[item] = None
            case _:
                state, rules = apply(_ruled(state, rules), change), {}
    return _ruled(state, rules)


def _ruled(state: State, rules: dict[str, str | None]) -> State:
    return State(state.facts, state.policies.updated(rules), state.pending)


def _emptied(whole: TextMap) -> TextMap:
    return EMPTY if whole else whole
