"""What strict and dialogue share: which directive holds beside which state, and what it changes."""

from collections.abc import Callable
from typing import Final

from .change import (
    PREMISE,
    Change,
    FactCleared,
    FactSet,
    PoliciesReset,
    PolicyRemoved,
    PolicySet,
    Rule,
    StateCleared,
)
from .decision import SemanticFailure, Update
from .directive import Directive, DirectiveKind
from .identity import excerpt, plain
from .limits import is_over_limit
from .state import State, fold

Identity = Callable[[str], str]  # the identity of an item, in one profile

# Once, for a member of an enumeration is looked up anew at each mention.
_USE: Final = DirectiveKind.USE_ITEM
_PROHIBIT: Final = DirectiveKind.PROHIBIT_ITEM
_SET: Final = DirectiveKind.SET_PREMISE
_CHANGE: Final = DirectiveKind.CHANGE_PREMISE
_COMMANDS: Final[dict[DirectiveKind, tuple[Change, ...]]] = {
    DirectiveKind.CLEAR_PREMISE: (FactCleared(name=PREMISE),),
    DirectiveKind.RESET_POLICIES: (PoliciesReset(),),
    DirectiveKind.CLEAR_STATE: (StateCleared(),),
}

_MESSAGES: Final = {
    SemanticFailure.PREMISE_ALREADY_SET: "There is a premise already. To replace it, say "
    "`change premise to ...`.",
    SemanticFailure.PREMISE_NOT_SET: "There is no premise to change. To set one, say "
    "`set premise ...`.",
    SemanticFailure.ITEM_PROHIBITED: '"{item}" is prohibited. Remove that policy before you '
    "allow its use.",
    SemanticFailure.ITEM_ALREADY_IN_USE: '"{item}" is in use. Remove that policy before you '
    "prohibit it.",
    SemanticFailure.REPLACEMENT_SOURCE_PROHIBITED: '"{old}" is prohibited, so nothing can replace '
    "its use. Remove that policy, or use the new item without a replacement.",
    SemanticFailure.REPLACEMENT_TARGET_PROHIBITED: '"{item}" is prohibited, so it cannot replace '
    '"{old}". Remove that policy first.',
    SemanticFailure.REPLACEMENT_SOURCE_MISSING: '"{old}" is not in use, so nothing can replace it. '
    "To use the new item, say `use ...`.",
}


def refusal(
    state: State, kind: DirectiveKind, changes: tuple[Change, ...]
) -> SemanticFailure | None:
    """Why a directive that makes *changes* does not hold beside *state*, or None."""
    if kind is _USE and _is(state, changes, "prohibit"):
        return SemanticFailure.ITEM_PROHIBITED
    if kind is _PROHIBIT and _is(state, changes, "use"):
        return SemanticFailure.ITEM_ALREADY_IN_USE
    if kind is _SET and state.premise is not None:
        return SemanticFailure.PREMISE_ALREADY_SET
    if kind is _CHANGE and state.premise is None:
        return SemanticFailure.PREMISE_NOT_SET
    match changes:
        case (PolicyRemoved(item=old), PolicySet(item=new)):
            return _replacement_refusal(state, new, old)
        case _:
            return None


def message_of(failure: SemanticFailure, directive: Directive) -> str:
    """What is wrong and what to do."""
    return _MESSAGES[failure].format(item=excerpt(directive.operand), old=excerpt(directive.old))


def changes_of(directive: Directive, identity: Identity) -> tuple[Change, ...] | None:
    """What *directive* does, where it is not refused; None if an operand is over a limit."""
    # As stored, too: compatibility forms can be longer, and what is stored must be nameable.
    if is_over_limit(directive.operand) or is_over_limit(directive.old):
        return None
    changes = _changes(directive, identity)
    return None if any(is_over_limit(_named(each)) for each in changes) else changes


def _named(change: Change) -> str:
    match change:
        case PolicySet(item=text) | PolicyRemoved(item=text) | FactSet(value=text):
            return text
        case _:
            return ""


def _changes(directive: Directive, identity: Identity) -> tuple[Change, ...]:
    kind = directive.kind
    if kind is _USE:
        return (PolicySet(item=identity(directive.operand), rule="use"),)
    if kind is _PROHIBIT:
        return (PolicySet(item=identity(directive.operand), rule="prohibit"),)
    if kind is _SET or kind is _CHANGE:
        return (FactSet(name=PREMISE, value=plain(directive.operand)),)
    if kind is DirectiveKind.REMOVE_POLICY:
        return (PolicyRemoved(item=identity(directive.operand)),)
    if kind is DirectiveKind.REPLACE_USE:
        return replacement(identity(directive.operand), identity(directive.old))
    return _COMMANDS[kind]


def replacement(new: str, old: str) -> tuple[Change, ...]:
    """What it does to use *new* instead of *old*; nothing, where they are the same."""
    return () if new == old else (PolicyRemoved(item=old), PolicySet(item=new, rule="use"))


def updated(state: State, changes: tuple[Change, ...]) -> tuple[State, Update]:
    """The state after *changes*, and the decision that says so."""
    after = fold(state, changes)
    changed = not after.same_content(state)
    return after, Update(changes=changes, changed=changed, state=after)


def _is(state: State, changes: tuple[Change, ...], rule: Rule) -> bool:
    (change,) = changes
    return isinstance(change, PolicySet) and state.policies.get(change.item) == rule


def _replacement_refusal(state: State, new: str, old: str) -> SemanticFailure | None:
    was = state.policies.get(old)
    if was == "prohibit":
        return SemanticFailure.REPLACEMENT_SOURCE_PROHIBITED
    if state.policies.get(new) == "prohibit":
        return SemanticFailure.REPLACEMENT_TARGET_PROHIBITED
    return None if was == "use" else SemanticFailure.REPLACEMENT_SOURCE_MISSING
