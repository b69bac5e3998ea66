"""What a step demands of its models: needs, tools, budget and the shape of the answer."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from cortex.runtime.kernel import duration, many
from cortex.runtime.models import Inferred, dollars

from .. import Diff, Find, LinkedStep, Remembered, said_needs

CONDITION = "when"  # the key whose references need no `${...}`
_BINDS = {"or": 0, "and": 1, "not": 2, "compare": 3, "ref": 4, "constant": 4}
_KEYS = {
    "constant": {"type", "value"},
    "ref": {"type", "path"},
    "text": {"type", "parts"},
    "list": {"type", "items"},
    "map": {"type", "entries"},
}

NOTHING = Inferred()


def as_written(value: Any) -> Any:
    """*value* with every template in it as a source has it."""
    if isinstance(value, list | tuple):
        return [as_written(each) for each in value]
    if not isinstance(value, dict):
        return value
    # A field of type `list` has the key, too; a template has these two keys alone.
    kind = value.get("type")
    if not isinstance(kind, str) or _KEYS.get(kind) != value.keys():
        return {
            name: condition_as_written(inner) if name == CONDITION else as_written(inner)
            for name, inner in value.items()
        }
    match kind:
        case "constant":
            return value["value"]
        case "ref":
            return f"${{{'.'.join(map(str, value['path']))}}}"
        case "text":
            return "".join(str(as_written(part)) for part in value["parts"])
        case "list":
            return [as_written(item) for item in value["items"]]
    return {name: as_written(inner) for name, inner in value["entries"]}


def condition_as_written(value: Any) -> Any:
    """The condition *value* as text; anything else as it is."""
    if not isinstance(value, dict) or value.get("type") not in _BINDS:
        return value
    return _condition(value)


def diff_as_written(found: Diff) -> Diff:
    """*found* for people."""
    changes = []
    for each in found.changes:
        written = condition_as_written if each.field == CONDITION else as_written
        before, after = written(each.before), written(each.after)
        changes.append(msgspec.structs.replace(each, before=before, after=after))
    return msgspec.structs.replace(found, changes=tuple(changes))


def _condition(value: dict[str, Any]) -> str:
    match value["type"]:
        case "constant":
            return _literal(value["value"])
        case "ref":
            return ".".join(value["path"])
        case "not":
            return f"not {_within(value['operand'], 'not')}"
        case "compare":
            left, right = _above(value["left"]), _above(value["right"])
            return f"{left} {value['operator']} {right}"
    kind = value["type"]
    return f" {kind} ".join(_within(each, kind, same=False) for each in value["operands"])


def _within(value: dict[str, Any], kind: str, *, same: bool = True) -> str:
    """An operand of *kind*, in parentheses where it would bind less."""
    binds, least = _BINDS[value["type"]], _BINDS[kind]
    text = _condition(value)
    return text if binds > least or (same and binds == least) else f"({text})"


def _above(value: dict[str, Any]) -> str:
    return _within(value, "compare", same=False)


def _literal(value: Any) -> str:
    if isinstance(value, str):
        escaped = re.sub(r"(['\\])", r"\\\1", value)
        return f"'{escaped}'"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_literal, value))}]"
    return json.dumps(value)


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
    if step.memory is not UNSET:
        yield "memory", ", ".join(_memory(step.memory))
    if step.persona is not UNSET:
        yield "persona", " ".join(step.persona.split())
    if step.instructions is not UNSET:
        yield "instructions", " ".join(step.instructions.split())
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


def _memory(memory: Remembered) -> Iterator[str]:
    for text in memory.texts:
        yield f'"{as_written(msgspec.to_builtins(text))}"'
    yield many(memory.nodes, "memory", "memories")
    if memory.history:
        yield "with what was replaced"
    if memory.tokens is not None:
        yield many(memory.tokens, "token")


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
