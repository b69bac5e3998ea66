"""Runs plugins: their processes, their sandboxes, their gateway to the hub."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .manager import PluginManager
    from .plugin_host import describe
    from .process import lines_of, path_of
    from .sandbox import Walls, confined, unavailable

__all__ = [
    "PluginManager",
    "Walls",
    "confined",
    "describe",
    "lines_of",
    "path_of",
    "unavailable",
]

lazily(__name__)
