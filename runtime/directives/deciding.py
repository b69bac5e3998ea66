"""Decides about requests in one scope: which fact follows, or why a request is refused. Pure."""

import re
from shlex import quote
from typing import Any, Final

from msgspec import Struct

from cortex.bus import BODY_BYTES, Event
from cortex.bus.events import (
    DirectiveApplied,
    DirectiveBranch,
    DirectiveBranched,
    DirectiveClarificationAsked,
    DirectiveConflicted,
    DirectiveMerge,
    DirectiveMerged,
    DirectivePassed,
    DirectivePin,
    DirectivePinned,
    DirectiveRedo,
    DirectiveRedone,
    DirectiveRefused,
    DirectiveSubmit,
    DirectiveUndo,
    DirectiveUndone,
)

from .change import Answered
from .codec import import_state
from .decision import Clarify, Decision, Error, Update
from .difference import state_diff
from .errors import DirectivesError, RequestRefusedError
from .grammar import text_of
from .ledger import FACT, MAIN, POLICY, Branch, Content, ScopeLedger, evolve, part_of
from .merging import merge, recall
from .profile import PROFILES, Profile, reader
from .state import State, fold
from .stored_changes import size_bytes, stored

MOST_BRANCHES: Final = 64  # of a scope
LONGEST_DIGEST: Final = "0" * 64  # in place of that of a blob
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
Request = (
    DirectiveSubmit
    | DirectiveUndo
    | DirectiveRedo
    | DirectiveBranch
    | DirectiveMerge
    | DirectivePin
)


class Asking(Struct, frozen=True, kw_only=True):
    """Who asks, and what is known besides the scope."""

    by: str  # who published the request, as the hub authenticated them
    position: int  # of the request
    profile: str = "dialogue"  # where the request names none
    source: ScopeLedger | None = None  # of the other scope, of a recall


def decide(ledger: ScopeLedger, request: Request, asking: Asking) -> tuple[ScopeLedger, Event]:
    """The scope after *request*, and the fact that says so."""
    try:
        fact = _fact(ledger, request, asking)
        _check_size(fact)
    except RequestRefusedError as refused:
        return ledger, refusal(request, asking.by, refused)
    return evolve(ledger, fact, asking.position), fact


def _check_size(fact: Event) -> None:
    # A longer event is in no log: the request would be without an answer. Changes may be in a blob.
    found = size_bytes(stored(fact, lambda _: LONGEST_DIGEST))
    if found > BODY_BYTES:
        raise RequestRefusedError(
            f"its answer is longer than an event ({found:,} bytes; at most {BODY_BYTES:,}): "
            "merge or write less at once"
        )


def refusal(request: Request, by: str, refused: RequestRefusedError) -> DirectiveRefused:
    """The fact that *request* was refused."""
    return DirectiveRefused(
        scope=request.scope[:SHOWN],
        branch=request.branch[:SHOWN],
        asked=request.topic_name(),
        reason=refused.reason,
        by=by,
        failure=refused.failure,
        repairs=refused.repairs,
    )


SHOWN: Final = 210  # characters of a scope that is none


def _fact(ledger: ScopeLedger, request: Request, asking: Asking) -> Event:
    branch = _branch(ledger, request.branch)
    match request:
        case DirectiveSubmit():
            return _submitted(branch, request, asking)
        case DirectiveUndo():
            return _undone(branch, request, asking)
        case DirectiveRedo():
            return _redone(branch, request, asking)
        case DirectiveBranch():
            return _branched(ledger, request, asking)
        case DirectiveMerge():
            return _merged(ledger, branch, request, asking)
        case DirectivePin():
            return _pinned(branch, request, asking)


def _branch(ledger: ScopeLedger, name: str) -> Branch:
    found = ledger.branches.get(name)
    if found is None:
        known = ", ".join(sorted(ledger.branches))
        raise RequestRefusedError(
            f"there is no branch {name[:64]!r} in this scope; there is: {known}"
        )
    return found


def _profile(name: str) -> Profile:
    found = PROFILES.get(name)
    if found is None:
        raise RequestRefusedError(f"there is no profile {name[:64]!r}: name {', '.join(PROFILES)}")
    return found


def _submitted(branch: Branch, request: DirectiveSubmit, asking: Asking) -> Event:
    profile = _profile(request.profile or asking.profile)
    if request.state and request.text:
        raise RequestRefusedError("it has both a text and a state: give one of them")
    if request.state:
        return _imported(branch, request, asking, profile)
    profile = reader(profile, branch.content.state)
    state, decision = profile.step(branch.content.state, request.text)
    check_pins(branch, state)
    return _decided(request, asking.by, profile, decision, state.digest)


def _decided(
    request: DirectiveSubmit, by: str, profile: Profile, decision: Decision, digest: str
) -> Event:
    place: dict[str, Any] = {"scope": request.scope, "branch": request.branch, "by": by}
    match decision:
        case Update():
            return DirectiveApplied(
                **place,
                text=request.text,
                profile=profile.name,
                changes=decision.changes,
                changed=decision.changed,
                digest=digest,
            )
        case Clarify():
            return DirectiveClarificationAsked(
                **place,
                question=decision.prompt_to_user or "",
                waits=decision.pending is not None,
                profile=profile.name,
                changes=decision.changes,
                failure=str(decision.failure or ""),
            )
        case Error():
            repairs = tuple(text_of(each) for each in decision.repairs)
            raise RequestRefusedError(decision.message, str(decision.failure), repairs)
        case _:
            return DirectivePassed(**place, changes=decision.changes)


