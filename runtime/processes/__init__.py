"""The process compiler: text in, linked processes and diagnostics out."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .compiler.compilation import Compilation
    from .compiler.compile import compile_sources
    from .compiler.emit import MANUAL, Candidate, Match, ProcessTable, Tie, answers, offered_inputs
    from .compiler.goal_sources import linked_goal, problem_of
    from .compiler.home_sources import (
        LIBRARY,
        Sources,
        compile_home,
        folders_of,
        gone,
        read_folder,
        read_source,
    )
    from .compiler.home_sources import sources_of as home_sources
    from .compiler.language import keys_of_the_language, language_schema
    from .compiler.parse import Parsed, parse
    from .compiler.shipped import SHIPPED, is_shipped
    from .compiler.stale import known_sources
    from .compiler.submitting import submit
    from .diagnostics.codes import RULES, SECTIONS
    from .diagnostics.diagnostics import (
        Diagnostic,
        Severity,
        SourceSpan,
        TextEdit,
        absence,
        absent_by,
        apply_edits,
        did_you_mean,
        errors_of,
        listed,
        nearest,
    )
    from .diagnostics.errors import (
        MissingValueError,
        ProcessLoadError,
        SettlementError,
    )
    from .diagnostics.rejections import Rejections
    from .executable.diff import Change, Diff, diff
    from .executable.evaluate import EvaluationScope, evaluate, fill
    from .executable.expression_parser import ExpressionSyntaxError, parse_condition, parse_template
    from .executable.expressions import Constant, Expression, MapOf, Ref, Template
    from .executable.inspection import (
        Inspection,
        Item,
        StepItem,
        goal_line,
        inspect,
        items_of,
        may_of,
    )
    from .executable.linked import (
        GIVE_UP_CALL,
        REACHED_CALL,
        BackTo,
        Budget,
        Carry,
        Continue,
        EventTrigger,
        Field,
        FileTrigger,
        Find,
        Goal,
        GoTo,
        Granted,
        Halt,
        LinkedAction,
        LinkedChild,
        LinkedFan,
        LinkedGate,
        LinkedInterface,
        LinkedProcess,
        LinkedStep,
        LinkedTopic,
        ManualTrigger,
        Needs,
        OnFailure,
        Origin,
        Output,
        Remembered,
        Retry,
        RunProcess,
        ScheduleTrigger,
        Trigger,
        ValueType,
    )
    from .executable.parts import acts, forked, list_seen_by, part_of, seen_by
    from .executable.work import inferred_needs, said_needs
    from .linker.bound import ALSO_FROM
    from .linker.topics import (
        Ambiguous,
        KnowledgeTopics,
        Resolved,
        Topics,
        TopicTable,
    )
    from .syntax.fixes import apply_fixes, with_kept_fixes
    from .syntax.misfits import misfit
    from .types.answers import (
        EMPTY,
        is_empty,
        object_schema,
        schema_problem,
        typed_answer,
        wrong_answer,
    )
else:
    lazily(__name__)

__all__ = [
    "ALSO_FROM",
    "EMPTY",
    "GIVE_UP_CALL",
    "LIBRARY",
    "MANUAL",
    "REACHED_CALL",
    "RULES",
    "SECTIONS",
    "SHIPPED",
    "Ambiguous",
    "BackTo",
    "Budget",
    "Candidate",
    "Carry",
    "Change",
    "Compilation",
    "Constant",
    "Continue",
    "Diagnostic",
    "Diff",
    "EvaluationScope",
    "EventTrigger",
    "Expression",
    "ExpressionSyntaxError",
    "Field",
    "FileTrigger",
    "Find",
    "GoTo",
    "Goal",
    "Granted",
    "Halt",
    "Inspection",
    "Item",
    "KnowledgeTopics",
    "LinkedAction",
    "LinkedChild",
    "LinkedFan",
    "LinkedGate",
    "LinkedInterface",
    "LinkedProcess",
    "LinkedStep",
    "LinkedTopic",
    "ManualTrigger",
    "MapOf",
    "Match",
    "MissingValueError",
    "Needs",
    "OnFailure",
    "Origin",
    "Output",
    "Parsed",
    "ProcessLoadError",
    "ProcessTable",
    "Ref",
    "Rejections",
    "Remembered",
    "Resolved",
    "Retry",
    "RunProcess",
    "ScheduleTrigger",
    "SettlementError",
    "Severity",
    "SourceSpan",
    "Sources",
    "StepItem",
    "Template",
    "TextEdit",
    "Tie",
    "TopicTable",
    "Topics",
    "Trigger",
    "ValueType",
    "absence",
    "absent_by",
    "acts",
    "answers",
    "apply_edits",
    "apply_fixes",
    "compile_home",
    "compile_sources",
    "did_you_mean",
    "diff",
    "errors_of",
    "evaluate",
    "fill",
    "folders_of",
    "forked",
    "goal_line",
    "gone",
    "home_sources",
    "inferred_needs",
    "inspect",
    "is_empty",
    "is_shipped",
    "items_of",
    "keys_of_the_language",
    "known_sources",
    "language_schema",
    "linked_goal",
    "list_seen_by",
    "listed",
    "may_of",
    "misfit",
    "nearest",
    "object_schema",
    "offered_inputs",
    "parse",
    "parse_condition",
    "parse_template",
    "part_of",
    "problem_of",
    "read_folder",
    "read_source",
    "said_needs",
    "schema_problem",
    "seen_by",
    "submit",
    "typed_answer",
    "with_kept_fixes",
    "wrong_answer",
]
