"""Where two documents differ: in data, in its order and types, in comments."""

from typing import Any

from .document import Document


def differences(own: Document, theirs: Document) -> list[str]:
    """What *own* says that *theirs* does not say in its place, or the other way round."""
    lost = [] if same(own.data, theirs.data) else ["the data differs"]
    lost += [
        f"the comment at {'.'.join(map(str, path))}"
        for path in own.notes | theirs.notes
        if theirs.notes.get(path) != own.notes.get(path)
    ]
    if own.after != theirs.after:
        lost.append("the comments at the end")
    return lost


def same(left: Any, right: Any) -> bool:
    """Whether both are equal in value, type and the order of their entries."""
    waiting = [(left, right)]
    while waiting:
        one, other = waiting.pop()
        if isinstance(one, dict) and isinstance(other, dict):
            if list(one) != list(other):
                return False
            waiting += zip(one.values(), other.values(), strict=True)
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return False
            waiting += zip(one, other, strict=True)
        elif not _same_scalar(one, other):
            return False
    return True


def _same_scalar(one: Any, other: Any) -> bool:
    kinds = (bool, int, float, str)
    left = next((kind for kind in kinds if isinstance(one, kind)), type(one))
    right = next((kind for kind in kinds if isinstance(other, kind)), type(other))
    # -0.0 equals 0.0 and is another number; NaN equals nothing and is one value here.
    exact = (lambda value: float.__repr__(value)) if left is float else (lambda value: value)
    return left is right and bool(exact(one) == exact(other))
