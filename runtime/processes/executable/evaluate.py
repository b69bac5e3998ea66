"""Evaluates expressions and templates with the values that an execution has so far.

Evaluation is total: everything that compiles gives a value. The rule for missing values
(a skipped step, a field that was not given):

* a reference to it is null;
* ``==`` and ``!=`` compare with null as they do with any value; every other comparison with null,
  or between values that have no order, is false;
* ``not null`` is true: where a condition is expected, null counts as false;
* in a template a reference that is the whole value becomes null, and one inside a longer text
  raises ``MissingValueError``, since a text with a hole in it is never what was meant.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from ..diagnostics.errors import MissingValueError
from .expressions import And, Compare, Constant, Expression, ListOf, MapOf, Not, Or, Ref, Template


class EvaluationScope(Struct, frozen=True, kw_only=True):
    """What an execution knows when an expression is evaluated."""

    inputs: Mapping[str, Any] = {}
    steps: Mapping[str, Mapping[str, Any]] = {}  # by id: the fields of the step's result
    statuses: Mapping[str, str] = {}  # by id: completed, failed, skipped
    execution: Mapping[str, Any] = {}  # id, attempt, item
    named: Mapping[str, Any] = {}  # the item of a list, by the name that its step gives it


def evaluate(expression: Expression, scope: EvaluationScope) -> Any:
    """Return the value of *expression* in *scope*."""
    match expression:
        case Constant(value):
            return value
        case Ref(path):
            return look_up(path, scope)
        case Not(operand):
            return not evaluate(operand, scope)
        case And(operands):
            return all(evaluate(operand, scope) for operand in operands)
        case Or(operands):
            return any(evaluate(operand, scope) for operand in operands)
        case Compare(operator, left, right):
            return _OPERATORS[operator](evaluate(left, scope), evaluate(right, scope))


def fill(template: Template, scope: EvaluationScope) -> Any:
    """Return *template* with every reference replaced by its value.

    Raises:
        MissingValueError: A reference inside a longer text has no value.
    """
    match template:  # what is most frequent first
        case Ref(path):
            return look_up(path, scope)
        case MapOf(entries):
            return {key: fill(value, scope) for key, value in entries}
        case Constant(value):
            return value
        case ListOf(items):
            return [fill(item, scope) for item in items]
        case _:
            return "".join(_written(part, scope) for part in template.parts)


def look_up(path: tuple[str, ...], scope: EvaluationScope) -> Any:
    """Return the value that *path* names, or None if there is none."""
    root, *rest = path
    value: Any
    if root == "inputs":
        value = scope.inputs
    elif root == "execution":
        value = scope.execution
    elif root != "steps":
        value, rest = scope.named, [*path]
    elif rest[1:] == ["status"]:
        return scope.statuses.get(rest[0])
    else:
        value = scope.steps
    for name in rest:
        if type(value) is not dict and not isinstance(value, Mapping):  # the first is quick
            return None
        value = value.get(name)
    return value


def _written(part: Constant | Ref, scope: EvaluationScope) -> str:
    if isinstance(part, Constant):
        return str(part.value)
    value = look_up(part.path, scope)
    if value is None:
        raise MissingValueError(".".join(part.path))
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def guarded(left: Any, right: Any) -> bool:
        if _is_number(left) and _is_number(right):
            return compare(left, right)
        return isinstance(left, str) and isinstance(right, str) and compare(left, right)

    return guarded


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def equal(left: Any, right: Any) -> bool:
    """Return whether the two are the same value."""
    # Python holds True == 1; the language does not.
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return bool(left == right)


def _contains(container: Any, item: Any) -> bool:
    if isinstance(container, str):
        return isinstance(item, str) and item in container
    if isinstance(container, list | tuple):
        return any(equal(item, each) for each in container)
    return isinstance(container, Mapping) and isinstance(item, str) and item in container


_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": equal,
    "!=": lambda left, right: not equal(left, right),
    "<": _ordered(lambda left, right: left < right),
    "<=": _ordered(lambda left, right: left <= right),
    ">": _ordered(lambda left, right: left > right),
    ">=": _ordered(lambda left, right: left >= right),
    "in": lambda left, right: _contains(right, left),
    "not in": lambda left, right: right is not None and not _contains(right, left),
    "contains": _contains,
    "starts_with": lambda left, right: (
        isinstance(left, str) and isinstance(right, str) and left.startswith(right)
    ),
}
