"""Executions: what events make of them, and what they do next; pure from end to end."""

from .children import CHILD_FACTS
from .course import reached
from .decide import NO_PROCESS, advance, decide, give_up, take_back
from .dialogue import Offers
from .evolve import INPUTS, OUTPUTS, evolve
from .history import fold, in_order, is_own, observed
from .records import ExecutionRecords, ExecutionRow, list_executions
from .retrying import wait_before_call, wait_before_retry
from .room import too_large
from .running import execution_of, run
from .speakers import ENGINE, PEOPLE, asker
from .spending import tokens_of
from .state import Execution, Stage, Status
from .values import checked_inputs
from .wanted import is_wanted

__all__ = [
    "CHILD_FACTS",
    "ENGINE",
    "INPUTS",
    "NO_PROCESS",
    "OUTPUTS",
    "PEOPLE",
    "Execution",
    "ExecutionRecords",
    "ExecutionRow",
    "Offers",
    "Stage",
    "Status",
    "advance",
    "asker",
    "checked_inputs",
    "decide",
    "evolve",
    "execution_of",
    "fold",
    "give_up",
    "in_order",
    "is_own",
    "is_wanted",
    "list_executions",
    "observed",
    "reached",
    "run",
    "take_back",
    "tokens_of",
    "too_large",
    "wait_before_call",
    "wait_before_retry",
]
