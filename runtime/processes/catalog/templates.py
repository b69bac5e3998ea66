"""Linked templates and conditions as a source has them: `${inputs.tag}`, `inputs.tries < 3`."""

import json
import re
from typing import Any

import msgspec

from .. import Diff

CONDITION = "when"  # the key in which a reference stands bare
_BINDS = {"or": 0, "and": 1, "not": 2, "compare": 3, "ref": 4, "constant": 4}
_KEYS = {
    "constant": {"type", "value"},
    "ref": {"type", "path"},
    "text": {"type", "parts"},
    "list": {"type", "items"},
    "map": {"type", "entries"},
}


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
