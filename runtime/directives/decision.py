"""What a step decided. Each decision carries the typed changes that happened, for the record.

kind           host                                               profiles
passthrough    passes the text on, with the state                 seed, dialogue
no_directive   passes the text on, with the state                 strict
update         passes the text on, with the new state             all
clarify        shows the question, and does not call the model    seed, dialogue
error          shows the message and offers the repairs           strict
"""

from enum import StrEnum
from typing import ClassVar, Final

from msgspec import Struct

from .change import Change, Pending
from .directive import Directive, DirectiveKind, SyntaxFailure
from .state import State


class SemanticFailure(StrEnum):
    """Why a directive does not hold beside what is laid down already."""

    PREMISE_ALREADY_SET = "premise_already_set"
    PREMISE_NOT_SET = "premise_not_set"
    ITEM_PROHIBITED = "item_prohibited"
    ITEM_ALREADY_IN_USE = "item_already_in_use"
    REPLACEMENT_SOURCE_PROHIBITED = "replacement_source_prohibited"
    REPLACEMENT_TARGET_PROHIBITED = "replacement_target_prohibited"
    REPLACEMENT_SOURCE_MISSING = "replacement_source_missing"


Failure = SemanticFailure | SyntaxFailure


class Decision(Struct, frozen=True, kw_only=True):
    """What all decisions have."""

    kind: ClassVar[str]

    changes: tuple[Change, ...] = ()  # what happened, in order; folding it gives the new state
    state: State | None = None  # the new state, of an update
    prompt_to_user: str | None = None  # what to show instead of calling the model


class Passthrough(Decision, frozen=True, kw_only=True):
    """The text lays nothing down. A pending question that it answered with no is gone."""

    kind: ClassVar[str] = "passthrough"


class NoDirective(Decision, frozen=True, kw_only=True):
    """The text does not begin as a directive."""

    kind: ClassVar[str] = "no_directive"


class Update(Decision, frozen=True, kw_only=True):
    """The directive was accepted."""

    kind: ClassVar[str] = "update"

    changed: bool  # False where the state said so already


class Clarify(Decision, frozen=True, kw_only=True):
    """The user must say more. Nothing changed but, with `pending`, that an answer is awaited."""

    kind: ClassVar[str] = "clarify"

    failure: Failure | None = None  # why, where a rule says so; None for a plain question
    pending: Pending | None = None  # answered by yes or no; None where a new directive is needed


class Error(Decision, frozen=True, kw_only=True):
    """The directive was refused, and nothing changed."""

    kind: ClassVar[str] = "error"

    failure: Failure
    directive: Directive | None = None  # the refused one; None where the text is no valid directive
    directive_kind: DirectiveKind | None = None  # which one it is, or tried to be
    missing: str | None = None  # the operand that is not there
    repairs: tuple[Directive, ...] = ()  # what would help, in order; offered, never applied

    @property
    def message(self) -> str:
        """What is wrong and what to do, in words for the user."""
        return self.prompt_to_user or ""


PASSTHROUGH: Final = Passthrough()
NO_DIRECTIVE: Final = NoDirective()
EMPTY_OPERAND: Final = SyntaxFailure.MISSING_REQUIRED_OPERAND
