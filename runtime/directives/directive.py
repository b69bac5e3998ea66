"""A directive: what a user laid down in one sentence of the canonical language."""

from enum import StrEnum
from typing import Final

from msgspec import Struct


class DirectiveKind(StrEnum):
    """The nine directives."""

    SET_PREMISE = "set_premise"
    CHANGE_PREMISE = "change_premise"
    USE_ITEM = "use_item"
    PROHIBIT_ITEM = "prohibit_item"
    REMOVE_POLICY = "remove_policy"
    REPLACE_USE = "replace_use"
    CLEAR_PREMISE = "clear_premise"
    RESET_POLICIES = "reset_policies"
    CLEAR_STATE = "clear_state"


class SyntaxFailure(StrEnum):
    """Why a text that begins as a directive is none."""

    COMPOUND_DIRECTIVE = "compound_directive"
    MISSING_REQUIRED_OPERAND = "missing_required_operand"
    MALFORMED_DIRECTIVE = "malformed_directive"
    OVER_LIMIT = "over_limit"


class InvalidSyntax(Struct, frozen=True):
    """A text that begins as a directive, and is none."""

    failure: SyntaxFailure
    kind: DirectiveKind | None = None  # where it is clear which one was meant
    missing: str | None = None  # the operand that is not there: "value", "item", ...


class Directive(Struct, frozen=True):
    """One directive, with its operands as the user wrote them (without the quotes around them)."""

    kind: DirectiveKind
    operand: str = ""  # the premise or the item; of a replacement the new item
    old: str = ""  # of a replacement the item to replace

    @property
    def operands(self) -> dict[str, str]:
        """The operands by name."""
        return dict(zip(OPERANDS[self.kind], (self.operand, self.old), strict=False))


STARTS: Final = {
    DirectiveKind.SET_PREMISE: "set premise",
    DirectiveKind.CHANGE_PREMISE: "change premise to",
    DirectiveKind.USE_ITEM: "use",
    DirectiveKind.PROHIBIT_ITEM: "prohibit",
    DirectiveKind.REMOVE_POLICY: "remove policy",
    DirectiveKind.REPLACE_USE: "use",
    DirectiveKind.CLEAR_PREMISE: "clear premise",
    DirectiveKind.RESET_POLICIES: "reset policies",
    DirectiveKind.CLEAR_STATE: "clear state",
}
OPERANDS: Final[dict[DirectiveKind, tuple[str, ...]]] = {
    DirectiveKind.SET_PREMISE: ("value",),
    DirectiveKind.CHANGE_PREMISE: ("value",),
    DirectiveKind.USE_ITEM: ("item",),
    DirectiveKind.PROHIBIT_ITEM: ("item",),
    DirectiveKind.REMOVE_POLICY: ("item",),
    DirectiveKind.REPLACE_USE: ("new_item", "old_item"),
    DirectiveKind.CLEAR_PREMISE: (),
    DirectiveKind.RESET_POLICIES: (),
    DirectiveKind.CLEAR_STATE: (),
}
