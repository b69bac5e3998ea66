"""The tools of a step, as its prompt shows them."""

from collections.abc import Collection, Iterable
from pathlib import Path

import msgspec

from cortex.runtime.context import Item, Tool
from cortex.runtime.directives import NOTHING, InForce
from cortex.runtime.executions import skills_to_use, steered, steering_notes
from cortex.runtime.knowledge import KnowledgeError
from cortex.runtime.registry import ToolSpec
from cortex.runtime.tools import (
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
    laid_down: InForce = NOTHING,
) -> ShownTools:
    """The parts for a step with the `tools:` *asked*, after *enabled* packs were enabled.

    What people *laid_down* to use comes first.
    """
    names = tuple(asked)
    if not names:
        return ShownTools()
    may = allowed(names, specs, find_skills(home) if home else ())
    packed = {spec.name for pack in may.packs().values() for spec in pack}
    may = steered(may, laid_down)
    seen = shown(may, (*skills_to_use(may, laid_down), *enabled))
    items, notes = _skills(seen)
    if seen.packs:
        items.insert(0, _packs(seen))
    missing = [f"no component or server offers the tool or pack {name}" for name in may.unknown]
    notes = [*missing, *notes, *steering_notes(may, laid_down)]
    return ShownTools(_tools(packed, seen), tuple(items), tuple(notes))


def _tools(packed: Collection[str], seen: Shown) -> tuple[Tool, ...]:
    return tuple(
        # A pack that a model enabled, or that is to be used, must not stop it by its size.
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
