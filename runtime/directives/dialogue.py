"""The dialogue profile: exact directives, and a question where one cannot be carried out."""

import re
from typing import Final

from .change import Answered, Asked, Pending, PolicySet
from .decision import PASSTHROUGH, Clarify, Decision, SemanticFailure
from .directive import STARTS, Directive, DirectiveKind, InvalidSyntax, SyntaxFailure
from .identity import excerpt, names_something, plain, scalars, spoken
from .limits import text_is_over_limit
from .prose import reads_like_prose
from .quoting import Masked, masked
from .rules import changes_of, message_of, refusal, replacement, updated
from .state import State, apply
from .strict import syntax_message

YES: Final = frozenset({"yes", "yes please", "yep", "yeah", "sure", "ok", "okay"})
NO: Final = frozenset({"no", "nope", "no thanks"})

_ANSWERS: Final = YES | NO
_COMMANDS: Final = {
    STARTS[kind]: kind
    for kind in (
        DirectiveKind.CLEAR_PREMISE,
        DirectiveKind.RESET_POLICIES,
        DirectiveKind.CLEAR_STATE,
    )
}
_HEADS: Final = tuple(
    (STARTS[kind], kind)
    for kind in (
        DirectiveKind.REMOVE_POLICY,
        DirectiveKind.SET_PREMISE,
        DirectiveKind.CHANGE_PREMISE,
        DirectiveKind.USE_ITEM,
        DirectiveKind.PROHIBIT_ITEM,
    )
)
_BEGINS: Final = (*_COMMANDS, "change premise ", *(head for head, _ in _HEADS))
_START: Final = re.compile(
    r"(?:change premise to|set premise|remove policy|prohibit|use)(?= |\Z)"
    r"|(?:reset policies|clear premise|clear state)(?![^\W\d_])"
)
# Each behind a literal: such a search runs at the speed of a text search.
_SECONDS: Final = tuple(
    (word, re.compile(word + rest))
    for word, rest in (
        ("use", r"(?= |\Z)"),
        ("prohibit", r"(?= |\Z)"),
        ("set premise", r"(?= |\Z)"),
        ("change premise to", r"(?= |\Z)"),
        ("remove policy", r"(?= |\Z)"),
        ("reset policies", r"(?![^\W\d_])"),
        ("clear premise", r"(?![^\W\d_])"),
        ("clear state", r"(?![^\W\d_])"),
    )
)
_INSTEAD: Final = " instead of "
_PUNCTUATION: Final = ".,!?"
_LONGEST_ANSWER: Final = 200  # characters; a longer text is no yes and no no


def step(state: State, text: str) -> tuple[State, Decision]:
    """The state after *text*, and what was decided."""
    if state.pending is not None:
        return _answered(state, state.pending, text)
    if not text.startswith(_BEGINS):
        return state, PASSTHROUGH
    found = read(text)
    if found is None:
        return state, PASSTHROUGH
    if isinstance(found, Clarify):
        return state, found
    return submit(state, found)


def submit(state: State, directive: Directive) -> tuple[State, Decision]:
    """The state after *directive*, or a question about it."""
    changes = changes_of(directive, spoken)
    if changes is None:
        return state, _unclear(InvalidSyntax(SyntaxFailure.OVER_LIMIT, directive.kind))
    failure = refusal(state, directive.kind, changes)
    if failure is not None and directive.kind is DirectiveKind.REPLACE_USE:
        return _ask(state, _of_replacement(state, directive), failure)
    if failure is not None:
        return state, Clarify(failure=failure, prompt_to_user=message_of(failure, directive))
    if directive.kind is DirectiveKind.USE_ITEM and reads_like_prose(directive.operand):
        prompt = f'Do you want to lay down, as a policy, to use "{excerpt(directive.operand)}"?'
        question = Pending(kind="use_only", items=(directive.operand,), prompt=prompt)
        return _ask(state, question, None)
    return updated(state, changes)


def read(text: str) -> Directive | Clarify | None:
    """The directive that *text* is exactly, a question about it, or None."""
    said = scalars(text)
    if text_is_over_limit(said):
        return _unclear(InvalidSyntax(SyntaxFailure.OVER_LIMIT))
    whole = masked(said)
    if _is_compound(whole.text):
        return _unclear(InvalidSyntax(SyntaxFailure.COMPOUND_DIRECTIVE))
    if whole.text in _COMMANDS:
        return Directive(_COMMANDS[whole.text])
    variant = _near_premise(whole)
    if variant is not None:
        return variant
    for head, kind in _HEADS:
        if whole.text == head:
            return _unclear(_missing(kind))
        if whole.text.startswith(head + " "):
            return _with_operand(kind, whole, len(head) + 1)
    return None


