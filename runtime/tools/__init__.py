"""Tools of a step: what there is, what it may use, what its model is shown, what it may call."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .calls import check_call
    from .packs import ENABLE_PACK, Allowed, Shown, allowed, shown
    from .servers import WAIT_S, McpServer, ToolsConfig
    from .skills import Skill, find_skills, read_skill, skill_of
else:
    lazily(__name__)

__all__ = [
    "ENABLE_PACK",
    "WAIT_S",
    "Allowed",
    "McpServer",
    "Shown",
    "Skill",
    "ToolsConfig",
    "allowed",
    "check_call",
    "find_skills",
    "read_skill",
    "shown",
    "skill_of",
]
