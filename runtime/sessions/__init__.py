"""A home as a program works with it: its hub or a runtime, its sources, and rehearsals."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from . import steering
    from .ailments import Ailments
    from .dry_run import dry_run
    from .errors import (
        ArgumentError,
        HubGoneError,
        LeftOpenError,
        RejectedError,
        Terminated,
        UnmatchedError,
        UnwritableError,
        WaitingError,
    )
    from .front import Front, ProgressView
    from .gate_answers import AnsweredDocument, answer_gate, asked_by_gate
    from .goal_actions import ActionItem, actions_of
    from .goals import NO_MODEL, GoalOptions, goal_step, proposal
    from .home_registry import knowledge_roots, knowledge_topics, symbols_of, topics_of
    from .inputs import edited_inputs, inputs_of, mask_of, pairs_of, refuse_secrets, scalar, typed
    from .listing import FoundExecution, matching_executions, newest_executions, standing_document
    from .progress import Progress, in_order
    from .prompt_edits import prompt_edit, replaced
    from .rehearsal import DryRunDocument, GateReport, StepReport
    from .session import Ending, Session
    from .settlements import settlement_of, step_settlement
    from .source_gates import gates_of_sources
    from .sources import is_path, source_at, sources_of
    from .starting import RunOptions, start
    from .submitter import compiled_history
    from .untaken import untaken_action, waiting_for
else:
    lazily(__name__)

__all__ = [
    "NO_MODEL",
    "ActionItem",
    "Ailments",
    "AnsweredDocument",
    "ArgumentError",
    "DryRunDocument",
    "Ending",
    "FoundExecution",
    "Front",
    "GateReport",
    "GoalOptions",
    "HubGoneError",
    "LeftOpenError",
    "Progress",
    "ProgressView",
    "RejectedError",
    "RunOptions",
    "Session",
    "StepReport",
    "Terminated",
    "UnmatchedError",
    "UnwritableError",
    "WaitingError",
    "actions_of",
    "answer_gate",
    "asked_by_gate",
    "compiled_history",
    "dry_run",
    "edited_inputs",
    "gates_of_sources",
    "goal_step",
    "in_order",
    "inputs_of",
    "is_path",
    "knowledge_roots",
    "knowledge_topics",
    "mask_of",
    "matching_executions",
    "newest_executions",
    "pairs_of",
    "prompt_edit",
    "proposal",
    "refuse_secrets",
    "replaced",
    "scalar",
    "settlement_of",
    "source_at",
    "sources_of",
    "standing_document",
    "start",
    "steering",
    "step_settlement",
    "symbols_of",
    "topics_of",
    "typed",
    "untaken_action",
    "waiting_for",
]
