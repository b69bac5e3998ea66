"""A home as a program works with it: its hub or a runtime, its sources, and rehearsals."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from . import steering
    from .ailments import Ailments, listen
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
    from .goals import (
        NO_CHECKOUT,
        NO_MODEL,
        GoalOptions,
        goal_at_hand_of,
        goal_step,
        is_in_checkout,
        most_of,
        proposal,
    )
    from .home_registry import (
        announced_elsewhere,
        knowledge_roots,
        knowledge_topics,
        listed_tools,
        moved,
        preferred_for,
        symbols_of,
        topics_of,
    )
    from .inputs import (
        edited_inputs,
        inputs_of,
        mask_of,
        pairs_of,
        refuse_breaks,
        refuse_secrets,
        refuse_wrong,
        scalar,
        typed,
    )
    from .listing import FoundExecution, matching_executions, newest_executions, standing_document
    from .open_home import OpenHome, opened_home
    from .progress import Progress, Stopped, in_order
    from .prompt_edits import prompt_edit, replaced
    from .rehearsal import DryRunDocument, GateReport, StepReport, stage_of
    from .rejections import by_file, in_passing, refuse_older, standing, stands_in_the_way
    from .session import Ending, Session
    from .settlements import (
        refuse_step,
        refuse_unanswered,
        refuse_unsettled,
        settlement_of,
        step_settlement,
    )
    from .source_gates import gates_of_sources
    from .sources import changed, gone, is_path, source_at, sources_of
    from .starting import RunOptions, start
    from .submitter import compiled_history
    from .untaken import untaken_action, waiting_for
else:
    lazily(__name__)

__all__ = [
    "NO_CHECKOUT",
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
    "OpenHome",
    "Progress",
    "ProgressView",
    "RejectedError",
    "RunOptions",
    "Session",
    "StepReport",
    "Stopped",
    "Terminated",
    "UnmatchedError",
    "UnwritableError",
    "WaitingError",
    "actions_of",
    "announced_elsewhere",
    "answer_gate",
    "asked_by_gate",
    "by_file",
    "changed",
    "compiled_history",
    "dry_run",
    "edited_inputs",
    "gates_of_sources",
    "goal_at_hand_of",
    "goal_step",
    "gone",
    "in_order",
    "in_passing",
    "inputs_of",
    "is_in_checkout",
    "is_path",
    "knowledge_roots",
    "knowledge_topics",
    "listed_tools",
    "listen",
    "mask_of",
    "matching_executions",
    "most_of",
    "moved",
    "newest_executions",
    "opened_home",
    "pairs_of",
    "preferred_for",
    "prompt_edit",
    "proposal",
    "refuse_breaks",
    "refuse_older",
    "refuse_secrets",
    "refuse_step",
    "refuse_unanswered",
    "refuse_unsettled",
    "refuse_wrong",
    "replaced",
    "scalar",
    "settlement_of",
    "source_at",
    "sources_of",
    "stage_of",
    "standing",
    "standing_document",
    "stands_in_the_way",
    "start",
    "steering",
    "step_settlement",
    "symbols_of",
    "topics_of",
    "typed",
    "untaken_action",
    "waiting_for",
]
