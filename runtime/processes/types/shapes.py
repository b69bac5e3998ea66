"""Shapes of values: JSON Schema as msgspec writes it, and the types of the process language.

A shape raises no errors: it returns the kinds of value it takes, its fields, and the problems of a
given value. What a schema leaves open is open here too.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from ..executable.linked import Field, Output

KINDS = frozenset(["string", "integer", "number", "boolean", "array", "object", "null"])
_KIND_OF_TYPE = {"list": "array", "map": "object", "path": "string"}
_KIND_OF_VALUE: Mapping[type, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "array",
    dict: "object",
    type(None): "null",
}
_NUMBERS = frozenset(["integer", "number"])
_WORDS = {"array": "a list", "object": "a map", "integer": "an integer", "null": "null"}
_MAX_UNIONS = 4
_MAX_REFS = 32  # of one $ref that leads to another


def kind_of(value: Any) -> str:
    """Return the kind of *value*, as JSON names it."""
    return _KIND_OF_VALUE.get(type(value), "object")


def kinds_of_type(name: str) -> frozenset[str]:
    """Return the kinds of value that the language's type *name* takes."""
    kinds = {_KIND_OF_TYPE.get(name, name)}
    return frozenset(kinds | {"integer"} if name == "number" else kinds)


def in_words(kinds: frozenset[str]) -> str:
    """Return *kinds* to be read: ``a string or a list``."""
    if kinds == KINDS:
        return "anything"
    shown = kinds - {"integer"} if "number" in kinds else kinds
    return " or ".join(_WORDS.get(kind, f"a {kind}") for kind in sorted(shown))


