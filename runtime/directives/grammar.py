"""The canonical language: what is a directive, what only begins as one, and what is neither.

Keywords are ASCII in any case, with any spaces and tabs between them and any blanks around the
text. Operands keep their spelling. One text holds one directive: a second one that begins inside
makes it a compound, except within a quoted operand.
"""

import re
from typing import Final

from .directive import OPERANDS, STARTS, Directive, DirectiveKind, InvalidSyntax, SyntaxFailure
from .identity import names_something, scalars
from .limits import text_is_over_limit
from .quoting import Masked, masked, quoted

_BLANKS: Final = " \t\n\r\x0b\x0c"
_COMMAND: Final = r"reset[ \t]+policies|clear[ \t]+premise|clear[ \t]+state"
_FLAGS: Final = re.IGNORECASE | re.ASCII
_BEGINS: Final = re.compile(
    r"[ \t\n\r\x0b\x0c]*+(?:"
    r"(?:change[ \t]+premise|set[ \t]+premise|remove[ \t]+policy|prohibit|use)"
    r"(?=[ \t\n\r\x0b\x0c]*\Z|[ \t])"
    rf"|(?:{_COMMAND})(?![a-z]))",
    _FLAGS,
)
_STARTS: Final = re.compile(
    r"(?:change[ \t]+premise[ \t]+to|set[ \t]+premise|remove[ \t]+policy|prohibit|use)"
    rf"(?=[ \t]|\Z)|(?:{_COMMAND})(?![a-z])",
    _FLAGS,
)
# How a directive starts, in lower case: its first word, and what must follow it.
_FIRST_WORDS: Final = (
    (b"use", rb"(?=[ \t]|\Z)"),
    (b"prohibit", rb"(?=[ \t]|\Z)"),
    (b"set", rb"[ \t]+premise(?=[ \t]|\Z)"),
    (b"change", rb"[ \t]+premise[ \t]+to(?=[ \t]|\Z)"),
    (b"remove", rb"[ \t]+policy(?=[ \t]|\Z)"),
    (b"reset", rb"[ \t]+policies(?![a-z])"),
    (b"clear", rb"[ \t]+(?:premise|state)(?![a-z])"),
)
_SECOND: Final = re.compile(
    rb"(?<![a-z])(?:%b)" % b"|".join(word + rest for word, rest in _FIRST_WORDS)
)
# For long texts each by itself, behind a literal: that runs at the speed of a text search.
_SECONDS: Final = tuple(
    (word, re.compile(rb"%b(?<![a-z]%b)%b" % (word, word, rest))) for word, rest in _FIRST_WORDS
)
_LONG: Final = 2_000  # bytes
_TO: Final = re.compile(r"to(?:[ \t]|\Z)", _FLAGS)
_INSTEAD: Final = re.compile(r"instead[ \t]+of(?:[ \t]|\Z)", _FLAGS)
_BETWEEN: Final = re.compile(r"(?<![ \t])[ \t]++instead[ \t]++of[ \t]++", _FLAGS)
_AFTER: Final = re.compile(r"[ \t]instead[ \t]+of\Z", _FLAGS)
_WORDS: Final = {
    "set premise": DirectiveKind.SET_PREMISE,
    "change premise to": DirectiveKind.CHANGE_PREMISE,
    "use": DirectiveKind.USE_ITEM,
    "prohibit": DirectiveKind.PROHIBIT_ITEM,
    "remove policy": DirectiveKind.REMOVE_POLICY,
    "clear premise": DirectiveKind.CLEAR_PREMISE,
    "reset policies": DirectiveKind.RESET_POLICIES,
    "clear state": DirectiveKind.CLEAR_STATE,
}


def read(text: str) -> Directive | InvalidSyntax | None:
    """The directive that *text* is, why it is none though it begins as one, or None."""
    if _BEGINS.match(text) is None:
        return None
    said = scalars(text).strip(_BLANKS)
    if text_is_over_limit(said):
        return InvalidSyntax(SyntaxFailure.OVER_LIMIT)
    whole = masked(said)
    start = _STARTS.match(whole.text)
    if start is None:  # "change premise" without its "to"
        return InvalidSyntax(SyntaxFailure.MALFORMED_DIRECTIVE)
    if has_second(whole.text, start.end()):
        return InvalidSyntax(SyntaxFailure.COMPOUND_DIRECTIVE)
    kind = _WORDS[" ".join(start[0].lower().split())]
    if not OPERANDS[kind]:
        exact = start.end() == len(whole.text)
        return Directive(kind) if exact else InvalidSyntax(SyntaxFailure.MALFORMED_DIRECTIVE)
    return _with_operand(kind, whole, _behind_gap(whole.text, start.end()))


