"""The directives of a home for commands: requests of the person at it, and what is shown."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import msgspec
from msgspec.structs import replace

from cortex.bus import Event, serving
from cortex.bus.events import (
    DirectiveApplied,
    DirectiveClarificationAsked,
    DirectiveConflicted,
    DirectiveMerged,
    DirectiveRedone,
    DirectiveRefused,
    DirectiveSubmit,
    DirectiveUndone,
)
from cortex.runtime.directives import (
    HistoryRow,
    HomeDirectives,
    InForce,
    PreviewDocument,
    Request,
    ScopeDocument,
    check_state_size,
    left_out,
    line_of,
    not_utf_8,
    number_of_changes,
)
from cortex.runtime.kernel import Home, iso
from cortex.runtime.memory import Scope
from cortex.runtime.sessions import BRIEF_S, Session

LARGE_S: Final = 600.0  # that a command waits for the import of a large state
LONGEST_IN_EVENT: Final = 32_000  # characters of a state; a longer one is a blob
Ask = Callable[[Request], "StepDocument"]


class ConflictRow(msgspec.Struct, frozen=True, kw_only=True):
    """A fact or policy that two branches contradict each other about, or that stays cleared."""

    name: str
    here: str  # "" for nothing
    there: str


class StepDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a request."""

    outcome: str  # "applied", "clarification_asked", "passed", "refused", "undone", ...
    scope: str
    branch: str
    position: int  # of the answer; 0 if nothing was asked
    says: str
    changed: bool = False
    failure: str = ""
    repairs: list[str] = []
    waits: bool = False  # whether yes or no is expected
    digest: str = ""  # of the state after it
    conflicts: list[ConflictRow] = []


class HistoryEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the history of a scope."""

    position: int
    request: int
    time: str  # UTC
    branch: str
    event: str
    by: str
    said: str


class ScopeRow(msgspec.Struct, frozen=True, kw_only=True):
    """A scope in which something was laid down."""

    scope: str
    facts: int
    policies: int
    question: str
    branches: list[str]
    digest: str


class DirectivesExported(msgspec.Struct, frozen=True, kw_only=True):
    """What an export wrote."""

    scope: str
    branch: str
    file: str
    digest: str
    left_out: list[str] = []  # what another profile laid down, which the format cannot say


@contextmanager
def asking(home: Home, subject: str = "") -> Iterator[Ask]:
    """A function that asks, as the person at *home*, for as many requests as there are.

    With *subject*, they are about this person, and encrypted.

    It raises `RefusedError` if nothing answers in time; a refused directive is a document.
    """
    with Session.open(home, patience_s=BRIEF_S) as session:

        def ask(request: Request) -> StepDocument:
            return _asked(session, request, subject)

        yield ask


def _asked(
    session: Session, request: Request, subject: str, wait_s: float = BRIEF_S
) -> StepDocument:
    fact, position = session.answer_to(request, Event, Event, subject, wait_s)
    return step_document(fact, request, position)


def import_directives(
    home: Home, state: bytes, scope: str, branch: str, profile: str, subject: str = ""
) -> StepDocument:
    """Replace what is laid down in a branch by an exported *state*; raises as `asking` does.

    With *subject*, it is about this person, and encrypted.

    Raises:
        StateInvalidError: It is not UTF-8, or too large.
    """
    check_state_size(len(state))
    try:
        text = state.decode().strip() or "{}"
    except UnicodeDecodeError as error:
        raise not_utf_8(error) from None
    request = DirectiveSubmit(scope=scope, profile=profile, branch=branch)
    with Session.open(home, patience_s=BRIEF_S) as session:
        if len(text) <= LONGEST_IN_EVENT:
            return _asked(session, replace(request, state=text), subject)
        with serving(subject or None):
            digest = session.history.blobs.put(text.encode())
        return _asked(session, replace(request, state_blob=digest), subject, LARGE_S)


def ask_directive(home: Home, request: Request, subject: str = "") -> StepDocument:
    """What becomes of one request of the person at *home*; raises as `asking` does."""
    with asking(home, subject) as ask:
        return ask(request)


def step_document(fact: Event, request: Request, position: int) -> StepDocument:
    """What *fact* says about *request*."""
    document = StepDocument(
        outcome=fact.topic_name().partition(".")[2],
        scope=request.scope,
        branch=request.branch,
        position=position,
        says=line_of(fact),
    )
    match fact:
        case DirectiveApplied(changed=changed, digest=digest):
            return replace(document, changed=changed, digest=digest)
        case DirectiveUndone() | DirectiveRedone() | DirectiveMerged():
            return replace(
                document,
                changed=bool(number_of_changes(fact)),
                digest=fact.digest,
                conflicts=_rows(fact) if isinstance(fact, DirectiveMerged) else [],
            )
        case DirectiveConflicted():
            return replace(document, conflicts=_rows(fact))
        case DirectiveRefused(failure=failure, repairs=repairs, reason=reason):
            return replace(document, failure=failure, repairs=list(repairs), says=reason)
        case DirectiveClarificationAsked(question=question, waits=waits, failure=failure):
            return replace(document, says=question, waits=waits, failure=failure)
        case _:
            return document


def _rows(fact: DirectiveMerged | DirectiveConflicted) -> list[ConflictRow]:
    found = fact.left if isinstance(fact, DirectiveMerged) else fact.conflicts
    return [
        ConflictRow(name=each.name.partition("/")[2], here=each.here, there=each.there)
        for each in found
    ]


def directives_in(home: Home, scope: str, branch: str) -> ScopeDocument:
    """What is laid down in a branch of a scope; raises as `HomeDirectives.branch` does."""
    with HomeDirectives.open(home) as directives:
        return directives.state(scope, branch)


def directives_in_force(home: Home, scopes: Sequence[str]) -> InForce:
    """What is in force where all of *scopes* apply; raises as `HomeDirectives.in_force` does."""
    with HomeDirectives.open(home) as directives:
        return directives.in_force(scopes)


def directive_history(home: Home, scope: str, limit: int) -> list[HistoryEntry]:
    """The newest *limit* facts of a scope, the oldest first; raises as `HomeDirectives` does."""
    with HomeDirectives.open(home) as directives:
        return [_entry(row) for row in directives.history(scope)[-limit:]]


def _entry(row: HistoryRow) -> HistoryEntry:
    return HistoryEntry(
        position=row.position,
        request=row.request,
        time=iso(row.time_ns),
        branch=row.branch,
        event=row.topic,
        by=row.by,
        said=row.said,
    )


def directive_scopes(home: Home) -> list[ScopeRow]:
    """The scopes in which something was laid down, the widest first."""
    with HomeDirectives.open(home) as directives:
        found = [directives.state(scope) for scope in directives.scopes()]
    return [
        ScopeRow(
            scope=each.scope,
            facts=sum(row.kind == "fact" for row in each.directives),
            policies=sum(row.kind == "policy" for row in each.directives),
            question=each.question,
            branches=each.branches,
            digest=each.digest,
        )
        for each in found
    ]


def preview_directive(
    home: Home, text: str, scope: str, branch: str, profile: str
) -> PreviewDocument:
    """What *text* would do; raises as `HomeDirectives.branch` does."""
    with HomeDirectives.open(home) as directives:
        return directives.preview(text, scope, branch, profile)


def export_directives(
    home: Home, scope: str, branch: str, profile: str
) -> tuple[str, str, list[str]]:
    """The state of a branch as canonical JSON, its digest, and what the profile cannot say.

    Raises as `directives_in` does.
    """
    Scope.parse(scope)
    with HomeDirectives.open(home) as directives:
        state = directives.branch(scope, branch).settled.state
        left = left_out(directives.profile(profile), state)
        return directives.export(scope, branch, profile), state.digest, left