class Shape:
    """A schema, with its references followed where they are needed."""

    def __init__(
        self, schema: Any, definitions: Mapping[str, Any] | None = None, depth: int = 0
    ) -> None:
        schema = schema if isinstance(schema, dict) else {}
        self.definitions = schema.get("$defs", {}) if definitions is None else definitions
        for _ in range(_MAX_REFS):
            if "$ref" not in schema:
                break
            schema = self.definitions.get(str(schema["$ref"]).rsplit("/", 1)[-1], {})
        self.schema: Mapping[str, Any] = schema
        self._depth = depth  # of anyOf in anyOf: an announcement could nest without end

    @cached_property
    def variants(self) -> tuple["Shape", ...]:
        """The alternatives of ``anyOf``; none if there is one form only."""
        options = self.schema.get("anyOf") or self.schema.get("oneOf") or ()
        if self._depth >= _MAX_UNIONS:
            return ()
        return tuple(Shape(each, self.definitions, self._depth + 1) for each in options)

    @cached_property
    def kinds(self) -> frozenset[str]:
        """Kinds of value that are taken."""
        if self.variants:
            return frozenset().union(*(variant.kinds for variant in self.variants))
        declared = self.schema.get("type")
        if declared is None:
            if self.enum is not None:
                return frozenset(kind_of(value) for value in self.enum)
            return KINDS
        kinds = {declared} if isinstance(declared, str) else set(declared)
        return frozenset(kinds | {"integer"} if "number" in kinds else kinds)

    @cached_property
    def enum(self) -> tuple[Any, ...] | None:
        """The only values taken, or None."""
        if "const" in self.schema:
            return (self.schema["const"],)
        if self.variants:
            enums = [variant.enum for variant in self.variants if variant.kinds != {"null"}]
            known = [each for each in enums if each is not None]
            return tuple(v for each in known for v in each) if len(known) == len(enums) else None
        values = self.schema.get("enum")
        return None if values is None else tuple(values)

    @cached_property
    def _object(self) -> Mapping[str, Any] | None:
        """The schema of the one map that is taken; None where there are several, or none."""
        if not self.variants:
            return self.schema if "object" in self.kinds else None
        objects = [each for each in self.variants if "object" in each.kinds]
        return objects[0].schema if len(objects) == 1 else None

    @cached_property
    def properties(self) -> Mapping[str, "Shape"]:
        """Fields of the map that are known."""
        known = self._object.get("properties", {}) if self._object else {}
        return {name: Shape(each, self.definitions) for name, each in known.items()}

    @cached_property
    def required(self) -> frozenset[str]:
        """Fields that have to be given."""
        return frozenset(self._object.get("required", ()) if self._object else ())

    @cached_property
    def extra(self) -> "Shape | None":
        """The shape of fields that are not named; None where there may be none.

        A map with named fields is taken as complete: msgspec does not say so, and drops the rest.
        """
        if self._object is None:
            return Shape({})
        further = self._object.get("additionalProperties")
        if further is None:
            return None if "properties" in self._object else Shape({})
        if isinstance(further, bool):
            return Shape({}) if further else None
        return Shape(further, self.definitions)

    @cached_property
    def items(self) -> "Shape":
        """The shape of the items of the list."""
        for shape in self.variants or (self,):
            if "items" in shape.schema:
                return Shape(shape.schema["items"], self.definitions)
        return Shape({})

    @property
    def is_open(self) -> bool:
        """Whether anything goes."""
        return self.kinds == KINDS and self.enum is None

    def field(self, name: str) -> "Shape | None":
        """Return the shape under *name*; None if there is nothing under it."""
        return self.properties.get(name, self.extra)

    def problem(self, value: Any) -> str | None:
        """Return what is wrong with the scalar *value*, or None."""
        kind = kind_of(value)
        if kind not in self.kinds:
            return f"expected {in_words(self.kinds)}"
        if self.enum is not None and kind not in ("array", "object", "null"):
            same = (value == each and type(value) is type(each) for each in self.enum)
            if not any(same):
                return "expected one of " + ", ".join(repr(each) for each in self.enum[:20])
        return self._out_of_bounds(value)

    def _out_of_bounds(self, value: Any) -> str | None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        lowest, highest = self.schema.get("minimum"), self.schema.get("maximum")
        if lowest is not None and value < lowest:
            return f"expected at least {lowest}"
        if highest is not None and value > highest:
            return f"expected at most {highest}"
        return None

    def deep_problems(self, value: Any) -> Iterator[str]:
        """Yield what is wrong with *value* and everything in it."""
        problem = self.problem(value)
        if problem:
            yield problem
        elif isinstance(value, list):
            for item in value:
                yield from self.items.deep_problems(item)
        elif isinstance(value, dict):
            yield from (f"`{name}` is missing" for name in sorted(self.required - set(value)))
            for name, each in value.items():
                shape = self.field(name)
                if shape is None:
                    yield f"`{name}` is not known"
                else:
                    yield from shape.deep_problems(each)


ANYTHING = Shape({})


def fits(source: Shape, target: Shape) -> bool:
    """Return whether some value of *source* may be one of *target*."""
    kinds = source.kinds - {"null"}
    if not kinds or kinds & target.kinds:
        return True
    return bool(kinds & _NUMBERS and "number" in target.kinds)


def never_equal(source: Shape, target: Shape) -> bool:
    """Return whether no value of *source* is one that *target* takes."""
    if source.enum is None or target.enum is None:
        return False
    return not any(value in target.enum for value in source.enum if value is not None)


def schema_of_type(name: str, enum: tuple[Any, ...] = ()) -> dict[str, Any]:
    """Return the JSON Schema of a type of the language."""
    schema: dict[str, Any] = {"type": _KIND_OF_TYPE.get(name, name)}
    return {**schema, "enum": list(enum)} if enum else schema


def shape_of_fields(fields: tuple[Field, ...] | tuple[Output, ...], *, given: bool) -> Shape:
    """Return the shape of a map of *fields*.

    Where *given*, the map is handed over, and a field is required or not; otherwise it is read, and
    a field that is not required may be null.
    """
    properties: dict[str, Any] = {}
    for field in fields:
        schema = schema_of_type(field.type, field.enum)
        default = field.default if isinstance(field, Field) else None
        if not given and not field.required and default is None:
            schema = {"anyOf": [schema, {"type": "null"}]}
        properties[field.name] = schema
    required = [field.name for field in fields if field.required] if given else []
    return Shape({"type": "object", "properties": properties, "required": required})
