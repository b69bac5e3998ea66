"""The tool list of a server, cut to the size of an event; untrusted."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from cortex.bus import UNDECLARED, Effect
from cortex.runtime.tools import McpServer

from .environments import masked

if TYPE_CHECKING:
    from mcp.types import Tool

MOST_PAGES = 50
MOST_TOOLS = 200
MOST_LISTED = 2_000  # in one answer; the rest is ignored
DESCRIPTION_CHARS = 1_000
SCHEMA_BYTES = 16 * 1024  # of one tool's parameters
ALL_BYTES = 160 * 1024  # of all tools: the limit of an event
_NAME = re.compile(r"[\w./-]{1,128}", re.ASCII)


def listed(
    server: McpServer, tools: Sequence["Tool"], unread: Sequence[str] = ()
) -> tuple[tuple[dict[str, Any], ...], str]:
    """The usable tools, by name, and one line about the omitted ones.

    Args:
        server: The server.
        tools: Its list.
        unread: Names of unreadable tools.
    """
    found: dict[str, dict[str, Any]] = {}
    left_out = [name for name in unread if server.offers(name)]
    room = ALL_BYTES
    for tool in sorted(tools, key=lambda tool: tool.name):
        if not server.offers(tool.name):
            continue
        said = _said(server, tool) if _NAME.fullmatch(tool.name) else None
        room -= len(msgspec.json.encode(said)) if said else 0
        if said is None or room < 0 or len(found) >= MOST_TOOLS:
            left_out.append(tool.name)
        else:
            found[tool.name] = said
    return tuple(found.values()), _reason(left_out) or ("" if found else _none(server))


def _said(server: McpServer, tool: "Tool") -> dict[str, Any] | None:
    """The stored form of one tool; None if its schema is too large."""
    try:
        # Through JSON, so that it equals the form in the log.
        encoded = msgspec.json.encode(tool.input_schema)
        schema = msgspec.json.decode(masked(server, encoded.decode()))
        msgspec.msgpack.encode(schema)  # raises for integers of more than 64 bits
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError):
        return None
    if len(encoded) > SCHEMA_BYTES or not isinstance(schema, dict):
        return None
    description = masked(server, (tool.description or "").strip())
    return {
        "name": tool.name,
        "description": description[:DESCRIPTION_CHARS].encode(errors="replace").decode(),
        "parameters": schema,
        "effect": _effect(server, tool),
        "annotations": server.trust_annotations,  # whether the server's annotations were trusted
    }


def _effect(server: McpServer, tool: "Tool") -> Effect:
    """The effect of the tool: from the user, or from the server if the user trusts it."""
    hints = tool.annotations if server.trust_annotations else None
    declared = server.effects.get(tool.name)
    if declared is not None:
        return declared
    if hints is not None and hints.read_only_hint:
        return "read"
    return "idempotent" if hints is not None and hints.idempotent_hint else UNDECLARED


def _none(server: McpServer) -> str:
    return "it offers none of those in allow" if server.allow else "it offers no tools"


def _reason(left_out: list[str]) -> str:
    if not left_out:
        return ""
    names = ", ".join(ascii(name[:60]) for name in left_out[:5])
    more = " and others" if len(left_out) > 5 else ""
    return f"left out {names}{more}: a name or parameters that are not taken, or too many tools"
