"""Fixes: text edits that add to a definition what it lacks."""

from collections.abc import Sequence

from .diagnostics import TextEdit
from .nodes import MappingNode, SequenceNode, column_of, end_of, point, span_of


def add_items(
    node: MappingNode, key: str, items: Sequence[str], *, before: str = "steps"
) -> tuple[TextEdit, ...] | None:
    """Return the edits that add *items* to the list under *key* of the map *node*.

    Each item is the text after the dash; further lines of it are indented below. A missing list is
    put in front of the key *before*, or at the end. None where the source is in flow style.
    """
    present = node.get(key)
    if isinstance(present, SequenceNode) and present.items:
        last = present.items[-1]
        if present.flow:
            return (TextEdit(point(end_of(last)), "".join(f", {item}" for item in items)),)
        indent = column_of(present.start)
        text = "".join(f"\n{_item(item, indent)}" for item in items)
        return (TextEdit(point(end_of(last)), text),)
    if node.flow or not node.entries or present is not None:
        return None
    indent = column_of(next(iter(node.entries.values()))[0].start)
    block = f"{key}:\n" + "\n".join(_item(item, indent + 2) for item in items)
    following = node.entries.get(before)
    if following:
        return (TextEdit(point(following[0].start), f"{block}\n\n{' ' * indent}"),)
    return (TextEdit(point(end_of(node)), f"\n\n{' ' * indent}{block}"),)


def set_version(node: MappingNode, version: int) -> tuple[TextEdit, ...]:
    """Return the edit that gives the definition *node* another version."""
    return (TextEdit(span_of(node.at("version")), str(version)),)


def _item(item: str, indent: int) -> str:
    first, *rest = item.split("\n")
    pad = " " * indent
    return "\n".join([f"{pad}- {first}", *(f"{pad}  {line}" for line in rest)])
