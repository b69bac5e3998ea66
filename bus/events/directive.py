"""Directives: what a person laid down, in which scope, and what became of each sentence."""

from typing import Any, Literal, TypeAlias

from msgspec import Struct

from ..event import Event, Query

Rule: TypeAlias = Literal["use", "prohibit"]
QuestionKind: TypeAlias = Literal["use_only", "replace_use", "policy_add", "fact_set"]


class FactSet(Struct, frozen=True, kw_only=True, tag="fact_set"):
    """An exclusive fact got a value; the last one holds."""

    name: str
    value: str


class FactCleared(Struct, frozen=True, kw_only=True, tag="fact_cleared"):
    """An exclusive fact has no value any more."""

    name: str


class PolicySet(Struct, frozen=True, kw_only=True, tag="policy_set"):
    """An item is to be used, or prohibited."""

    item: str
    rule: Rule


class PolicyRemoved(Struct, frozen=True, kw_only=True, tag="policy_removed"):
    """Nothing is said of an item any more."""

    item: str


class PoliciesReset(Struct, frozen=True, kw_only=True, tag="policies_reset"):
    """Nothing is said of any item any more."""


class StateCleared(Struct, frozen=True, kw_only=True, tag="state_cleared"):
    """No fact and no policy is left."""


class Pending(Struct, frozen=True, kw_only=True):
    """A question to the user. Until the answer, nothing else changes the state."""

    kind: QuestionKind
    items: tuple[str, ...]  # as the user wrote them; of a replacement the new one, then the old one
    prompt: str  # the question itself


class Asked(Struct, frozen=True, kw_only=True, tag="asked"):
    """The user was asked."""

    pending: Pending


class Answered(Struct, frozen=True, kw_only=True, tag="answered"):
    """The user answered; what a yes did are changes of their own, after this one."""

    yes: bool


Change: TypeAlias = (
    FactSet
    | FactCleared
    | PolicySet
    | PolicyRemoved
    | PoliciesReset
    | StateCleared
    | Asked
    | Answered
)


class DirectiveConflict(Struct, frozen=True, kw_only=True):
    """A fact or policy of which two branches say different things."""

    name: str  # "premise", or the item
    here: str  # the value, "use" or "prohibit" in the branch that is merged into; "" for nothing
    there: str  # the same in the other one
    cleared: int = 0  # position by which it was cleared here, if it was


class DirectiveSubmit(Event, frozen=True, kw_only=True, tag="directive.submit"):
    """Ask to take a sentence as a directive, or as the answer to an open question.

    Only the owner, and a client with a grant for the scope, is heard. `directive.applied`,
    `directive.clarification_asked`, `directive.passed` or `directive.refused` answers.
    """

    belongs = ("directive", "scope")
    routing = "scope"

    scope: str = "user"  # "user", "project:NAME", "process:NAME" or "execution:ID"
    text: str = ""
    state: str = ""  # instead of a text: an exported state, which replaces all that is laid down
    profile: str = ""  # "seed", "dialogue" or "strict"; "" for that of the configuration
    branch: str = "main"
    state_blob: str = ""  # the same as the digest of a blob, if it is longer than an event holds


class DirectiveUndo(Event, frozen=True, kw_only=True, tag="directive.undo"):
    """Ask to take back the newest change of a branch, or its open question."""

    belongs = ("directive", "scope")
    routing = "scope"

    scope: str = "user"
    branch: str = "main"


class DirectiveRedo(Event, frozen=True, kw_only=True, tag="directive.redo"):
    """Ask to make the change again that was undone last."""

    belongs = ("directive", "scope")
    routing = "scope"

    scope: str = "user"
    branch: str = "main"


class DirectiveBranch(Event, frozen=True, kw_only=True, tag="directive.branch"):
    """Ask for a new branch, or to delete one. Only `main` is in force."""

    belongs = ("directive", "scope")
    routing = "scope"

    scope: str = "user"
    name: str
    branch: str = "main"  # from which it starts
    delete: bool = False


class DirectiveMerge(Event, frozen=True, kw_only=True, tag="directive.merge"):
    """Ask to bring what another branch changed into a branch.

    With another `source_scope` it recalls what is laid down there, for instance in an earlier run.
    """

    belongs = ("directive", "scope")
    routing = "scope"

    scope: str = "user"
    branch: str = "main"  # into which
    source: str = "main"  # the branch whose changes are brought
    source_scope: str = ""  # the scope of that branch; "" for the same one


class DirectivePin(Event, frozen=True, kw_only=True, tag="directive.pin"):
    """Ask to pin a fact or policy, so that nothing changes it, or to release it."""

    belongs = ("directive", "scope")
    routing = "scope"

    scope: str = "user"
    name: str  # "premise", "focus.device", or an item
    branch: str = "main"
    pinned: bool = True


