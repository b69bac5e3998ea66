"""Compiled expressions and templates: a closed set of nodes, and no Python.

``when:`` compiles to an Expression, ``with:`` values and outputs to a Template. Both are data: they
travel with the linked process and are evaluated by ``evaluate`` alone.
"""

from typing import Any, Literal, TypeAlias

from msgspec import Struct

Operator: TypeAlias = Literal[
    "==", "!=", "<", "<=", ">", ">=", "in", "not in", "contains", "starts_with"
]


class Constant(Struct, gc=False, frozen=True, tag="constant"):
    """A value as it was written."""

    value: Any  # null, boolean, number, string, list or map


class Ref(Struct, gc=False, frozen=True, tag="ref"):
    """A value that the execution knows: ``inputs.x``, ``steps.id.field``, ``execution.attempt``."""

    path: tuple[str, ...]


class Not(Struct, gc=False, frozen=True, tag="not"):
    """True where *operand* is not."""

    operand: "Expression"


class And(Struct, gc=False, frozen=True, tag="and"):
    """True where every operand is; stops at the first that is not."""

    operands: tuple["Expression", ...]


class Or(Struct, gc=False, frozen=True, tag="or"):
    """True where one operand is; stops at the first that is."""

    operands: tuple["Expression", ...]


class Compare(Struct, gc=False, frozen=True, tag="compare"):
    """Two values and how they are compared."""

    operator: Operator
    left: "Expression"
    right: "Expression"


Expression: TypeAlias = Constant | Ref | Not | And | Or | Compare


class Text(Struct, gc=False, frozen=True, tag="text"):
    """A string with references in it; each is written into its place."""

    parts: tuple[Constant | Ref, ...]


class ListOf(Struct, gc=False, frozen=True, tag="list"):
    """A list in which something refers."""

    items: tuple["Template", ...]


class MapOf(Struct, gc=False, frozen=True, tag="map"):
    """A map in which something refers; entries are sorted by key."""

    entries: tuple[tuple[str, "Template"], ...]


Template: TypeAlias = Constant | Ref | Text | ListOf | MapOf
