"""What a home's log says, read without a runtime: executions, processes, events, traces."""

from .catalog import Catalog, Compiled
from .columns import GAP, narrowed
from .fortune import Fared, fared
from .history import REQUESTS, STREAM, History
from .results import readable, scalars
from .review import REVIEW_LINES, log_lines, review_of
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
from .templates import as_written, diff_as_written
from .times import duration, iso, local, parse_time
from .words import has_words

__all__ = [
    "GAP",
    "PRIMITIVES",
    "REQUESTS",
    "REVIEW_LINES",
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
    "as_written",
    "cells_of",
    "diff_as_written",
    "document_of",
    "duration",
    "exit_code",
    "fared",
    "has_words",
    "iso",
    "local",
    "log_lines",
    "narrowed",
    "parse_time",
    "readable",
    "review_of",
    "row_of",
    "rows_of",
    "scalars",
    "spans_of",
    "took_s",
]
