"""Executions: what events make of them, and what they do next; pure from end to end."""

from .decide import NO_PROCESS, advance, decide, give_up, take_back
from .evolve import INPUTS, OUTPUTS, evolve
from .history import ENGINE, fold, in_order, is_own, observed
from .records import ExecutionRecords, ExecutionRow, list_executions
from .retrying import wait_before_retry
from .room import too_large
from .running import execution_of, run
from .state import Execution, Stage, Status
from .values import checked_inputs

__all__ = [
    "ENGINE",
    "INPUTS",
    "NO_PROCESS",
    "OUTPUTS",
    "Execution",
    "ExecutionRecords",
    "ExecutionRow",
    "Stage",
    "Status",
    "advance",
    "checked_inputs",
    "decide",
    "evolve",
    "execution_of",
    "fold",
    "give_up",
    "in_order",
    "is_own",
    "list_executions",
    "observed",
    "run",
    "take_back",
    "too_large",
    "wait_before_retry",
]
