"""A JSON Schema in the strict form that endpoints hold a model to."""

from collections.abc import Sequence
from typing import Any, cast

_KEPT = ("type", "enum", "const", "description", "$ref")
Schema = dict[str, Any]


def native_schema(schema: Schema) -> Schema | None:
    """*schema*, made stricter where endpoints ask for that; None where that cannot be said.

    Objects are closed and have all of their properties; bounds of numbers and lengths are left out,
    as the answer is checked against the schema itself anyway. A map with free keys has no such
    form.
    """
    definitions = schema.get("$defs", {})
    root = schema
    if reference := schema.get("$ref"):
        # The root must be an object: endpoints do not look for it behind a reference.
        root = definitions.get(str(reference).removeprefix("#/$defs/"), {})
    strict = _strict(root)
    if strict is None or strict.get("type") != "object":
        return None
    named = {name: _strict(value) for name, value in definitions.items()}
    if None in named.values():
        return None
    return {**strict, "$defs": named} if named and _refers(strict) else strict


def _strict(value: Any) -> Schema | None:
    if not isinstance(value, dict):
        return None
    schema = cast("Schema", value)
    strict: Schema = {key: schema[key] for key in _KEPT if key in schema}
    if "const" in strict:
        strict["enum"] = [strict.pop("const")]
    if schema.get("type") == "object":
        properties = _all(schema.get("properties"))
        if properties is None or schema.get("additionalProperties"):
            return None
        strict |= {
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }
    if schema.get("type") == "array":
        strict["items"] = _strict(schema.get("items"))
        if strict["items"] is None:
            return None
    if "anyOf" in schema:
        options = [_strict(option) for option in schema["anyOf"]]
        if None in options:
            return None
        strict["anyOf"] = options
    return strict if strict.keys() - {"description"} else None


def _all(properties: Any) -> Schema | None:
    if not isinstance(properties, dict):
        return None
    strict = {name: _strict(value) for name, value in cast("Schema", properties).items()}
    return None if None in strict.values() else strict


def _refers(schema: Any) -> bool:
    if isinstance(schema, dict):
        return "$ref" in schema or any(map(_refers, cast("Schema", schema).values()))
    return isinstance(schema, list) and any(map(_refers, cast("Sequence[Any]", schema)))
