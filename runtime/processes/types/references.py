"""References within a JSON Schema: whether each resolves, and whether resolving it ends."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

SHOWN_CHARS: Final = 100  # of a reference
# The schemas in these keywords apply to the same value as their parent, not to a part of it.
_IN_PLACE: Final = ("not", "if", "then", "else")
_IN_PLACE_LISTS: Final = ("allOf", "anyOf", "oneOf")
_IN_PLACE_MAPS: Final = ("dependentSchemas",)
_REFERENCES: Final = ("$ref", "$dynamicRef")


def references(schema: Any) -> Iterator[str]:
    """Every reference in *schema*."""
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key in _REFERENCES and isinstance(value, str):
                yield value
            else:
                yield from references(value)
    elif isinstance(schema, list):
        for each in schema:
            yield from references(each)


def reference_problem(schema: Mapping[str, Any]) -> str | None:
    """Which reference in *schema* leads out of it, nowhere or back to itself, or None.

    A schema may refer to itself for a part of the value, as that of a tree does; one that does so
    for the same value would be applied for ever.

    Raises:
        RecursionError: *schema* is too deep.
    """
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    resolver = Registry[Any]().resolver_with_root(DRAFT202012.create_resource(schema))
    ended: set[int] = set()
    for reference, place, inside in _found(schema, resolver):
        if not reference.startswith("#"):
            shown = reference[:SHOWN_CHARS]
            return f"it refers to {shown!r}: only references within the schema itself are allowed"
        try:
            if _comes_back(place, inside, (), ended):
                return f"it refers to {reference[:SHOWN_CHARS]!r}, which leads back to itself"
        except (Unresolvable, ValueError):  # a name in a list
            return f"it refers to {reference[:SHOWN_CHARS]!r}, which does not exist"
        except TypeError:
            return f"it refers to {reference[:SHOWN_CHARS]!r}, which is not a schema"
    return None


def _found(schema: Any, resolver: Any) -> Iterator[tuple[str, Any, Any]]:
    """Each reference in *schema*, with its map and the resolver there."""
    if isinstance(schema, dict):
        resolver = _within(schema, resolver)
        for key, value in schema.items():
            if key in _REFERENCES and isinstance(value, str):
                yield value, schema, resolver
            else:
                yield from _found(value, resolver)
    elif isinstance(schema, list):
        for each in schema:
            yield from _found(each, resolver)


def _comes_back(schema: Any, resolver: Any, way: tuple[int, ...], ended: set[int]) -> bool:
    """Whether to apply *schema* to a value means to apply it to the same value again.

    Args:
        schema: Or a part of one.
        resolver: Of references in it.
        way: Identities of the schemas on the way to it.
        ended: Identities of those that are known to end; they are added to.

    Raises:
        Unresolvable: A reference on the way leads nowhere.
        ValueError: So it does.
        TypeError: It leads to what is no schema.
    """
    if not isinstance(schema, dict | bool):
        raise TypeError(schema)
    if isinstance(schema, bool) or id(schema) in ended:
        return False
    if id(schema) in way:
        return True
    resolver, way = _within(schema, resolver), (*way, id(schema))
    for key in _REFERENCES:
        if isinstance(schema.get(key), str):
            found = resolver.lookup(schema[key])
            if _comes_back(found.contents, found.resolver, way, ended):
                return True
    if any(_comes_back(each, resolver, way, ended) for each in _in_place(schema)):
        return True
    ended.add(id(schema))
    return False


def _in_place(schema: Mapping[str, Any]) -> Iterator[Any]:
    yield from (schema[key] for key in _IN_PLACE if key in schema)
    for key in _IN_PLACE_LISTS:
        yield from schema.get(key, ())
    for key in _IN_PLACE_MAPS:
        yield from schema.get(key, {}).values()


def _within(schema: Mapping[str, Any], resolver: Any) -> Any:
    from referencing.jsonschema import DRAFT202012

    if not isinstance(schema.get("$id"), str):
        return resolver
    return resolver.in_subresource(DRAFT202012.create_resource(schema))
