"""Executions: what events make of them, and what they do next; pure from end to end."""

from .answering import do_again, it_happened, open_effects
from .children import CHILD_FACTS
from .course import reached
from .decide import NO_PROCESS, advance, decide, give_up, take_back
from .dialogue import Offers
from .evolve import INPUTS, OUTPUTS, evolve, stood_at
from .history import fold, in_order, is_own, observed
from .records import ExecutionRecords, ExecutionRow, list_executions
from .retrying import wait_before_call, wait_before_retry
from .room import too_large
from .running import execution_of, run
from .settlement import question_of
from .speakers import ENGINE, PEOPLE, asker
from .spending import tokens_of
from .state import EFFECT, Execution, Stage, Status
from .values import checked_inputs
from .wanted import is_wanted

__all__ = [
    "CHILD_FACTS",
    "EFFECT",
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
    "do_again",
    "evolve",
    "execution_of",
    "fold",
    "give_up",
    "in_order",
    "is_own",
    "is_wanted",
    "it_happened",
    "list_executions",
    "observed",
    "open_effects",
    "question_of",
    "reached",
    "run",
    "stood_at",
    "take_back",
    "tokens_of",
    "too_large",
    "wait_before_call",
    "wait_before_retry",
]
