"""Engines: one drives executions, one compiles the contexts of their steps."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .choosing import NOBODY_CHOOSES, choose
    from .compilation import CompilationEngine
    from .contexts import request_of
    from .passages import found_items
    from .process_execution import ProcessExecutionEngine

__all__ = [
    "NOBODY_CHOOSES",
    "CompilationEngine",
    "ProcessExecutionEngine",
    "choose",
    "found_items",
    "request_of",
]

lazily(__name__)
