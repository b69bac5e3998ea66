"""Applies a JSON Schema within limits: both the schema and the value may be hostile.

A plugin announces schemas and gives the values that are held against them. Python's own `re` holds
the interpreter's lock while it searches, so that one pattern such as `(a|aa)+$` would stop the hub
for hours, and signals with it. Patterns are therefore searched by `regex`, which can be stopped;
and since references multiply what is applied, the number of keywords is bounded, too.
"""

from collections.abc import Hashable, Iterator, Mapping
from contextvars import ContextVar
from functools import cache, partial
from typing import Any, Final

import regex

from cortex.bus import steady_s

PATTERNS_S: Final = 2.0  # all searches of one value together
KEYWORDS: Final = 500_000  # applied to one value; one that fills an event has some 250,000

DEEPEST: Final = 220  # keywords within each other; Python's own stack ends soon behind them


class SchemaLimitError(ValueError):
    """Applying a schema takes longer than any schema may, or it is no schema."""


class _Left:
    """What one value may still take."""

    def __init__(self) -> None:
        self.keywords = KEYWORDS
        self.deeper = DEEPEST
        self.patterns_s = PATTERNS_S


_LEFT: ContextVar[_Left] = ContextVar("cortex_schema_left")


def schema_errors(schema: Mapping[str, Any], value: Any) -> list[Any]:
    """The errors of *value*, from jsonschema.

    Raises:
        SchemaLimitError: The check takes too long, or *schema* is invalid.
        Unresolvable: A reference in *schema* does not resolve.
    """
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    token = _LEFT.set(_Left())
    try:
        # An empty registry: without one a reference to a URL would be fetched.
        return list(_validator()(schema, registry=Registry()).iter_errors(value))
    except (SchemaLimitError, Unresolvable, RecursionError):
        raise
    # An invalid schema, or a reference to one, recurses until Python's limit.
    except Exception as error:
        raise SchemaLimitError(f"it is not a schema: {error}") from error
    finally:
        _LEFT.reset(token)


@cache
def _validator() -> Any:
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    own = {
        "pattern": _pattern,
        "uniqueItems": _unique_items,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "unevaluatedProperties": partial(
            _unevaluated, Draft202012Validator.VALIDATORS["unevaluatedProperties"]
        ),
    }
    all_of_them = {**Draft202012Validator.VALIDATORS, **own}
    counted = {name: partial(_counted, each) for name, each in all_of_them.items()}
    return extend(Draft202012Validator, counted)


def _counted(keyword: Any, *given: Any) -> Iterator[Any]:
    left = _LEFT.get()
    left.keywords -= 1
    if left.keywords < 0:
        raise SchemaLimitError(f"it takes more than {KEYWORDS:,} steps")
    if left.deeper <= 0:
        raise SchemaLimitError(f"it goes more than {DEEPEST} steps into each other")
    left.deeper -= 1
    try:
        yield from keyword(*given) or ()
    finally:
        left.deeper += 1


def _matches(pattern: str, text: str) -> bool:
    left = _LEFT.get()
    began_s = steady_s()
    try:
        if left.patterns_s <= 0:
            raise TimeoutError
        return bool(regex.search(pattern, text, timeout=left.patterns_s, concurrent=True))
    except TimeoutError as error:
        message = f"its pattern {pattern[:100]!r} takes more than {PATTERNS_S:g} s"
        raise SchemaLimitError(message) from error
    except regex.error as error:
        raise SchemaLimitError(f"its pattern {pattern[:100]!r} is not valid: {error}") from error
    finally:
        left.patterns_s -= steady_s() - began_s


def _pattern(validator: Any, pattern: str, value: Any, _schema: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    if validator.is_type(value, "string") and not _matches(pattern, value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def _pattern_properties(
    validator: Any, patterns: Mapping[str, Any], value: Any, _schema: Any
) -> Iterator[Any]:
    if not validator.is_type(value, "object"):
        return
    for pattern, part in patterns.items():
        for name, each in value.items():
            if _matches(pattern, name):
                yield from validator.descend(each, part, path=name, schema_path=pattern)


def _unique_items(validator: Any, unique: bool, value: Any, _schema: Any) -> Iterator[Any]:
    # jsonschema compares each map with each, which takes hours for some 10,000.
    from jsonschema import ValidationError

    if not unique or not validator.is_type(value, "array"):
        return
    if len({_comparable(each) for each in value}) < len(value):
        yield ValidationError(f"{value!r} has non-unique elements")


def _comparable(value: Any) -> Hashable:
    """*value* in a form whose equality is that of JSON: 1 is 1.0, and true is not 1."""
    if isinstance(value, bool):
        return "bool", value
    if isinstance(value, Mapping):
        return "map", frozenset((name, _comparable(each)) for name, each in value.items())
    if isinstance(value, list | tuple):
        return "list", tuple(map(_comparable, value))
    plain: Hashable = value
    return plain


def _additional_properties(validator: Any, part: Any, value: Any, schema: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    if not validator.is_type(value, "object"):
        return
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    further = [name for name in value if name not in known]
    extras = [name for name in further if not any(_matches(each, name) for each in patterns)]
    if validator.is_type(part, "object"):
        for name in extras:
            yield from validator.descend(value[name], part, path=name)
    elif not part and extras:
        named = ", ".join(map(repr, sorted(extras)))
        verb = "was" if len(extras) == 1 else "were"
        message = f"Additional properties are not allowed ({named} {verb} unexpected)"
        yield ValidationError(message)


def _unevaluated(keyword: Any, validator: Any, part: Any, value: Any, schema: Any) -> Any:
    # jsonschema looks for what was evaluated with `re`, on paths of its own.
    if _has_patterns(validator.schema):
        raise SchemaLimitError(
            "`unevaluatedProperties` together with `patternProperties` is not supported"
        )
    return keyword(validator, part, value, schema)


def _has_patterns(schema: Any) -> bool:
    if isinstance(schema, dict):
        return "patternProperties" in schema or any(map(_has_patterns, schema.values()))
    return isinstance(schema, list) and any(map(_has_patterns, schema))
