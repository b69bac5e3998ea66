"""The strict profile: canonical directives only, and an error says what would repair it."""

from typing import Final

from .decision import NO_DIRECTIVE, Decision, Error, SemanticFailure, Update
from .directive import STARTS, Directive, DirectiveKind, InvalidSyntax, SyntaxFailure
from .grammar import read
from .identity import item
from .limits import LIMITS
from .rules import changes_of, message_of, refusal, updated
from .state import State

_REPAIRS: Final = {
    SemanticFailure.PREMISE_ALREADY_SET: (DirectiveKind.CHANGE_PREMISE,),
    SemanticFailure.PREMISE_NOT_SET: (DirectiveKind.SET_PREMISE,),
    SemanticFailure.ITEM_PROHIBITED: (DirectiveKind.REMOVE_POLICY, DirectiveKind.USE_ITEM),
    SemanticFailure.ITEM_ALREADY_IN_USE: (
        DirectiveKind.REMOVE_POLICY,
        DirectiveKind.PROHIBIT_ITEM,
    ),
    SemanticFailure.REPLACEMENT_TARGET_PROHIBITED: (
        DirectiveKind.REMOVE_POLICY,
        DirectiveKind.REPLACE_USE,
    ),
}


def step(state: State, text: str) -> tuple[State, Decision]:
    """The state after *text*, and what was decided."""
    found = read(text)
    if found is None:
        return state, NO_DIRECTIVE
    if isinstance(found, InvalidSyntax):
        return state, _invalid(found)
    return submit(state, found)


def submit(state: State, directive: Directive) -> tuple[State, Update | Error]:
    """The state after *directive*, such as a repair that the user chose."""
    changes = changes_of(directive, item)
    if changes is None:
        return state, _invalid(InvalidSyntax(SyntaxFailure.OVER_LIMIT, directive.kind))
    failure = refusal(state, directive.kind, changes)
    if failure is None:
        return updated(state, changes)
    return state, Error(
        failure=failure,
        directive=directive,
        directive_kind=directive.kind,
        repairs=_repairs(failure, directive),
        prompt_to_user=message_of(failure, directive),
    )


def _repairs(failure: SemanticFailure, directive: Directive) -> tuple[Directive, ...]:
    return tuple(
        directive if kind is directive.kind else Directive(kind, directive.operand)
        for kind in _REPAIRS.get(failure, ())
    )


def _invalid(found: InvalidSyntax) -> Error:
    return Error(
        failure=found.failure,
        directive_kind=found.kind,
        missing=found.missing,
        prompt_to_user=syntax_message(found),
    )


def syntax_message(found: InvalidSyntax) -> str:
    """What is wrong with the text and what to do."""
    if found.failure is SyntaxFailure.COMPOUND_DIRECTIVE:
        return (
            "A second directive begins in this text. Send each by itself; if the words belong to "
            'the operand, put the whole operand in double quotes: `set premise "use short words"`.'
        )
    if found.failure is SyntaxFailure.OVER_LIMIT:
        return f"This is too long for a directive. {LIMITS} Say it in fewer words."
    name = "directive" if found.kind is None else f"`{STARTS[found.kind]}`"
    if found.failure is SyntaxFailure.MISSING_REQUIRED_OPERAND:
        return f"The {name} has no {(found.missing or 'operand').replace('_', ' ')}. Add it."
    return (
        f"The {name} has words in it that the grammar does not have, or a line break. Send the "
        "directive alone on one line, and put an unusual operand in double quotes."
    )
