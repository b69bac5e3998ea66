"""The tools of a step, as its prompt shows them."""

from collections.abc import Collection, Iterable
from pathlib import Path

import msgspec

from cortex.runtime.context import Item, Tool
from cortex.runtime.knowledge import KnowledgeError
from cortex.runtime.registry import ToolSpec
from cortex.runtime.tools import (
    Allowed,
    Shown,
    allowed,
    find_skills,
    read_skill,
    shown,
)

PACKS = "tools:packs"  # the item that lists what may be enabled


class ShownTools(msgspec.Struct, frozen=True):
    """The parts of a prompt about tools."""

    tools: tuple[Tool, ...] = ()
    items: tuple[Item, ...] = ()  # one line per pack; enabled skills, whole
    notes: tuple[str, ...] = ()  # tools that the step lists and no component or server offers


def show_tools(
    asked: Iterable[str],
    specs: tuple[ToolSpec, ...],
    enabled: Collection[str],
    home: Path | None,
) -> ShownTools:
    """The parts for a step with the `tools:` *asked*, after *enabled* packs were enabled."""
    names = tuple(asked)
    if not names:
        return ShownTools()
    may = allowed(names, specs, find_skills(home) if home else ())
    seen = shown(may, enabled)
    items, notes = _skills(seen)
    if seen.packs:
        items.insert(0, _packs(seen))
    missing = [f"no component or server offers the tool or pack {name}" for name in may.unknown]
    return ShownTools(_tools(may, seen), tuple(items), (*missing, *notes))


def _tools(may: Allowed, seen: Shown) -> tuple[Tool, ...]:
    packed = {spec.name for pack in may.packs().values() for spec in pack}
    return tuple(
        # A pack that a model enabled must not stop it by its size.
        Tool(**spec.shown(), must_include=spec.name not in packed)
        for spec in seen.tools
    )


def _packs(seen: Shown) -> Item:
    lines = "\n".join(("These can be enabled:", *seen.packs))
    return Item(id=PACKS, section="tools", kind="packs", text=lines, priority=1)


def _skills(seen: Shown) -> tuple[list[Item], list[str]]:
    items: list[Item] = []
    notes: list[str] = []
    for skill in seen.skills:
        try:
            text = read_skill(skill)
        except KnowledgeError as error:
            notes.append(f"the skill {skill.name} cannot be read: {error}")
            continue
        item_id = f"skill:{skill.name}"
        items.append(
            Item(id=item_id, section="tools", kind="skill", text=text, priority=1, trust="trusted")
        )
    return items, notes
