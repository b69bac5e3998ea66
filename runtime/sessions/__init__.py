"""Sessions: how a program works with a home, through its hub or a runtime of its own."""

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
    from .front import CONTINUE, EDIT, STEP, Front, ProgressView
    from .gate_answers import AnsweredDocument, answer_gate, asked_by_gate
    from .goals.goal_actions import ActionItem, actions_of
    from .goals.goals import NO_MODEL, GoalOptions, goal_step, proposal
    from .inputs import edited_inputs, inputs_of, mask_of, pairs_of, refuse_secrets, scalar, typed
    from .listing import FoundExecution, matching_executions, newest_executions, standing_document
    from .progress import Progress, in_order
    from .prompt_edits import prompt_edit, replaced
    from .rehearsal import DryRunDocument, GateReport, StepReport
    from .session import BRIEF_S, Ending, Session
    from .settlements import settlement_of, step_settlement
    from .sources.home_registry import knowledge_roots, knowledge_topics, symbols_of, topics_of
    from .sources.sources import gates_of_sources, is_path, source_at, sources_of
    from .sources.submitter import compiled_history
    from .starting import RunOptions, fork, matched, start
    from .untaken import untaken_action, waiting_for
else:
    lazily(__name__)

__all__ = [
    "BRIEF_S",
    "CONTINUE",
    "EDIT",
    "NO_MODEL",
    "STEP",
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
    "fork",
    "gates_of_sources",
    "goal_step",
    "in_order",
    "inputs_of",
    "is_path",
    "knowledge_roots",
    "knowledge_topics",
    "mask_of",
    "matched",
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
