"""What is shown of a scope: its facts and policies with the event behind each, and its history."""

from collections.abc import Iterable

from msgspec import Struct

from cortex.bus import Event
from cortex.bus.events import (
    DirectiveApplied,
    DirectiveBranched,
    DirectiveClarificationAsked,
    DirectiveConflicted,
    DirectiveMerged,
    DirectivePassed,
    DirectivePinned,
    DirectiveRedone,
    DirectiveRefused,
    DirectiveUndone,
)

from .change import (
    Answered,
    Change,
    FactCleared,
    FactSet,
    PoliciesReset,
    PolicyRemoved,
    PolicySet,
    StateCleared,
)
from .deciding import check_pins
from .errors import RequestRefusedError
from .in_force import laid_down
from .ledger import Branch, ScopeLedger, parts_changed
from .profile import Profile, reader
from .running import preview
from .state import State
from .stored_changes import number_of_changes

SHOWN = 3  # changes that a line names
FACTS = (
    DirectiveApplied,
    DirectiveBranched,
    DirectiveClarificationAsked,
    DirectiveConflicted,
    DirectiveMerged,
    DirectivePassed,
    DirectivePinned,
    DirectiveRedone,
    DirectiveRefused,
    DirectiveUndone,
)


class DirectiveRow(Struct, frozen=True, kw_only=True):
    """A fact or policy."""

    kind: str  # "fact" or "policy"
    name: str  # "premise", or the item
    value: str  # the fact's, or "use" or "prohibit"
    scope: str
    position: int  # of the request behind it
    pinned: bool = False


class ScopeDocument(Struct, frozen=True, kw_only=True):
    """What is laid down in a scope."""

    scope: str
    branch: str
    directives: list[DirectiveRow]
    question: str  # that waits for an answer; "" for none
    digest: str  # SHA-256 of the state
    branches: list[str]
    can_undo: bool
    can_redo: bool


class PreviewDocument(Struct, frozen=True, kw_only=True):
    """What a sentence would do."""

    decision: str
    changed: list[list[str]]  # name, value before, value after; "" for nothing
    says: str = ""  # the question or the error
    digest: str = ""  # of the state after it


def scope_document(scope: str, branch: str, ledger: ScopeLedger) -> ScopeDocument:
    """What is laid down in one branch of a scope."""
    found = ledger.branches[branch]
    state = found.content.state
    return ScopeDocument(
        scope=scope,
        branch=branch,
        directives=_rows(scope, found),
        question=state.pending.prompt if state.pending is not None else "",
        digest=state.digest,
        branches=sorted(ledger.branches),
        can_undo=found.undo is not None or state.pending is not None,
        can_redo=found.redo is not None and not found.redo_ended and state.pending is None,
    )


def _rows(scope: str, branch: Branch) -> list[DirectiveRow]:
    return [
        DirectiveRow(
            kind=each.kind,
            name=each.name,
            value=each.value,
            scope=scope,
            position=each.position,
            pinned=f"{each.kind}/{each.name}" in branch.pinned,
        )
        for each in laid_down(scope, branch.content)
    ]


def preview_document(profile: Profile, branch: Branch, text: str) -> PreviewDocument:
    """What *text* would do to a branch; nothing is laid down."""
    state = branch.content.state
    found = preview(reader(profile, state), state, text)
    try:
        check_pins(branch, found.after)
    except RequestRefusedError as refused:
        return PreviewDocument(
            decision="refused", changed=[], says=refused.reason, digest=found.before.digest
        )
    return PreviewDocument(
        decision=found.decision.kind,
        changed=[list(each) for each in named_changes(found.before, found.after)],
        says=found.decision.prompt_to_user or "",
        digest=found.after.digest,
    )


def named_changes(before: State, after: State) -> Iterable[tuple[str, str, str]]:
    """Name, value before and value after of each fact and policy that differs."""
    return [(part.partition("/")[2], was, now) for part, was, now in parts_changed(before, after)]


def line_of(fact: Event) -> str:
    """What a fact says, in one line."""
    match fact:
        case DirectiveApplied(text=text, changed=changed, changes=changes):
            news = changed or any(isinstance(each, Answered) for each in changes)
            return f"{text or 'import'}{'' if news else ' (said so already)'}"
        case DirectiveClarificationAsked(question=question):
            return f"asked: {question}"
        case DirectivePassed(changes=changes):
            return "answered with no" if changes else "lays nothing down"
        case DirectiveRefused(reason=reason):
            return f"refused: {reason}"
        case DirectiveUndone(undone=0):
            return "withdrew the question"
        case DirectiveUndone(undone=undone):
            return f"undid what was laid down at {undone}{_now(fact)}"
        case DirectiveRedone(redone=redone):
            return f"redid what was laid down at {redone}{_now(fact)}"
        case DirectiveBranched(name=name, deleted=deleted):
            return f"{'deleted the branch' if deleted else 'new branch'} {name}"
        case DirectiveMerged():
            many, left = number_of_changes(fact), len(fact.left)
            return f"merged {_source(fact)}: {many:,} changed, {left:,} left out"
        case DirectiveConflicted():
            names = ", ".join(each.name.partition("/")[2] for each in fact.conflicts)
            return f"{_source(fact)} contradicts it about {names}"
        case DirectivePinned(name=name, pinned=pinned):
            return f"{'pinned' if pinned else 'released'} {name.partition('/')[2]}"
        case _:
            return fact.topic_name()


def _now(fact: DirectiveUndone | DirectiveRedone) -> str:
    """What holds since then, as far as the event itself has it."""
    said = [text for each in fact.changes if (text := _change_line(each))]
    if not said:
        return ""
    more = f" and {len(said) - SHOWN:,} more" if len(said) > SHOWN else ""
    return f"; now {', '.join(said[:SHOWN])}{more}"


def _change_line(change: Change) -> str:
    match change:
        case FactSet(name=name, value=value):
            return f"`{name}: {value}`"
        case PolicySet(item=item, rule=rule):
            return f"`{rule} {item}`"
        case FactCleared(name=name) | PolicyRemoved(item=name):
            return f"nothing about {name}"
        case PoliciesReset():
            return "no policies"
        case StateCleared():
            return "nothing"
        case _:
            return ""


def _source(fact: DirectiveMerged | DirectiveConflicted) -> str:
    return (
        fact.source if fact.source_scope == fact.scope else f"{fact.source} of {fact.source_scope}"
    )
