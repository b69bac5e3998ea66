"""What differs between two states."""

from msgspec import Struct

from .change import Change, FactCleared, FactSet, PolicyRemoved, PolicySet, Rule
from .state import State
from .text_map import TextMap


class Replaced(Struct, frozen=True):
    """One entry that has another value."""

    before: str
    after: str


class Differences(Struct, frozen=True):
    """What differs between two maps, by name and in the order of the names."""

    added: dict[str, str]
    removed: dict[str, str]
    changed: dict[str, Replaced]

    @property
    def any(self) -> bool:
        """Whether anything differs."""
        return bool(self.added or self.removed or self.changed)


class StateDiff(Struct, frozen=True):
    """What differs between two states, and what waits for an answer there."""

    facts: Differences
    policies: Differences
    pending_changed: bool

    @property
    def changed(self) -> bool:
        """Whether a fact or a policy differs."""
        return self.facts.any or self.policies.any

    def changes(self) -> tuple[Change, ...]:
        """What turns the facts and policies of the one into those of the other."""
        gone = [FactCleared(name=name) for name in self.facts.removed]
        facts = {**self.facts.added, **_after(self.facts)}
        removed = [PolicyRemoved(item=name) for name in self.policies.removed]
        rules = {**self.policies.added, **_after(self.policies)}
        return (
            *gone,
            *(FactSet(name=name, value=value) for name, value in facts.items()),
            *removed,
            *(PolicySet(item=name, rule=_rule(value)) for name, value in rules.items()),
        )


def state_diff(before: State, after: State) -> StateDiff:
    """What differs; parts that both states share cost nothing."""
    return StateDiff(
        _differences(before.facts, after.facts),
        _differences(before.policies, after.policies),
        before.pending != after.pending,
    )


def _differences(before: TextMap, after: TextMap) -> Differences:
    found = Differences({}, {}, {})
    for name, was, now in sorted(before.changes_to(after)):
        if was is None:
            found.added[name] = now or ""
        elif now is None:
            found.removed[name] = was
        else:
            found.changed[name] = Replaced(was, now)
    return found


def _after(found: Differences) -> dict[str, str]:
    return {name: each.after for name, each in found.changed.items()}


def _rule(value: str) -> Rule:
    return "use" if value == "use" else "prohibit"
