"""What a home's log says, read without a runtime: executions, processes, events, traces."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .acting import ActingDocument, ActingEndpoint, LogInside, acting_document
    from .acting import lines_of as acting_lines
    from .acting import path_of as home_in
    from .amounts import counted, dollars, plus
    from .asked import OpenQuestions, asked_of_person, open_gate, shape_of, task_first
    from .catalog import Catalog, Compiled
    from .choices import ModelCall, ModelChoice, WhyDocument, why_of
    from .chosen import Chosen, worktree_of
    from .columns import GAP, narrowed
    from .contract import asyncapi_document, schema_document
    from .demands import demands_of, fields_of, needs_line
    from .edits import edit_line, edit_of, unedited_line
    from .failing import Failing, failing_lines, failing_of, times
    from .fortune import Fared, fared
    from .gates import Gates, gates_of, gates_within, wrong_gate
    from .history import REQUESTS, STREAM, History
    from .items import (
        ItemRow,
        ItemsDocument,
        asking_items,
        items_document,
        items_line,
        only_child,
        outermost,
        waiting_child,
    )
    from .meaning import Hit, Hits, find_executions, find_processes
    from .models import ModelRow, models_of, one_chooses
    from .next_step import BREAKPOINT, NextStep, next_step_of
    from .not_ready import NotReady, not_ready_lines, not_ready_of
    from .parked import ParkedEvent, parked_of
    from .plugins import plugin_line, plugins_of, with_failures
    from .results import (
        TEXT_LINES,
        bounded,
        brief_value,
        cut_line,
        named_values,
        readable,
        scalars,
    )
    from .review import REVIEW_LINES, log_lines, review_of
    from .rows import rows_of
    from .selection import Selection
    from .served import ways_back
    from .spans import PRIMITIVES, Primitive, Span, spans_of
    from .states import MendedDocument, StateDocument, StateRow, mended_document, state_document
    from .summary import (
        UNHELD,
        CompiledContext,
        Dialogue,
        ExecutionDocument,
        ExecutionSummary,
        GivenAnswer,
        Row,
        cells_of,
        document_of,
        exit_code,
        row_of,
        took_s,
    )
    from .templates import as_written, condition_as_written, diff_as_written
    from .times import duration, iso, local, parse_end, parse_time, recent
    from .tool_servers import SilentServer, silent_server_lines, silent_servers_of
else:
    lazily(__name__)

__all__ = [
    "BREAKPOINT",
    "GAP",
    "PRIMITIVES",
    "REQUESTS",
    "REVIEW_LINES",
    "STREAM",
    "TEXT_LINES",
    "UNHELD",
    "ActingDocument",
    "ActingEndpoint",
    "Catalog",
    "Chosen",
    "Compiled",
    "CompiledContext",
    "Dialogue",
    "ExecutionDocument",
    "ExecutionSummary",
    "Failing",
    "Fared",
    "Gates",
    "GivenAnswer",
    "History",
    "Hit",
    "Hits",
    "ItemRow",
    "ItemsDocument",
    "LogInside",
    "MendedDocument",
    "ModelCall",
    "ModelChoice",
    "ModelRow",
    "NextStep",
    "NotReady",
    "OpenQuestions",
    "ParkedEvent",
    "Primitive",
    "Row",
    "Selection",
    "SilentServer",
    "Span",
    "StateDocument",
    "StateRow",
    "WhyDocument",
    "acting_document",
    "acting_lines",
    "as_written",
    "asked_of_person",
    "asking_items",
    "asyncapi_document",
    "bounded",
    "brief_value",
    "cells_of",
    "condition_as_written",
    "counted",
    "cut_line",
    "demands_of",
    "diff_as_written",
    "document_of",
    "dollars",
    "duration",
    "edit_line",
    "edit_of",
    "exit_code",
    "failing_lines",
    "failing_of",
    "fared",
    "fields_of",
    "find_executions",
    "find_processes",
    "gates_of",
    "gates_within",
    "home_in",
    "iso",
    "items_document",
    "items_line",
    "local",
    "log_lines",
    "mended_document",
    "models_of",
    "named_values",
    "narrowed",
    "needs_line",
    "next_step_of",
    "not_ready_lines",
    "not_ready_of",
    "one_chooses",
    "only_child",
    "open_gate",
    "outermost",
    "parked_of",
    "parse_end",
    "parse_time",
    "plugin_line",
    "plugins_of",
    "plus",
    "readable",
    "recent",
    "review_of",
    "row_of",
    "rows_of",
    "scalars",
    "schema_document",
    "shape_of",
    "silent_server_lines",
    "silent_servers_of",
    "spans_of",
    "state_document",
    "task_first",
    "times",
    "took_s",
    "unedited_line",
    "waiting_child",
    "ways_back",
    "why_of",
    "with_failures",
    "worktree_of",
    "wrong_gate",
]
