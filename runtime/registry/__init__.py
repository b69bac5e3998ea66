"""Who serves which action, gate, model and tool: the one fold of announcements."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .registry import (
        LISTER,
        NO_SDK,
        NOT_YET,
        STREAM,
        Listing,
        Registration,
        Registry,
        evolve,
        registry_of,
        tools_before,
    )
    from .specs import (
        ACTION,
        GATE,
        LEVELLED,
        MODEL,
        TOOL,
        ActionSpec,
        GateSpec,
        ToolSpec,
        stated,
        wire_name,
    )
    from .symbols import ALL, ENABLE, TOOLS, KnownTools, Symbols, digest_of
else:
    lazily(__name__)

__all__ = [
    "ACTION",
    "ALL",
    "ENABLE",
    "GATE",
    "LEVELLED",
    "LISTER",
    "MODEL",
    "NOT_YET",
    "NO_SDK",
    "STREAM",
    "TOOL",
    "TOOLS",
    "ActionSpec",
    "GateSpec",
    "KnownTools",
    "Listing",
    "Registration",
    "Registry",
    "Symbols",
    "ToolSpec",
    "digest_of",
    "evolve",
    "registry_of",
    "stated",
    "tools_before",
    "wire_name",
]
