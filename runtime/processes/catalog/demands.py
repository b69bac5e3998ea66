"""What a step demands of its models: needs, tools, budget and the shape of the answer."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from cortex.runtime.kernel import duration, many
from cortex.runtime.models import Inferred, dollars

from .. import Find, LinkedStep, said_needs
from .templates import as_written

NOTHING = Inferred()


def demands_of(step: LinkedStep, inferred: Inferred = NOTHING) -> Iterator[tuple[str, str]]:
    """A word and a line for each thing that a step demands; nothing where it demands none.

    Args:
        step: What it lays down itself.
        inferred: What its work asks of a model beyond that.
    """
    if needs := said_needs(step):
        yield "needs", needs_line(needs, {})
    if inferred.needs:
        yield "inferred", needs_line(inferred.needs, inferred.reasons)
    if step.find is not UNSET:
        yield "find", ", ".join(_find(step.find))
    if step.strategy is not UNSET:
        yield "strategy", step.strategy
    if step.tools:
        yield "tools", ", ".join(step.tools)
    if budget := list(_budget(step)):
        yield "budget", ", ".join(budget)
    schema = step.output_schema
    if schema is UNSET and step.action is not None:
        schema = step.action.answer
    if schema is not UNSET and (shape := fields_of(schema)):
        yield "answer", shape
    elif step.output:
        yield "output", ", ".join(f"{field.name}: {field.type}" for field in step.output)


def needs_line(needs: Mapping[str, Any], reasons: Mapping[str, str]) -> str:
    """Needs in a line, each with what it was inferred from, if it was."""
    told: list[str] = []
    for name, need in needs.items():
        reason = f" ({reasons[name]})" if name in reasons else ""
        told.append(f"{name} {_plain(need)}{reason}")
    return ", ".join(told)


def fields_of(schema: dict[str, Any]) -> str:
    """The fields of a JSON Schema of an object, with their types, in a line."""
    if "$ref" in schema:  # as msgspec writes a Struct
        schema = schema.get("$defs", {}).get(str(schema["$ref"]).rpartition("/")[2], {})
    fields = schema.get("properties", {})
    return ", ".join(f"{name}: {_type(each)}" for name, each in fields.items())


def _find(find: Find) -> Iterator[str]:
    for text in find.texts:
        yield f'"{as_written(msgspec.to_builtins(text))}"'
    if find.under:
        yield f"under {' and '.join(find.under)}"
    yield many(find.passages, "passage")
    if find.tokens is not None:
        yield many(find.tokens, "token")


def _budget(step: LinkedStep) -> Iterator[str]:
    budget = step.budget
    if budget.turns is not None:
        yield many(budget.turns, "turn")
    if budget.tokens is not None:
        yield many(budget.tokens, "token")
    if budget.cost is not None:
        yield dollars(budget.cost)
    if budget.time_s is not None:
        yield duration(budget.time_s)
    for section, tokens in budget.sections:
        yield f"{section} {many(tokens, 'token')}"


def _type(schema: Any) -> str:
    if not isinstance(schema, dict):
        return "any"
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    named = schema.get("type", "any")
    if named == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return " or ".join(named) if isinstance(named, list) else str(named)


def _plain(need: Any) -> str:
    if isinstance(need, bool):
        return "yes" if need else "no"
    return f"{need:,}" if isinstance(need, int) else str(need)
