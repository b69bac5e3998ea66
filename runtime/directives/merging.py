"""Merges of branches, and recalls from other scopes, so that nothing that was cleared comes back.

A merge is of three: what the other branch changed since the two went apart is taken over, if this
branch did not change it as well. If both changed it, that is a conflict, and nothing is merged. A
part that was cleared here since, and that the other branch laid down by itself, is one, too.

A recall takes what another scope has and this one says nothing about. What was cleared here after
it was laid down there stays cleared, and is named.
"""

from msgspec import Struct

from cortex.bus.events import DirectiveConflict

from .change import Change
from .difference import state_diff
from .ledger import FACT, Base, Content, parts_changed
from .state import INITIAL, State


class Merge(Struct, frozen=True):
    """What a merge does, or why it is not possible."""

    changes: tuple[Change, ...] = ()
    conflicts: tuple[DirectiveConflict, ...] = ()


def merge(here: Content, there: Content, base: Base) -> Merge:
    """Bring into *here* what changed from *base* to *there*."""
    taken: dict[str, str] = {}
    conflicts: list[DirectiveConflict] = []
    for part, was, value in parts_changed(base.content.state, there.state):
        now, cleared = here.value(part), here.cleared_at(part)
        if now == value:
            continue
        if now != was or (not now and cleared > base.position):
            conflicts.append(DirectiveConflict(name=part, here=now, there=value, cleared=cleared))
        else:
            taken[part] = value
    if conflicts:
        return Merge(conflicts=tuple(conflicts))
    return Merge(_changes(here, taken))


def recall(here: Content, there: Content) -> Merge:
    """Add to *here* what *there* has beside it; what was cleared here since is left out."""
    taken: dict[str, str] = {}
    left: list[DirectiveConflict] = []
    for part, _, value in parts_changed(INITIAL, there.state):
        now, cleared = here.value(part), here.cleared_at(part)
        if now == value:
            continue
        if now or cleared > there.position(part):
            left.append(DirectiveConflict(name=part, here=now, there=value, cleared=cleared))
        else:
            taken[part] = value
    return Merge(_changes(here, taken), tuple(left))


def _changes(here: Content, taken: dict[str, str]) -> tuple[Change, ...]:
    facts, policies = here.state.facts, here.state.policies
    for part, value in taken.items():
        kind, _, name = part.partition("/")
        if kind == FACT:
            facts = facts.having(name, value) if value else facts.without(name)
        else:
            policies = policies.having(name, value) if value else policies.without(name)
    return state_diff(here.state, State(facts, policies)).changes()
