"""The functions and classes of a Python file and the lines that each of them takes."""

import ast
import warnings
from functools import lru_cache
from typing import NamedTuple

MAX_CHARS = 500_000  # what is longer was generated


class Scope(NamedTuple):
    """A function or class; its lines count from 1, decorators and the last line included."""

    name: str
    first: int
    last: int


@lru_cache(maxsize=32)  # a trace comes back to the same few files
def python_scopes(text: str) -> tuple[Scope, ...] | None:
    """Return the scopes of a Python source, or nothing where it cannot be parsed."""
    if len(text) > MAX_CHARS:
        return None
    try:
        with warnings.catch_warnings():  # what the source does wrong is not ours to tell
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tuple(
        Scope(
            node.name,
            min([node.lineno, *(each.lineno for each in node.decorator_list)]),
            node.end_lineno or node.lineno,
        )
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    )
