"""From the text of a ``when:`` or a ``${...}`` to expressions; a small recursive descent.

condition  = conjunct ("or" conjunct)*
conjunct   = negation ("and" negation)*
negation   = "not" negation | comparison
comparison = operand [operator operand]
operand    = literal | reference | list of literals | "(" condition ")"
"""

import re
from typing import Any, NamedTuple, NoReturn, cast

from .expressions import And, Compare, Constant, Expression, Not, Operator, Or, Ref, Template, Text

MAX_LENGTH = 2_000
MAX_DEPTH = 32

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<number>-?\d+(?:\.\d+)?(?:[eE][-+]?\d{1,2})?(?![\w.]))
  | (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
  | (?P<word>[A-Za-z_][\w-]*(?:\.[\w-]+)*)
  | (?P<symbol>==|!=|<=|>=|<|>|\(|\)|\[|\]|,)
  | (?P<end>\Z)
    )""",
    re.VERBOSE,
)
_REFERENCE = re.compile(r"\$\$\{|\$\{([^{}]*)\}?")
_PATH = re.compile(r"[A-Za-z_][\w-]*(?:\.[\w-]+)*")  # one word is the item of a list
_WORDS = {"true": True, "false": False, "null": None}
_OPERATORS = frozenset(["==", "!=", "<", "<=", ">", ">=", "in", "contains", "starts_with"])
_FOREIGN = {"=": "==", "&": "and", "|": "or", "!": "not"}


class ExpressionSyntaxError(Exception):
    """The text is not an expression; the caller, which knows its place, reports it."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message, offset)
        self.message, self.offset = message, offset


class Located(NamedTuple):
    """A reference and its place in the text."""

    ref: Ref
    offset: int
    length: int


class _Token(NamedTuple):
    kind: str
    text: str
    offset: int


def parse_condition(text: str) -> tuple[Expression, list[Located]]:
    """Return the expression of *text* and its references; raises ExpressionSyntaxError."""
    parser = _Parser(_tokens(text))
    expression = parser.condition(0)
    parser.expect_end()
    return expression, parser.references


def parse_template(text: str) -> tuple[Template, list[Located]]:
    """Return the template of *text*, a constant if nothing refers; raises ExpressionSyntaxError."""
    parts: list[Constant | Ref] = []
    references: list[Located] = []
    literal, position = "", 0
    for found in _REFERENCE.finditer(text):
        literal += text[position : found.start()]
        position = found.end()
        if found[1] is None:  # $${ is an escaped ${
            literal += "${"
            continue
        located = _reference(found)
        references.append(located)
        parts += [Constant(literal), located.ref] if literal else [located.ref]
        literal = ""
    literal += text[position:]
    if not references:
        return Constant(literal), references
    if literal:
        parts.append(Constant(literal))
    if len(parts) == 1:
        return references[0].ref, references
    return Text(tuple(parts)), references


def _reference(found: re.Match[str]) -> Located:
    inside = found[1]
    if not found[0].endswith("}"):
        raise ExpressionSyntaxError("`${` is not closed by `}`", found.start())
    path = inside.strip()
    if not _PATH.fullmatch(path):
        raise ExpressionSyntaxError(f"`${{{inside[:60]}}}` is not a reference", found.start())
    offset = found.start(1) + len(inside) - len(inside.lstrip())
    return Located(Ref(tuple(path.split("."))), offset, len(path))


def _tokens(text: str) -> list[_Token]:
    if len(text) > MAX_LENGTH:
        raise ExpressionSyntaxError(f"longer than {MAX_LENGTH:,} characters", 0)
    tokens: list[_Token] = []
    position = 0
    while True:
        found = _TOKEN.match(text, position)
        if not found or not found.lastgroup:
            rest = text[position:].lstrip()
            offset = len(text) - len(rest)
            hint = _FOREIGN.get(rest[:1])
            message = f"{rest[:10]!r} is not understood"
            raise ExpressionSyntaxError(f"{message}: write `{hint}`" if hint else message, offset)
        kind = found.lastgroup
        tokens.append(_Token(kind, found[kind], found.start(kind)))
        if kind == "end":
            return tokens
        position = found.end()


class _Parser:
    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self.references: list[Located] = []

    def condition(self, depth: int) -> Expression:
        operands = [self._conjunct(depth)]
        while self._take("or"):
            operands.append(self._conjunct(depth))
        return operands[0] if len(operands) == 1 else Or(tuple(operands))

    def expect_end(self) -> None:
        if self._now.kind != "end":
            self._fail(f"{self._now.text!r} does not belong here")

    @property
    def _now(self) -> _Token:
        return self._tokens[self._at]

    def _take(self, text: str) -> bool:
        if self._now.text != text or self._now.kind not in ("word", "symbol"):
            return False
        self._at += 1
        return True

    def _fail(self, message: str) -> NoReturn:
        raise ExpressionSyntaxError(message, self._now.offset)

    def _conjunct(self, depth: int) -> Expression:
        operands = [self._negation(depth)]
        while self._take("and"):
            operands.append(self._negation(depth))
        return operands[0] if len(operands) == 1 else And(tuple(operands))

    def _negation(self, depth: int) -> Expression:
        if depth > MAX_DEPTH:
            self._fail(f"nested deeper than {MAX_DEPTH} levels")
        if self._take("not"):
            return Not(self._negation(depth + 1))
        return self._comparison(depth)

    def _comparison(self, depth: int) -> Expression:
        left = self._operand(depth)
        operator = self._operator()
        if operator is None:
            return left
        right = self._operand(depth)
        if self._now.text in _OPERATORS and self._now.kind != "string":
            self._fail("comparisons do not chain: join two of them by `and`")
        return Compare(operator, left, right)

    def _operator(self) -> Operator | None:
        text = self._now.text
        if self._now.kind not in ("word", "symbol"):
            return None
        if text == "not" and self._tokens[self._at + 1].text == "in":
            self._at += 2
            return "not in"
        if text not in _OPERATORS:
            return None
        self._at += 1
        return cast("Operator", text)

    def _operand(self, depth: int) -> Expression:
        if self._take("("):
            inner = self.condition(depth + 1)
            if not self._take(")"):
                self._fail("`)` is missing")
            return inner
        if self._take("["):
            return Constant(self._list())
        token = self._now
        if token.kind == "word" and "." in token.text:
            self._at += 1
            located = Located(Ref(tuple(token.text.split("."))), token.offset, len(token.text))
            self.references.append(located)
            return located.ref
        return Constant(self._literal())

    def _list(self) -> list[Any]:
        items: list[Any] = []
        while not self._take("]"):
            if items and not self._take(","):
                self._fail("`,` or `]` is missing")
            items.append(self._literal())
        return items

    def _literal(self) -> Any:
        token = self._now
        if token.kind == "number":
            if len(token.text.lstrip("-")) > 18:
                self._fail("numbers have at most 18 digits")
            self._at += 1
            return float(token.text) if set(token.text) & set(".eE") else int(token.text)
        if token.kind == "string":
            self._at += 1
            return re.sub(r"\\(.)", r"\1", token.text[1:-1], flags=re.DOTALL)
        if token.kind == "word" and token.text in _WORDS:
            self._at += 1
            return _WORDS[token.text]
        if token.kind == "end":
            self._fail("the expression ends too early")
        if token.kind == "word":
            self._fail(f"`{token.text}` is not a value: put text in quotes, references have dots")
        return self._fail(f"{token.text!r} does not belong here")
