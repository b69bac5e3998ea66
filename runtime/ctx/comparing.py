"""Compares two documents: data, order, types, the spelling of numbers, comments."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from .document import Document
from .notation.scalars import literal, scalar

MOST = 100  # differences; nobody reads more


_CHARS = 40  # of a value in a message


def differences(own: Document, theirs: Document) -> list[str]:
    """The differences between *own* and *theirs*, place by place."""
    lost = [f"{_place(path)}{what}" for path, what in islice(_found(own.data, theirs.data), MOST)]
    lost += [
        f"{_place(path)}the comment differs"
        for path in own.notes | theirs.notes
        if theirs.notes.get(path) != own.notes.get(path)
    ]
    if own.after != theirs.after:
        lost.append("the comments at the end differ")
    return lost


def _found(left: Any, right: Any) -> Iterator[tuple[list[Any], str]]:
    """The path of each difference, and what is otherwise there."""
    waiting: list[Any] = [(left, right, None)]
    while waiting:
        one, other, path = waiting.pop()
        pairs: Any = ()
        if isinstance(one, dict) and isinstance(other, dict):
            if not _same_names(one, other):
                yield _steps(path), _names_differ(one, other)
                continue
            pairs = zip(one, one.values(), other.values(), strict=True)
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                yield (
                    _steps(path),
                    f"{len(one):,} items in the source, {len(other):,} in the package",
                )
                continue
            pairs = zip(range(len(one)), one, other, strict=True)
        elif not _same(one, other):
            yield _steps(path), f"{_value(one)} in the source, {_value(other)} in the package"
        children = [
            (a, b, (step, path))
            for step, a, b in pairs
            if not (type(a) is type(b) is str and a == b)
        ]
        waiting += reversed(children)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return bool(one == other)
    # 1 equals 1.0 and True, -0.0 equals 0.0, NaN equals nothing; written they say what they are.
    return _value(one) == _value(other)


def _same_names(one: dict[Any, Any], other: dict[Any, Any]) -> bool:
    names = list(one)
    return names == list(other) and all(
        type(a) is type(b) is str or _same(a, b) for a, b in zip(names, other, strict=True)
    )


def _steps(path: Any) -> list[Any]:
    steps = []
    while path is not None:
        step, path = path
        steps.append(step)
    return steps[::-1]


def _place(path: Any) -> str:
    shown = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in path)
    return f"{shown.removeprefix('.')}: " if shown else ""


def _names_differ(one: dict[Any, Any], other: dict[Any, Any]) -> str:
    for names, others, what in (
        (one, other, "not in the package"),
        (other, one, "not in the source"),
    ):
        missing = [_value(name) for name in names if name not in others]
        if missing:
            return f"{missing[0]} is {what}" + f", with {len(missing) - 1:,} more" * (
                len(missing) > 1
            )
    return "the names are in another order"


def _value(value: Any) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    shown = scalar(value) if isinstance(value, str) else literal(value)
    return shown if len(shown) <= _CHARS or not isinstance(value, str) else shown[:_CHARS] + "…"