def _with_operand(kind: DirectiveKind, whole: Masked, start: int) -> Directive | Clarify:
    rest = whole.text[start:]
    if kind is DirectiveKind.USE_ITEM:
        new, between, old = rest.partition(_INSTEAD)
        if between:
            middle = start + len(new)
            found = (
                whole.operand(start, middle),
                whole.operand(middle + len(between), len(whole.text)),
            )
            if all(spoken(each) for each in found):
                return Directive(DirectiveKind.REPLACE_USE, *found)
            return _unclear(_missing(DirectiveKind.REPLACE_USE, "new_item" if old else "old_item"))
        if rest.strip() and (rest.startswith("instead of ") or rest.endswith(" instead of")):
            side = "new_item" if rest.startswith("instead of ") else "old_item"
            return _unclear(_missing(DirectiveKind.REPLACE_USE, side))
    operand = whole.operand(start, len(whole.text))
    premise = kind in (DirectiveKind.SET_PREMISE, DirectiveKind.CHANGE_PREMISE)
    says = names_something(operand) and (premise or _names_item(operand))
    return Directive(kind, operand) if says else _unclear(_missing(kind))


def _names_item(operand: str) -> bool:
    return bool(spoken(operand[:_LONGEST_ANSWER]) or spoken(operand))


def _near_premise(whole: Masked) -> Clarify | None:
    """A question, where "to" is too much or too little to set or change the premise."""
    if not whole.text.startswith(("set premise to ", "change premise ")):
        return None
    for head, meant in (
        ("set premise to ", "set premise"),
        ("change premise ", "change premise to"),
    ):
        if not whole.text.startswith(head) or (whole.text + " ").startswith("change premise to "):
            continue
        value = whole.original[len(head) :].strip()
        if value:
            prompt = f"Did you mean `{meant} {excerpt(value)}`? If so, send that."
            return Clarify(failure=SyntaxFailure.MALFORMED_DIRECTIVE, prompt_to_user=prompt)
    return None


def _is_compound(text: str) -> bool:
    first = _START.match(text)
    if first is None:
        return False
    return any(
        not text[found.start() - 1].isalpha()
        for word, each in _SECONDS
        if word in text
        for found in each.finditer(text, first.end())
    )


def _missing(kind: DirectiveKind, operand: str = "") -> InvalidSyntax:
    premise = kind in (DirectiveKind.SET_PREMISE, DirectiveKind.CHANGE_PREMISE)
    default = "value" if premise else "item"
    return InvalidSyntax(SyntaxFailure.MISSING_REQUIRED_OPERAND, kind, operand or default)


def _unclear(found: InvalidSyntax) -> Clarify:
    return Clarify(failure=found.failure, prompt_to_user=syntax_message(found))


def _of_replacement(state: State, directive: Directive) -> Pending:
    """What to ask of a replacement that is refused as it is."""
    new, old = excerpt(directive.operand), excerpt(directive.old)
    prohibited = state.policies.get(spoken(directive.operand)) == "prohibit"
    lifted = f' "{new}" is prohibited; a yes ends that.' if prohibited else ""
    was = state.policies.get(spoken(directive.old))
    if was is None:
        prompt = f'"{old}" is not in use.{lifted} Do you want to use "{new}"?'
        return Pending(kind="use_only", items=(directive.operand,), prompt=prompt)
    barred = f' "{old}" is prohibited; a yes removes that policy.' if was == "prohibit" else ""
    prompt = f'{barred}{lifted} Do you want to use "{new}" instead of "{old}"?'.lstrip()
    return Pending(kind="replace_use", items=(directive.operand, directive.old), prompt=prompt)


def _ask(
    state: State, question: Pending, failure: SemanticFailure | None
) -> tuple[State, Decision]:
    asked = Asked(pending=question)
    return apply(state, asked), Clarify(
        changes=(asked,), failure=failure, pending=question, prompt_to_user=question.prompt
    )


def _answered(state: State, pending: Pending, text: str) -> tuple[State, Decision]:
    answer = text.strip()
    said = plain(plain(answer[:_LONGEST_ANSWER]).lower().rstrip(_PUNCTUATION))
    if len(answer) > _LONGEST_ANSWER or said not in _ANSWERS:
        return state, Clarify(pending=pending, prompt_to_user=pending.prompt)
    if said in NO:
        return updated(state, (Answered(yes=False),))
    items = [spoken(each) for each in pending.items]
    first = PolicySet(item=items[0], rule="use")
    changes = replacement(items[0], items[1]) if len(items) > 1 else (first,)
    return updated(state, (Answered(yes=True), *changes))
