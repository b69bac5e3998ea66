"""Engines: of executions, their contexts, chains and packages of memory, and directives."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .carried import MOST_LINKS, REPLACED, Results, carried_items, results_in
    from .choosing import NOBODY_CHOOSES, choose
    from .compilation import CompilationEngine
    from .contexts import request_of
    from .directive import DirectiveEngine
    from .memory_chain import MemoryChainEngine
    from .package import PackageEngine
    from .passages import found_items
    from .process_execution import ProcessExecutionEngine

__all__ = [
    "MOST_LINKS",
    "NOBODY_CHOOSES",
    "REPLACED",
    "CompilationEngine",
    "DirectiveEngine",
    "MemoryChainEngine",
    "PackageEngine",
    "ProcessExecutionEngine",
    "Results",
    "carried_items",
    "choose",
    "found_items",
    "request_of",
    "results_in",
]

lazily(__name__)
