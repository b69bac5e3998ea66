"""Executions for people and programs: rows, documents, traces, model choices and edits."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .asked import OpenQuestions, asked_of_person, open_gate, shape_of, task_first
    from .choices import ModelCall, ModelChoice, WhyDocument, why_of
    from .chosen import BREAKPOINT, Chosen, worktree_of
    from .debugging import (
        DebugDocument,
        GateResult,
        LeftOut,
        PromptMessage,
        PromptPart,
        SectionTokens,
        WaitingPrompt,
        debug_of,
    )
    from .edits import edit_line, unedited_line
    from .facts import changed_line, facts_of, fork_line, taken_line
    from .hints import debug_hints, hints_of, is_at_goal
    from .history import History, Row, rows_of
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
    from .lines import REVIEW_LINES, chosen_line, context_line, dialogue_line, log_lines, review_of
    from .live_state import Activity, LiveState
    from .meaning import Hits, MeaningHit, find_executions, find_processes
    from .results import TEXT_LINES, bounded, brief_value, cut_line, named_values, readable, scalars
    from .span_lines import span_details, span_title
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
    from .telling import Teller
    from .trace import (
        ITEMS_SHOWN,
        PRIMITIVES,
        TraceDocument,
        many_done,
        part_line,
        time_by_primitive,
        trace_of,
    )
    from .trace_page import page_of
    from .waterfall import Waterfall, WaterfallRow, waterfall_of
    from .wording import (
        HOW_LONG,
        LEAVING,
        LEFT_TO_HUB,
        LEFT_TO_PAUSE,
        LEFT_WAITING,
        UNTAKEN,
        FinishedLine,
        changed_of,
        changed_words,
        nobody,
        process_words,
        what_is_missing,
        what_pausing_does,
    )
else:
    lazily(__name__)

__all__ = [
    "BREAKPOINT",
    "HOW_LONG",
    "ITEMS_SHOWN",
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
    "DebugDocument",
    "Dialogue",
    "ExecutionDocument",
    "ExecutionSummary",
    "FinishedLine",
    "GateResult",
    "GivenAnswer",
    "History",
    "Hits",
    "ItemRow",
    "ItemsDocument",
    "LeftOut",
    "LiveState",
    "MeaningHit",
    "ModelCall",
    "ModelChoice",
    "OpenQuestions",
    "PromptMessage",
    "PromptPart",
    "Row",
    "SectionTokens",
    "Span",
    "Teller",
    "TraceDocument",
    "WaitingPrompt",
    "Waterfall",
    "WaterfallRow",
    "WhyDocument",
    "asked_of_person",
    "asking_items",
    "bounded",
    "brief_value",
    "cells_of",
    "changed_line",
    "changed_of",
    "changed_words",
    "chosen_line",
    "context_line",
    "cut_line",
    "debug_hints",
    "debug_of",
    "dialogue_line",
    "document_of",
    "edit_line",
    "facts_of",
    "failed_items",
    "find_executions",
    "find_processes",
    "fork_line",
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
    "page_of",
    "part_line",
    "process_words",
    "readable",
    "review_of",
    "row_of",
    "rows_of",
    "scalars",
    "shape_of",
    "span_details",
    "span_title",
    "spans_of",
    "taken_line",
    "task_first",
    "time_by_primitive",
    "took_s",
    "trace_of",
    "unedited_line",
    "waiting_child",
    "waterfall_of",
    "what_is_missing",
    "what_pausing_does",
    "why_of",
    "worktree_of",
]