def text_of(directive: Directive) -> str:
    """The canonical text of *directive*; operands are in quotes where they would say more.

    `read` makes the same directive of it.
    """
    bare = _written(directive.kind, directive.operand, directive.old)
    if read(bare) == directive:
        return bare
    return _written(directive.kind, quoted(directive.operand), quoted(directive.old))


def has_second(text: str, after: int) -> bool:
    """Whether a directive starts behind the first one, which ends at *after*."""
    data = text.encode().lower()  # bytes fold ASCII only
    place = after if text.isascii() else len(text[:after].encode())
    if len(data) < _LONG:
        return _SECOND.search(data, place) is not None
    return any(data.find(word, place) >= 0 and each.search(data, place) for word, each in _SECONDS)


def _written(kind: DirectiveKind, operand: str, old: str) -> str:
    words = [STARTS[kind]]
    if OPERANDS[kind]:
        words.append(operand)
    if kind is DirectiveKind.REPLACE_USE:
        words += ["instead of", old]
    return " ".join(words)


def _behind_gap(text: str, start: int) -> int:
    while start < len(text) and text[start] in " \t":
        start += 1
    return start


def _with_operand(kind: DirectiveKind, whole: Masked, start: int) -> Directive | InvalidSyntax:
    end = len(whole.text)
    if start == end:
        return _missing(kind)
    if "\n" in whole.text[start:]:
        return InvalidSyntax(SyntaxFailure.MALFORMED_DIRECTIVE, kind)
    if kind is DirectiveKind.USE_ITEM:
        return _use(whole, start)
    if kind is DirectiveKind.SET_PREMISE and _TO.match(whole.text, start):
        return InvalidSyntax(SyntaxFailure.MALFORMED_DIRECTIVE, kind)
    operand = whole.operand(start, end)
    return Directive(kind, operand) if names_something(operand) else _missing(kind)


def _use(whole: Masked, start: int) -> Directive | InvalidSyntax:
    text = whole.text
    if b"instead" not in text.encode().lower():  # most texts, and quickly said
        return _one_item(whole, start)
    gap = len(text[:start].rstrip(" \t"))
    count = len(_BETWEEN.findall(text, gap))
    first = _BETWEEN.search(text, start)
    if count == 1 and first is not None:
        return _replacement(whole, start, first)
    if _INSTEAD.match(text, start):
        return _missing(DirectiveKind.REPLACE_USE, "new_item")
    if _AFTER.search(text, start):
        return _missing(DirectiveKind.REPLACE_USE, "old_item")
    if count:
        return InvalidSyntax(SyntaxFailure.MALFORMED_DIRECTIVE, DirectiveKind.USE_ITEM)
    return _one_item(whole, start)


def _replacement(whole: Masked, start: int, between: re.Match[str]) -> Directive | InvalidSyntax:
    new = whole.operand(start, between.start())
    old = whole.operand(between.end(), len(whole.text))
    if not names_something(new):
        return _missing(DirectiveKind.REPLACE_USE, "new_item")
    if not names_something(old):
        return _missing(DirectiveKind.REPLACE_USE, "old_item")
    return Directive(DirectiveKind.REPLACE_USE, new, old)


def _one_item(whole: Masked, start: int) -> Directive | InvalidSyntax:
    operand = whole.operand(start, len(whole.text))
    if not names_something(operand):
        return _missing(DirectiveKind.USE_ITEM)
    return Directive(DirectiveKind.USE_ITEM, operand)


def _missing(kind: DirectiveKind, operand: str = "") -> InvalidSyntax:
    return InvalidSyntax(SyntaxFailure.MISSING_REQUIRED_OPERAND, kind, operand or OPERANDS[kind][0])
