"""Tools: what models may call in agent steps, and how calls become results."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .answers import failed, late, lines_of, returned, unknown, window
    from .carrying import ToolReply, carry_out
    from .command_tools import CommandTools
    from .declaring import tool
    from .errors import ToolError, ToolRefusedError
    from .file_tools import FileTools
    from .knowledge_tools import KnowledgeTools
    from .search import glob_of

__all__ = [
    "CommandTools",
    "FileTools",
    "KnowledgeTools",
    "ToolError",
    "ToolRefusedError",
    "ToolReply",
    "carry_out",
    "failed",
    "glob_of",
    "late",
    "lines_of",
    "returned",
    "tool",
    "unknown",
    "window",
]

lazily(__name__)
