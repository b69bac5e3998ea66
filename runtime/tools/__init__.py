"""Tools of a step: what there is, what it may use, what its model is shown, what it may call."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .calls import check_call
    from .names import wire_name
    from .packs import ENABLE_PACK, Allowed, Shown, allowed, shown
    from .servers import WAIT_S, McpServer, ToolsConfig
    from .skills import Skill, find_skills, read_skill, skill_of
    from .specs import NO_SDK, NOT_YET, Tools, ToolSpec, specs_of
else:
    lazily(__name__)

__all__ = [
    "ENABLE_PACK",
    "NOT_YET",
    "NO_SDK",
    "WAIT_S",
    "Allowed",
    "McpServer",
    "Shown",
    "Skill",
    "ToolSpec",
    "Tools",
    "ToolsConfig",
    "allowed",
    "check_call",
    "find_skills",
    "read_skill",
    "shown",
    "skill_of",
    "specs_of",
    "wire_name",
]
