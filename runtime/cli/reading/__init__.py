"""What a home's log says, read without a runtime: executions, processes, events, traces."""

from .catalog import Catalog, Compiled
from .fortune import Fared, fared
from .history import REQUESTS, STREAM, History
from .rows import rows_of
from .selection import Selection
from .spans import PRIMITIVES, Primitive, Span, spans_of
from .summary import (
    CompiledContext,
    ExecutionDocument,
    ExecutionRow,
    Row,
    cells_of,
    document_of,
    exit_code,
    row_of,
    took_s,
)
from .times import duration, iso, local, parse_time

__all__ = [
    "PRIMITIVES",
    "REQUESTS",
    "STREAM",
    "Catalog",
    "Compiled",
    "CompiledContext",
    "ExecutionDocument",
    "ExecutionRow",
    "Fared",
    "History",
    "Primitive",
    "Row",
    "Selection",
    "Span",
    "cells_of",
    "document_of",
    "duration",
    "exit_code",
    "fared",
    "iso",
    "local",
    "parse_time",
    "row_of",
    "rows_of",
    "spans_of",
    "took_s",
]
