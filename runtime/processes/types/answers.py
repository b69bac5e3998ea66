"""Typed answers: the JSON Schema of a model's answer, and its check.

The schema comes from what an action announced or from a step's `output:`. It is validated here,
without the network: a reference out of a schema is not resolved.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from ..executable.linked import Field
from .references import reference_problem, references
from .shapes import schema_of_type

PROBLEM_CHARS: Final = 400
PROBLEMS: Final = 3  # reported at once
EMPTY: Final = "the answer is empty, expected text"
_DEFS = "#/$defs/"
_FENCED = re.compile(r"```[\w-]*\s*\n(.*?)\n?```", re.DOTALL)


def schema_of_fields(fields: Sequence[Field]) -> dict[str, Any]:
    """The JSON Schema of an object with *fields*."""
    properties: dict[str, Any] = {}
    for field in fields:
        schema = schema_of_type(field.type, field.enum)
        properties[field.name] = (
            {**schema, "description": field.description} if field.description else schema
        )
    required = [field.name for field in fields if field.required]
    return {"type": "object", "properties": properties, "required": required}


def object_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """*schema* with the object it refers to at its top, where endpoints want it."""
    name = str(schema.get("$ref", "")).removeprefix(_DEFS)
    definitions = schema.get("$defs", {})
    if not isinstance(definitions, dict) or not isinstance(definitions.get(name), dict):
        return dict(schema)
    top = definitions[name]
    left = {each: one for each, one in definitions.items() if each != name or _names(one, name)}
    used = any(_names(one, name) for one in definitions.values())
    kept = definitions if used else left
    return {**top, "$defs": kept} if kept else dict(top)


def schema_problem(schema: Any) -> str | None:
    """Why *schema* cannot be the schema of an answer, or None."""
    from jsonschema import Draft202012Validator, SchemaError

    if not isinstance(schema, dict):
        return "it is not a map"
    try:
        Draft202012Validator.check_schema(schema)
        applied = object_schema(schema)
        if problem := reference_problem(schema) or reference_problem(applied):
            return problem
    except SchemaError as error:
        return f"{error.json_path} {_first_line(error.message)}"
    except RecursionError:
        return "it is too deep"
    except ValueError as error:
        return f"an `$id` in it is not a URL: {error}"
    if applied.get("type") != "object":
        return "its type is not `object`: an answer has named fields"
    return None


def wrong_answer(value: Any, schema: Mapping[str, Any]) -> str | None:
    """How *value* does not match *schema*, and what was expected, in one line; None if it fits."""
    from jsonschema.exceptions import relevance
    from referencing.exceptions import Unresolvable

    from .schema_limits import SchemaLimitError, schema_errors

    try:
        errors = sorted(schema_errors(schema, value), key=relevance, reverse=True)
    except (Unresolvable, RecursionError, SchemaLimitError) as error:
        return f"its schema cannot be applied: {_first_line(str(error))}"
    if not errors:
        return None
    told = [f"{_place(error)} {_first_line(error.message)}" for error in errors[:PROBLEMS]]
    more = f"; and {len(errors) - PROBLEMS} more" if len(errors) > PROBLEMS else ""
    return "; ".join(told) + more


def typed_answer(
    answer: Mapping[str, Any], schema: Mapping[str, Any], stop: str = "end"
) -> tuple[Any, str | None]:
    """The typed part of a model's *answer*, and what is wrong with it, if anything.

    A provider that cannot ask for a schema leaves "data" out; then the text has to be the data.
    """
    data = answer.get("data")
    if data is None:
        data = _read(str(answer.get("text") or ""))
    cut = " (the answer was cut off at its longest)" if stop == "length" else ""
    if data is None:
        return None, f"the answer is not JSON, expected an object{cut}"
    problem = wrong_answer(data, schema)
    return data, None if problem is None else problem + cut


def is_empty(answer: Mapping[str, Any]) -> bool:
    """Whether a model's *answer* is empty."""
    return answer.get("data") is None and not str(answer.get("text") or "").strip()


def _read(text: str) -> Any:
    for candidate in (text.strip(), *_FENCED.findall(text)):
        try:
            return msgspec.json.decode(candidate)
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            continue
    return None


def _place(error: Any) -> str:
    return str(error.json_path)[:100]


def _first_line(text: str) -> str:
    line = " ".join(text.split())
    if len(line) <= PROBLEM_CHARS:
        return line
    half = PROBLEM_CHARS // 2  # the problem comes at the end, after the value
    return f"{line[:half]} … {line[-half:]}"


def _names(schema: Any, name: str) -> bool:
    place = f"{_DEFS}{name}"
    return any(each == place or each.startswith(f"{place}/") for each in references(schema))
