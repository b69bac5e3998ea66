"""What people laid down to use, where it names a tool or a package. Pure.

`use X` makes a choice among what a step may have anyway; it grants nothing.
"""

import re
from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from cortex.bus.events import MemoryRequest
from cortex.runtime.directives import InForce, LaidDown, directive_about, same_thing
from cortex.runtime.registry import ToolSpec
from cortex.runtime.tools import Allowed

# The id of a package of memory, or "package" and how it begins.
_PACKAGE: Final = re.compile(r"package ([a-z2-7]{6,16})|([a-z2-7]{16})")
_MOST_PACKAGES: Final = 64  # that a request names


def without_prohibited(may: Allowed, found: InForce) -> Allowed:
    """*may*, without what must not be used: no reason of a refusal names it to a model."""
    prohibited = found.prohibited
    if not prohibited:
        return may
    tools = (t for t in may.tools if directive_about(t.name, prohibited, t.pack) is None)
    skills = (each for each in may.skills if directive_about(each.name, prohibited) is None)
    return replace(may, tools=tuple(tools), skills=tuple(skills))


def steered(may: Allowed, found: InForce) -> Allowed:
    """*may*, with the tools that are to be used first, and shown without enabling their pack."""
    wanted = found.wanted
    first = {tool.name: each for tool in may.tools if (each := _wanting(tool, wanted)) is not None}
    if not first:
        return may
    tools = sorted(may.tools, key=lambda tool: tool.name not in first)  # else as they were
    return replace(may, tools=tuple(tools), named=may.named | frozenset(first))


def skills_to_use(may: Allowed, found: InForce) -> tuple[str, ...]:
    """The skills that are to be used: they are in the prompt from the first turn on."""
    return tuple(
        skill.name
        for skill in may.skills
        if any(same_thing(each.name, skill.name) for each in found.wanted)
    )


def steering_notes(may: Allowed, found: InForce) -> tuple[str, ...]:
    """Why tools of *may* come first."""
    names: dict[str, list[str]] = {}
    for tool in may.tools:
        each = _wanting(tool, found.wanted)
        if each is not None:
            names.setdefault(each.quoted, []).append(tool.name)
    return tuple(f"first among the tools: {', '.join(of)}: {by}" for by, of in names.items())


def with_packages_laid_down(request: MemoryRequest, found: InForce) -> MemoryRequest:
    """*request*, with the packages of memory that people laid down to use, and prohibited."""
    preferred, avoided = _packages(found.wanted), _packages(found.prohibited)
    if not (preferred or avoided):
        return request
    return replace(request, preferred_packages=preferred, avoided_packages=avoided)


def _wanting(tool: ToolSpec, wanted: tuple[LaidDown, ...]) -> LaidDown | None:
    return directive_about(tool.name, wanted) or directive_about(tool.name, wanted, tool.pack)


def _packages(directives: Iterable[LaidDown]) -> tuple[str, ...]:
    found = (_PACKAGE.fullmatch(each.name) for each in directives)
    return tuple(each[1] or each[2] for each in found if each is not None)[:_MOST_PACKAGES]
