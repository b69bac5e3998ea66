"""Engines: each turns events into the events that follow from them."""

from .compilation import CompilationEngine
from .process_execution import ProcessExecutionEngine

__all__ = ["CompilationEngine", "ProcessExecutionEngine"]
