"""Engines: what leads executions, and what compiles the contexts of their steps."""

from .compilation import CompilationEngine
from .contexts import request_of
from .process_execution import ProcessExecutionEngine

__all__ = ["CompilationEngine", "ProcessExecutionEngine", "request_of"]
