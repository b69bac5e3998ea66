"""Replay: the real deciders run again over recorded events, and their decisions are compared."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .deciders import Decider, PastStreams, RecordedBlobs, deciders_of
    from .decisions import DecisionReplay, OtherDecision
    from .divergence import (
        Decision,
        Divergence,
        FieldChange,
        ReplayedCause,
        changes_between,
        of_record,
    )
    from .process_file import process_in_file, ran_process
    from .projections import ReplayedProjection, replay_projections
    from .prompts import Prompts
    from .questions import Unanswered
    from .replay import DeciderRow, Replayed, replay_execution, replay_home
    from .report import COLUMN, ReportLine, projection_line, report_of, shown_value, side_by_side
    from .versions import inputs_given, replay_file, replay_process, replayed
else:
    lazily(__name__)

__all__ = [
    "COLUMN",
    "Decider",
    "DeciderRow",
    "Decision",
    "DecisionReplay",
    "Divergence",
    "FieldChange",
    "OtherDecision",
    "PastStreams",
    "Prompts",
    "RecordedBlobs",
    "Replayed",
    "ReplayedCause",
    "ReplayedProjection",
    "ReportLine",
    "Unanswered",
    "changes_between",
    "deciders_of",
    "inputs_given",
    "of_record",
    "process_in_file",
    "projection_line",
    "ran_process",
    "replay_execution",
    "replay_file",
    "replay_home",
    "replay_process",
    "replay_projections",
    "replayed",
    "report_of",
    "shown_value",
    "side_by_side",
]
