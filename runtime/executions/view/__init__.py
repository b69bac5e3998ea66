"""An execution as people and programs look at it: show, list, trace, why and what was edited."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .asked import OpenQuestions, asked_of_person, open_gate, shape_of, task_first
    from .choices import ModelCall, ModelChoice, WhyDocument, why_of
    from .chosen import BREAKPOINT, Chosen, worktree_of
    from .edits import edit_line, edit_of, unedited_line
    from .fortune import Fared, fared
    from .hints import hints_of, is_at_goal
    from .history import History
    from .items import (
        ItemRow,
        ItemsDocument,
        asking_items,
        failed_items,
        items_document,
        items_line,
        only_child,
        outermost,
        waiting_child,
    )
    from .lines import chosen_line, context_line, dialogue_line
    from .live_state import Activity, LiveState
    from .meaning import Hit, Hits, find_executions, find_processes
    from .results import TEXT_LINES, bounded, brief_value, cut_line, named_values, readable, scalars
    from .review import REVIEW_LINES, log_lines, review_of
    from .rows import rows_of
    from .spans import Span, spans_of
    from .summary import (
        UNHELD,
        CompiledContext,
        Dialogue,
        ExecutionDocument,
        ExecutionSummary,
        GivenAnswer,
        cells_of,
        document_of,
        row_of,
        took_s,
    )
    from .telling import (
        HOW_LONG,
        LEAVING,
        LEFT_TO_HUB,
        LEFT_TO_PAUSE,
        LEFT_WAITING,
        UNTAKEN,
        FinishedLine,
        Teller,
        nobody,
        what_is_missing,
        what_pausing_does,
    )
    from .trace import PRIMITIVES, TraceDocument, many_done, part_line, time_by_primitive, trace_of
else:
    lazily(__name__)

__all__ = [
    "BREAKPOINT",
    "HOW_LONG",
    "LEAVING",
    "LEFT_TO_HUB",
    "LEFT_TO_PAUSE",
    "LEFT_WAITING",
    "PRIMITIVES",
    "REVIEW_LINES",
    "TEXT_LINES",
    "UNHELD",
    "UNTAKEN",
    "Activity",
    "Chosen",
    "CompiledContext",
    "Dialogue",
    "ExecutionDocument",
    "ExecutionSummary",
    "Fared",
    "FinishedLine",
    "GivenAnswer",
    "History",
    "Hit",
    "Hits",
    "ItemRow",
    "ItemsDocument",
    "LiveState",
    "ModelCall",
    "ModelChoice",
    "OpenQuestions",
    "Span",
    "Teller",
    "TraceDocument",
    "WhyDocument",
    "asked_of_person",
    "asking_items",
    "bounded",
    "brief_value",
    "cells_of",
    "chosen_line",
    "context_line",
    "cut_line",
    "dialogue_line",
    "document_of",
    "edit_line",
    "edit_of",
    "failed_items",
    "fared",
    "find_executions",
    "find_processes",
    "hints_of",
    "is_at_goal",
    "items_document",
    "items_line",
    "log_lines",
    "many_done",
    "named_values",
    "nobody",
    "only_child",
    "open_gate",
    "outermost",
    "part_line",
    "readable",
    "review_of",
    "row_of",
    "rows_of",
    "scalars",
    "shape_of",
    "spans_of",
    "task_first",
    "time_by_primitive",
    "took_s",
    "trace_of",
    "unedited_line",
    "waiting_child",
    "what_is_missing",
    "what_pausing_does",
    "why_of",
    "worktree_of",
]
