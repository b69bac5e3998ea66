"""Whether a model may make the call that it asks for; pure."""

import difflib
from collections.abc import Collection
from typing import Any

from cortex.runtime.registry import ToolSpec

from .packs import ENABLE_PACK, Allowed, shown

NAMED = 20  # tools in a reason


def check_call(
    name: str, arguments: Any, allowed: Allowed, enabled: Collection[str] = ()
) -> ToolSpec | str:
    """The tool that is called, or in one line why it is not.

    Args:
        name: As the model wrote it: the tool's own name, or the one it goes by on the wire.
        arguments: As the model wrote them.
        allowed: What its step may use.
        enabled: The packs that were enabled before.
    """
    there = {tool.name: tool for tool in shown(allowed, enabled).tools}
    found = there.get(name) or next((t for t in there.values() if t.wire == name), None)
    if found is None:
        return _absent(name, allowed, list(there))
    if not isinstance(arguments, dict):
        return f"{found.name} takes an object with its arguments, got {type(arguments).__name__}"
    if found is ENABLE_PACK:
        return _enabling(arguments.get("pack"), allowed, enabled) or found
    return found


def _absent(name: str, allowed: Allowed, there: list[str]) -> str:
    hidden = next((tool for tool in allowed.tools if name in (tool.name, tool.wire)), None)
    if hidden is not None:
        return (
            f"{hidden.name} is in the pack {hidden.pack}, which is not enabled: call "
            f'{ENABLE_PACK.name} with {{"pack": "{hidden.pack}"}} first'
        )
    shown_name = _shown(name)
    near = difflib.get_close_matches(name[:100], there, n=1)
    if near:
        return f"there is no tool {shown_name} in this step: did you mean {near[0]}?"
    if not there:
        return f"there is no tool {shown_name}: this step has none"
    more = f" and {len(there) - NAMED} more" if len(there) > NAMED else ""
    return f"there is no tool {shown_name} in this step: there are {', '.join(there[:NAMED])}{more}"


def _enabling(pack: Any, allowed: Allowed, enabled: Collection[str]) -> str:
    names = allowed.names_to_enable()
    if pack in enabled and pack in names:
        return f"{pack} is enabled already: its tools are listed above"
    if pack in names:
        return ""
    left = [name for name in names if name not in enabled]
    there = f"there are {', '.join(left[:NAMED])}" if left else "all there are were enabled"
    return f"there is no pack {_shown(pack)} in this step: {there}"


def _shown(value: Any) -> str:
    return repr(value if isinstance(value, str) else str(value))[:102]