class DirectiveApplied(Event, frozen=True, kw_only=True, tag="directive.applied"):
    """A directive holds; `changed` says whether the state did not say so already."""

    belongs = ("directive", "scope")
    routing = "scope"

    scope: str
    branch: str
    text: str  # the sentence, or "" for an import
    profile: str
    changes: tuple[Change, ...]
    changed: bool
    digest: str  # SHA-256 of the state after it
    by: str  # who laid it down, as the hub authenticated them
    changes_blob: str = ""  # digest of the blob with the changes, if no event holds them
    changes_stored: int = 0  # how many it has; `changes` is empty then


class DirectiveRefused(Event, frozen=True, kw_only=True, tag="directive.refused"):
    """A request was refused; the state did not change."""

    belongs = ("directive", "scope")
    routing = "scope"

    scope: str
    branch: str
    asked: str  # topic of the request
    reason: str  # one line: what is wrong and what to do
    by: str
    failure: str = ""  # "premise_already_set", "compound_directive", ... of a text
    repairs: tuple[str, ...] = ()  # texts that would help, in order


class DirectiveClarificationAsked(
    Event, frozen=True, kw_only=True, tag="directive.clarification_asked"
):
    """A sentence needs an answer first. While `waits`, no model is asked in the scope."""

    belongs = ("directive", "scope")
    routing = "scope"

    scope: str
    branch: str
    question: str
    waits: bool  # whether yes or no answers it; False: only another sentence helps
    profile: str
    by: str
    changes: tuple[Change, ...] = ()
    failure: str = ""


class DirectivePassed(Event, frozen=True, kw_only=True, tag="directive.passed"):
    """A text lays nothing down; it may have answered a question with no."""

    belongs = ("directive", "scope")
    routing = "scope"

    scope: str
    branch: str
    by: str
    changes: tuple[Change, ...] = ()


class DirectiveUndone(Event, frozen=True, kw_only=True, tag="directive.undone"):
    """The newest change, or the open question, of a branch was taken back."""

    belongs = ("directive", "scope")
    routing = "scope"

    scope: str
    branch: str
    undone: int  # position of the request that had led to it
    changes: tuple[Change, ...]
    digest: str
    by: str
    changes_blob: str = ""  # digest of the blob with the changes, if no event holds them
    changes_stored: int = 0  # how many it has; `changes` is empty then


class DirectiveRedone(Event, frozen=True, kw_only=True, tag="directive.redone"):
    """What was undone last holds again."""

    belongs = ("directive", "scope")
    routing = "scope"

    scope: str
    branch: str
    redone: int  # position of the request that had led to it
    changes: tuple[Change, ...]
    digest: str
    by: str
    changes_blob: str = ""  # digest of the blob with the changes, if no event holds them
    changes_stored: int = 0  # how many it has; `changes` is empty then


class DirectiveBranched(Event, frozen=True, kw_only=True, tag="directive.branched"):
    """There is a new branch, or one was deleted."""

    belongs = ("directive", "scope")
    routing = "scope"

    scope: str
    name: str
    branch: str  # from which it starts
    by: str
    deleted: bool = False


class DirectiveMerged(Event, frozen=True, kw_only=True, tag="directive.merged"):
    """What another branch changed is in this one."""

    belongs = ("directive", "scope")
    routing = "scope"

    scope: str
    branch: str
    source: str
    source_scope: str
    changes: tuple[Change, ...]
    digest: str
    by: str
    left: tuple[DirectiveConflict, ...] = ()  # of a recall: what was cleared here, and stays so
    changes_blob: str = ""  # digest of the blob with the changes, if no event holds them
    changes_stored: int = 0  # how many it has; `changes` is empty then


class DirectiveConflicted(Event, frozen=True, kw_only=True, tag="directive.conflicted"):
    """Two branches contradict each other; nothing was merged."""

    belongs = ("directive", "scope")
    routing = "scope"

    scope: str
    branch: str
    source: str
    source_scope: str
    conflicts: tuple[DirectiveConflict, ...]
    by: str


class DirectivePinned(Event, frozen=True, kw_only=True, tag="directive.pinned"):
    """A fact or policy is pinned, or no longer."""

    belongs = ("directive", "scope")
    routing = "scope"

    scope: str
    branch: str
    name: str
    pinned: bool
    by: str


class DirectiveGet(Query, frozen=True, kw_only=True, tag="directive.get"):
    """Ask what is laid down in a scope; the answer is a `DirectiveAnswer`."""

    routing = "scope"

    scope: str = "user"
    branch: str = "main"
    at: int = 0  # as it was after this position; 0 for now
    text: str = ""  # what this sentence would do: a preview


class DirectiveAnswer(Query, frozen=True, kw_only=True, tag="directive.answer"):
    """What is laid down, as a map, and the position that the answer holds for."""

    state: dict[str, Any] = {}
    preview: dict[str, Any] = {}
    position: int = 0
    problem: str = ""  # why there is no answer
