"""Executions: the fold of their events, and the decisions about what comes next; all pure."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .answering import do_again, it_happened, open_effects
    from .asked import ANSWERS, STEP_ANSWERS, AskedSoFar, Serving, counted, speaks_for, takers_of
    from .children import CHILD_FACTS, left_behind
    from .choices import choices
    from .control import VERDICTS
    from .decide import NO_PROCESS, advance, decide, give_up, ignore, leave, take_back
    from .dialogue import Offers
    from .evolve import INPUTS, OUTPUTS, evolve, stood_at
    from .goals import GOAL
    from .growing import checked_as_declared, goal_at_hand
    from .history import asked_in_adhoc, fold, in_order, is_own, may_answer, observed
    from .items import Live
    from .records import ExecutionRecords, ExecutionRow, list_executions
    from .requesting import edit_prompt, give_result, skip
    from .requests import context_compile, gate_evaluate, knowledge_request
    from .retrying import wait_before_call, wait_before_retry
    from .room import too_large
    from .running import execution_of, run, run_goal
    from .settlement import question_of
    from .speakers import ENGINE, PEOPLE, asker, is_wanted
    from .spending import tokens_of
    from .state import EFFECT, ITEMS, PARENT_PAUSES, Execution, Stage, Status
    from .step_sequencer import reached
    from .values import checked_inputs
else:
    lazily(__name__)

__all__ = [
    "ANSWERS",
    "CHILD_FACTS",
    "EFFECT",
    "ENGINE",
    "GOAL",
    "INPUTS",
    "ITEMS",
    "NO_PROCESS",
    "OUTPUTS",
    "PARENT_PAUSES",
    "PEOPLE",
    "STEP_ANSWERS",
    "VERDICTS",
    "AskedSoFar",
    "Execution",
    "ExecutionRecords",
    "ExecutionRow",
    "Live",
    "Offers",
    "Serving",
    "Stage",
    "Status",
    "advance",
    "asked_in_adhoc",
    "asker",
    "checked_as_declared",
    "checked_inputs",
    "choices",
    "context_compile",
    "counted",
    "decide",
    "do_again",
    "edit_prompt",
    "evolve",
    "execution_of",
    "fold",
    "gate_evaluate",
    "give_result",
    "give_up",
    "goal_at_hand",
    "ignore",
    "in_order",
    "is_own",
    "is_wanted",
    "it_happened",
    "knowledge_request",
    "leave",
    "left_behind",
    "list_executions",
    "may_answer",
    "observed",
    "open_effects",
    "question_of",
    "reached",
    "run",
    "run_goal",
    "skip",
    "speaks_for",
    "stood_at",
    "take_back",
    "takers_of",
    "tokens_of",
    "too_large",
    "wait_before_call",
    "wait_before_retry",
]
