"""Packs: what a step may use, and how much of it its model is shown; pure.

An entry of a step's `tools:` is

* the name of a tool, as `read_file`: it is shown in full from the first turn on;
* `PACK.*` or `SERVER.*`: so are all of its tools;
* the name of a pack, a server or a skill: one line stands for it until the model enables it.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

import msgspec

from cortex.runtime.registry import ToolSpec

from .skills import Skill

LINE_CHARS: Final = 200  # that stand for a pack
ALL: Final = ".*"

ENABLE_PACK: Final = ToolSpec(
    name="enable_pack",
    description="Show a pack of tools or a skill in full from the next turn on.",
    parameters={
        "type": "object",
        "properties": {"pack": {"type": "string", "description": "its name"}},
        "required": ["pack"],
        "additionalProperties": False,
    },
    provider="",
    pack="",
    effect="read",
)


class Allowed(msgspec.Struct, frozen=True):
    """What a step may use, of what is there now."""

    tools: tuple[ToolSpec, ...] = ()  # as the step lists them
    skills: tuple[Skill, ...] = ()
    named: frozenset[str] = frozenset()  # tools that are shown without their pack being enabled
    unknown: tuple[str, ...] = ()  # entries that nothing answers to

    def packs(self) -> dict[str, tuple[ToolSpec, ...]]:
        """The tools that stand behind the name of a pack."""
        found: dict[str, tuple[ToolSpec, ...]] = {}
        for tool in self.tools:
            if tool.name not in self.named:
                found[tool.pack] = (*found.get(tool.pack, ()), tool)
        return found

    def names_to_enable(self) -> tuple[str, ...]:
        """Packs and skills that can be enabled."""
        return tuple(dict.fromkeys([*self.packs(), *(skill.name for skill in self.skills)]))


class Shown(msgspec.Struct, frozen=True):
    """What a turn's model is shown."""

    tools: tuple[ToolSpec, ...]  # in full; a pack that is enabled later goes to the end
    packs: tuple[str, ...]  # a line for each that is not enabled
    skills: tuple[Skill, ...]  # whole


def allowed(
    step_tools: Iterable[str], specs: Sequence[ToolSpec], skills: Sequence[Skill] = ()
) -> Allowed:
    """What a step may use whose `tools:` are *step_tools*."""
    tools: dict[str, ToolSpec] = {}
    granted: dict[str, Skill] = {}
    named: set[str] = set()
    unknown: list[str] = []
    for entry in dict.fromkeys(step_tools):
        one = [spec for spec in specs if spec.name == entry]
        full = one or _behind(entry, specs)
        by_pack = [] if full else [spec for spec in specs if spec.pack == entry]
        asked = [skill for skill in skills if skill.name == entry]
        tools.update((spec.name, spec) for spec in (*full, *by_pack))
        named.update(spec.name for spec in full)
        granted.update((skill.name, skill) for skill in asked)
        if not (full or by_pack or asked or entry == ENABLE_PACK.name):
            unknown.append(entry)
    return Allowed(tuple(tools.values()), tuple(granted.values()), frozenset(named), tuple(unknown))


def shown(allowed: Allowed, enabled: Collection[str]) -> Shown:
    """What a turn shows, once *enabled* packs were enabled, in that order."""
    packs = allowed.packs()
    names = allowed.names_to_enable()
    tools = [ENABLE_PACK] if names else []
    tools += [tool for tool in allowed.tools if tool.name in allowed.named]
    for name in dict.fromkeys(enabled):
        tools += packs.get(name, ())
    return Shown(
        tools=tuple(tools),
        packs=tuple(_line(name, packs, allowed.skills) for name in names if name not in enabled),
        skills=tuple(
            s for name in dict.fromkeys(enabled) for s in allowed.skills if s.name == name
        ),
    )


def _behind(entry: str, specs: Sequence[ToolSpec]) -> list[ToolSpec]:
    pack = entry.removesuffix(ALL)
    return [spec for spec in specs if spec.pack == pack] if pack != entry else []


def _line(name: str, packs: dict[str, tuple[ToolSpec, ...]], skills: Sequence[Skill]) -> str:
    said = [skill.description for skill in skills if skill.name == name]
    tools = packs.get(name, ())
    if tools:
        many = "tool" if len(tools) == 1 else "tools"
        said.append(f"{len(tools)} {many}: {', '.join(tool.wire for tool in tools)}")
    line = f"{name}: {'; '.join(said)}"
    return line if len(line) <= LINE_CHARS else f"{line[: LINE_CHARS - 1]}…"
