"""Executions: the fold of their events, and the decisions about the next step; all pure."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .decisions.answering import do_again, it_happened, open_effects
    from .decisions.changing import unknown_step
    from .decisions.children import CHILD_FACTS, left_behind
    from .decisions.control import VERDICTS
    from .decisions.decide import NO_PROCESS, advance, decide, give_up, ignore, leave, take_back
    from .decisions.forking import fork_request, not_to_fork, process_to_fork, steps_before
    from .decisions.requesting import edit_prompt, give_result, skip
    from .decisions.settlement import question_of
    from .running import (
        execution_of,
        fork,
        resume,
        run,
        run_goal,
        run_request,
        set_breakpoints,
    )
    from .state.asked import (
        ANSWERS,
        ENGINE,
        MANAGER,
        PEOPLE,
        RECORDS,
        STEP_ANSWERS,
        AskedSoFar,
        Serving,
        asker,
        counted,
        is_wanted,
        speaks_for,
        takers_of,
    )
    from .state.evolve import INPUTS, OUTPUTS, evolve, stood_at
    from .state.goals import GOAL
    from .state.history import asked_in_adhoc, fold, in_order, is_own, may_answer, observed
    from .state.items import Live
    from .state.recorded_calls import RecordedCalls, family, joined_path, repeated
    from .state.records import (
        PROJECTIONS,
        STATUS_OF_TOPIC,
        ExecutionRecords,
        ExecutionRow,
        list_executions,
    )
    from .state.spending import tokens_of, usage_of_answer
    from .state.state import (
        AGREEMENT,
        DECIDER,
        EFFECT,
        ITEMS,
        PARENT_PAUSES,
        Execution,
        Stage,
        Status,
        other_decider,
    )
    from .state.values import checked_inputs, clipped, too_large
    from .steps.breakpoints import breakpoint_places, breakpoints_of
    from .steps.choices import choices
    from .steps.deadlines import wait_before_call, wait_before_retry
    from .steps.dialogue import Offers
    from .steps.growing import checked_as_declared, goal_at_hand
    from .steps.laid_down import scopes_of, with_directives
    from .steps.recalling import ANY
    from .steps.recovery import reached
    from .steps.requests import (
        context_compile,
        gate_evaluate,
        knowledge_request,
        memory_request,
    )
    from .steps.steered import skills_to_use, steered, steering_notes, with_packages_laid_down
else:
    lazily(__name__)

__all__ = [
    "AGREEMENT",
    "ANSWERS",
    "ANY",
    "CHILD_FACTS",
    "DECIDER",
    "EFFECT",
    "ENGINE",
    "GOAL",
    "INPUTS",
    "ITEMS",
    "MANAGER",
    "NO_PROCESS",
    "OUTPUTS",
    "PARENT_PAUSES",
    "PEOPLE",
    "PROJECTIONS",
    "RECORDS",
    "STATUS_OF_TOPIC",
    "STEP_ANSWERS",
    "VERDICTS",
    "AskedSoFar",
    "Execution",
    "ExecutionRecords",
    "ExecutionRow",
    "Live",
    "Offers",
    "RecordedCalls",
    "Serving",
    "Stage",
    "Status",
    "advance",
    "asked_in_adhoc",
    "asker",
    "breakpoint_places",
    "breakpoints_of",
    "checked_as_declared",
    "checked_inputs",
    "choices",
    "clipped",
    "context_compile",
    "counted",
    "decide",
    "do_again",
    "edit_prompt",
    "evolve",
    "execution_of",
    "family",
    "fold",
    "fork",
    "fork_request",
    "gate_evaluate",
    "give_result",
    "give_up",
    "goal_at_hand",
    "ignore",
    "in_order",
    "is_own",
    "is_wanted",
    "it_happened",
    "joined_path",
    "knowledge_request",
    "leave",
    "left_behind",
    "list_executions",
    "may_answer",
    "memory_request",
    "not_to_fork",
    "observed",
    "open_effects",
    "other_decider",
    "process_to_fork",
    "question_of",
    "reached",
    "repeated",
    "resume",
    "run",
    "run_goal",
    "run_request",
    "scopes_of",
    "set_breakpoints",
    "skills_to_use",
    "skip",
    "speaks_for",
    "steered",
    "steering_notes",
    "steps_before",
    "stood_at",
    "take_back",
    "takers_of",
    "tokens_of",
    "too_large",
    "unknown_step",
    "usage_of_answer",
    "wait_before_call",
    "wait_before_retry",
    "with_directives",
    "with_packages_laid_down",
]
