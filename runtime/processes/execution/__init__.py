"""Executions: what events make of them, and what they do next; pure from end to end."""

from .decide import NO_PROCESS, advance, decide
from .evolve import INPUTS, OUTPUTS, evolve
from .history import ENGINE, fold, in_order, is_own, observed
from .retrying import wait_before_retry
from .state import Execution, Stage, Status
from .values import checked_inputs

__all__ = [
    "ENGINE",
    "INPUTS",
    "NO_PROCESS",
    "OUTPUTS",
    "Execution",
    "Stage",
    "Status",
    "advance",
    "checked_inputs",
    "decide",
    "evolve",
    "fold",
    "in_order",
    "is_own",
    "observed",
    "wait_before_retry",
]
