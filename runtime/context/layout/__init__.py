"""The order and the exact bytes of a prompt: fences, sections, cacheable stretches."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .fence import body, cut_middle, excerpt, fence
    from .render import Placed, place, render
    from .tools import ToolItem, rank_tool
else:
    lazily(__name__)

__all__ = [
    "Placed",
    "ToolItem",
    "body",
    "cut_middle",
    "excerpt",
    "fence",
    "place",
    "rank_tool",
    "render",
]
