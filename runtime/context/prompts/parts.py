"""Take a prompt apart as models take it: what is stable, the tools, and the rest."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec

from ..request import SECTIONS
from .passages import CLOSINGS, heading_of, opens

_STABLE: Final = SECTIONS[:3]


class Parts(NamedTuple):
    """A prompt's parts; every byte of it is in `system`, in `user` or is a tool's line."""

    system: str  # persona, instructions, and what the section of tools says beside its tools
    tools: tuple[dict[str, Any], ...]  # "name", "description" and "parameters" of each
    user: str  # all that follows


def split(text: str) -> Parts:
    """Take apart a text that `ContextCompiler` rendered; any other is all `user`.

    Sound against its content: a tool is a line of the section of tools that stands in no fence,
    and sanitising leaves no text that could end a fence or begin a section.
    """
    system: list[str] = []
    tools: list[dict[str, Any]] = []
    at, section, fenced = 0, "", False
    for line in lines_of(text):
        bare = line.rstrip("\n")
        if fenced:
            fenced = bare not in CLOSINGS
        elif found := heading_of(bare):
            section = found
        else:
            fenced = opens(bare)
        if section not in _STABLE:
            break
        tool = _tool(bare) if section == "tools" and not fenced else None
        if tool is None:
            system.append(line)
        else:
            tools.append(tool)
        at += len(line)
    return Parts("".join(system), tuple(tools), text[at:])


def lines_of(text: str) -> Iterator[str]:
    """The lines of *text* with their ends, as a prompt has them."""
    # Not `splitlines`: other characters break lines to it, and do not here.
    start = 0
    while end := text.find("\n", start) + 1:
        yield text[start:end]
        start = end
    yield text[start:]


def _tool(line: str) -> dict[str, Any] | None:
    if not line.startswith("{"):
        return None
    try:
        tool = msgspec.json.decode(line, type=dict[str, Any])
    except msgspec.DecodeError:
        return None
    return tool if set(tool) == {"name", "description", "parameters"} else None
