"""Compares histories: two logs, two moments of one log, or two executions."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .executions import diff_executions
    from .logs import diff_logs, diff_moments, first_difference, opened_log
    from .report import report_of
    from .sides import DiffEvent, HistoryDiff, Side
    from .state import (
        Changed,
        PastState,
        StateChange,
        changed_between,
        changes_of,
        state_of,
    )
else:
    lazily(__name__)

__all__ = [
    "Changed",
    "DiffEvent",
    "HistoryDiff",
    "PastState",
    "Side",
    "StateChange",
    "changed_between",
    "changes_of",
    "diff_executions",
    "diff_logs",
    "diff_moments",
    "first_difference",
    "opened_log",
    "report_of",
    "state_of",
]
