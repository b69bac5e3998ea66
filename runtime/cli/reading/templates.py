"""Linked templates as a source has them: `${inputs.tag}`, not what it was compiled to."""

from typing import Any

import msgspec

from cortex.runtime.processes import Diff

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
        return {name: as_written(inner) for name, inner in value.items()}
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


def diff_as_written(found: Diff) -> Diff:
    """*found* for people."""
    changes = tuple(
        msgspec.structs.replace(each, before=as_written(each.before), after=as_written(each.after))
        for each in found.changes
    )
    return msgspec.structs.replace(found, changes=changes)
