"""The order and the exact bytes of a prompt: fences, sections, stretches that a cache may hold."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .fence import body, cut_middle, excerpt, fence
    from .keep import declare
    from .render import Placed, Written, place, render
    from .tools import ToolItem, rank_tool
else:
    lazily(__name__)

__all__ = [
    "Placed",
    "ToolItem",
    "Written",
    "body",
    "cut_middle",
    "declare",
    "excerpt",
    "fence",
    "place",
    "rank_tool",
    "render",
]