def _imported(
    branch: Branch, request: DirectiveSubmit, asking: Asking, profile: Profile
) -> DirectiveApplied:
    try:
        state = import_state(profile, request.state)
    except DirectivesError as error:
        raise RequestRefusedError(str(error)) from None
    changes = state_diff(branch.content.state, state).changes()
    if branch.content.state.pending is not None:
        changes = (Answered(yes=False), *changes)
    check_pins(branch, state)
    return DirectiveApplied(
        scope=request.scope,
        branch=request.branch,
        text="",
        profile=profile.name,
        changes=changes,
        changed=any(not isinstance(each, Answered) for each in changes),
        digest=state.digest,
        by=asking.by,
    )


def _undone(branch: Branch, request: DirectiveUndo, asking: Asking) -> DirectiveUndone:
    waits = branch.content.state.pending is not None
    if not waits and branch.undo is None:
        raise RequestRefusedError("there is nothing to undo in this branch")
    step = branch.undo
    before = branch.settled if waits or step is None else step.content
    check_pins(branch, before.state)
    return DirectiveUndone(
        scope=request.scope,
        branch=request.branch,
        undone=0 if waits or step is None else step.position,
        changes=state_diff(branch.content.state, before.state).changes(),
        digest=before.state.digest,
        by=asking.by,
    )


def _redone(branch: Branch, request: DirectiveRedo, asking: Asking) -> DirectiveRedone:
    step = None if branch.redo_ended else branch.redo
    if step is None or branch.content.state.pending is not None:
        raise RequestRefusedError("there is nothing to redo in this branch: a redo follows an undo")
    check_pins(branch, step.content.state)
    return DirectiveRedone(
        scope=request.scope,
        branch=request.branch,
        redone=step.position,
        changes=state_diff(branch.content.state, step.content.state).changes(),
        digest=step.content.state.digest,
        by=asking.by,
    )


def _branched(ledger: ScopeLedger, request: DirectiveBranch, asking: Asking) -> DirectiveBranched:
    name = request.name
    if request.delete:
        _branch(ledger, name)
        heirs = sorted(each for each, found in ledger.branches.items() if found.parent == name)
        if name == MAIN:
            raise RequestRefusedError("the branch main cannot be deleted: it is the one in force")
        if heirs:
            raise RequestRefusedError(f"{', '.join(heirs)} started from {name}: delete that first")
    elif not _NAME.fullmatch(name):
        raise RequestRefusedError(
            f"{name[:64]!r} is no name of a branch: use at most 64 small letters, digits, '.', "
            "'_' and '-'"
        )
    elif name in ledger.branches:
        raise RequestRefusedError(f"there is a branch {name} already: give another name")
    elif len(ledger.branches) >= MOST_BRANCHES:
        raise RequestRefusedError(f"a scope has at most {MOST_BRANCHES} branches: delete one")
    return DirectiveBranched(
        scope=request.scope,
        name=name,
        branch=ledger.branches[name].parent if request.delete else request.branch,
        by=asking.by,
        deleted=request.delete,
    )


def _merged(
    ledger: ScopeLedger, branch: Branch, request: DirectiveMerge, asking: Asking
) -> DirectiveMerged | DirectiveConflicted:
    source_scope = request.source_scope or request.scope
    if branch.content.state.pending is not None:
        raise RequestRefusedError("a question is open in this branch: answer it, or undo it, first")
    recalls = source_scope != request.scope
    if recalls:
        source = _branch(asking.source or ScopeLedger(), request.source)
        found = recall(branch.settled, source.settled)
    elif request.source == request.branch:
        raise RequestRefusedError("a branch cannot be merged into itself: name another one")
    else:
        source = _branch(ledger, request.source)
        base = ledger.base(request.branch, request.source)
        found = merge(branch.settled, source.settled, base)
    place: dict[str, Any] = {
        "scope": request.scope,
        "branch": request.branch,
        "source": request.source,
        "source_scope": source_scope,
        "by": asking.by,
    }
    if found.conflicts and not recalls:
        return DirectiveConflicted(**place, conflicts=found.conflicts)
    after = fold(branch.content.state, found.changes)
    check_pins(branch, after)
    return DirectiveMerged(
        **place, changes=found.changes, digest=after.digest, left=found.conflicts
    )


def _pinned(branch: Branch, request: DirectivePin, asking: Asking) -> DirectivePinned:
    part = named_part(branch.content, request.name, _profile(asking.profile))
    if request.pinned and not branch.content.value(part):
        raise RequestRefusedError(
            f"nothing is laid down about {request.name[:80]!r}: lay it down first"
        )
    if request.pinned == (part in branch.pinned):
        state = "pinned already" if request.pinned else "not pinned"
        raise RequestRefusedError(f"{request.name[:80]!r} is {state}: nothing is changed")
    return DirectivePinned(
        scope=request.scope,
        branch=request.branch,
        name=part,
        pinned=request.pinned,
        by=asking.by,
    )


def named_part(content: Content, name: str, profile: Profile) -> str:
    """The fact or policy that a person calls *name*."""
    if content.state.facts.get(name) is not None:
        return part_of(FACT, name)
    exact = part_of(POLICY, name)
    return exact if content.value(exact) else part_of(POLICY, profile.identity(name[:SHOWN]))


def check_pins(branch: Branch, after: State) -> None:
    """Refuse what changes a pinned part of *branch*; raises `RequestRefusedError`."""
    for part in sorted(branch.pinned):
        if Content(after).value(part) != branch.content.value(part):
            name = part.partition("/")[2]
            raise RequestRefusedError(
                f"{name!r} is pinned, so nothing changes it: `cortex directive pin {quote(name)} "
                "--release` first",
                "pinned",
            )
