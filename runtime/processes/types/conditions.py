"""Checks a ``when:``: every reference is known, and compared values can be equal."""

from typing import NamedTuple

from ..diagnostics.diagnostics import did_you_mean
from ..executable.expressions import And, Compare, Constant, Expression, Not, Or, Ref
from ..syntax.definitions import Condition
from ..syntax.forms import span_within
from ..syntax.nodes import Reporter
from .scope import Names, Referent
from .shapes import KINDS, in_words, kind_of

_NUMBERS = frozenset(["integer", "number"])
_BOOLEAN = frozenset(["boolean"])
_NOTHING = frozenset(["null"])


class _Type(NamedTuple):
    kinds: frozenset[str]
    enum: tuple[object, ...] | None = None


def check_condition(condition: Condition, names: Names, reporter: Reporter) -> None:
    """Report what is wrong with *condition* where *names* are known."""
    types: dict[Ref, _Type] = {}
    for located in condition.references:
        found = names.look_up(located.ref)
        if isinstance(found, Referent):
            types[located.ref] = _Type(found.shape.kinds, found.shape.enum)
            continue
        types[located.ref] = _Type(KINDS)
        place = span_within(condition.node, located.offset, located.length)
        reporter.report(found.code, found.message, place, remedy=found.remedy)
    checker = _Checker(types)
    result = checker.type_of(condition.expression)
    checker.expect_boolean(result, "the condition")
    for message, remedy in checker.problems:
        reporter.report("P203", message, condition.node, remedy=remedy)


class _Checker:
    def __init__(self, types: dict[Ref, _Type]) -> None:
        self._types = types
        self.problems: list[tuple[str, str | None]] = []

    def type_of(self, expression: Expression) -> _Type:
        match expression:
            case Constant(value):
                return _Type(frozenset([kind_of(value)]))
            case Ref():
                return self._types[expression]
            case Not(operand):
                self.expect_boolean(self.type_of(operand), "what follows `not`")
            case And(operands) | Or(operands):
                word = "and" if isinstance(expression, And) else "or"
                for operand in operands:
                    self.expect_boolean(self.type_of(operand), f"each side of `{word}`")
            case Compare():
                self._compare(expression)
        return _Type(_BOOLEAN)

    def expect_boolean(self, found: _Type, what: str) -> None:
        if not found.kinds & _BOOLEAN:
            message = f"{what} is {in_words(found.kinds)}, expected true or false"
            self.problems.append((message, "compare it with something, for example `!= null`"))

    def _compare(self, node: Compare) -> None:
        left, right = self.type_of(node.left), self.type_of(node.right)
        operator = node.operator
        if operator in ("==", "!="):
            self._equality(node, left, right)
        elif operator in ("in", "not in"):
            self._membership(operator, right, left, node.right)
        elif operator == "contains":
            self._membership(operator, left, right, node.left)
        elif operator == "starts_with":
            for side in (left, right):
                self._expect(side, frozenset(["string"]), operator)
        else:
            ordered = _NUMBERS | {"string"}
            self._expect(left, ordered, operator)
            self._expect(right, ordered, operator)
            if left.kinds & ordered and right.kinds & ordered and not _alike(left, right):
                self._unlike(operator, left, right)

    def _equality(self, node: Compare, left: _Type, right: _Type) -> None:
        if _NOTHING in (left.kinds, right.kinds):
            return  # anything may be missing
        if not _alike(left, right):
            self._unlike(node.operator, left, right)
        self._expect_member(node.left, right)
        self._expect_member(node.right, left)

    def _expect_member(self, side: Expression, other: _Type) -> None:
        """Where the other side has one of a few values, a literal has to be among them."""
        if not isinstance(side, Constant) or other.enum is None:
            return
        values = side.value if isinstance(side.value, list) else [side.value]
        known = [str(each) for each in other.enum if each is not None]
        for value in values:
            if value is not None and value not in other.enum:
                remedy = did_you_mean(str(value), known, f"use one of {', '.join(known)}")
                self.problems.append((f"{value!r} is never the value", remedy))

    def _membership(
        self, operator: str, container: _Type, item: _Type, container_node: Expression
    ) -> None:
        self._expect(container, frozenset(["array", "string", "object"]), operator)
        if container.kinds == {"string"} or container.kinds == {"object"}:
            self._expect(item, frozenset(["string"]), operator)
        elif isinstance(container_node, Constant) and isinstance(container_node.value, list):
            kinds = frozenset(kind_of(each) for each in container_node.value)
            if container_node.value and not _alike(_Type(kinds), item):
                self._unlike(operator, item, _Type(kinds))
            self._expect_member(container_node, item)

    def _expect(self, found: _Type, kinds: frozenset[str], operator: str) -> None:
        if not found.kinds & kinds:
            message = f"`{operator}` takes {in_words(kinds)}, not {in_words(found.kinds)}"
            self.problems.append((message, None))

    def _unlike(self, operator: str, left: _Type, right: _Type) -> None:
        message = f"`{operator}` between {in_words(left.kinds)} and {in_words(right.kinds)}"
        self.problems.append((f"{message} can never hold", None))


def _alike(left: _Type, right: _Type) -> bool:
    shared = (left.kinds & right.kinds) - _NOTHING
    return bool(shared or (left.kinds & _NUMBERS and right.kinds & _NUMBERS))


def asked_about(expression: Expression) -> frozenset[str]:
    """Return the steps and inputs that *expression* asks about."""
    names: set[str] = set()
    waiting = [expression]
    while waiting:
        match waiting.pop():
            case Ref(path):
                names.add(path[1] if path[0] == "steps" else ".".join(path[:2]))
            case Not(operand):
                waiting.append(operand)
            case And(operands) | Or(operands):
                waiting.extend(operands)
            case Compare(_, left, right):
                waiting += [left, right]
            case _:
                pass
    return frozenset(names)
