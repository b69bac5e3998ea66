"""What-ifs: an execution again with something changed; only what is not on record is done."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .changes import Changes, WhatIf, prepared
    from .comparison import comparison_of
    from .outcomes import ExecutionOutcome, WhatIfDocument, compared, outcome_of, planned
    from .planning import plan_of
    from .plans import Plan, PlannedCall, PlannedPrompt, plan_lines
    from .running import agreed, request_of, what_if
else:
    lazily(__name__)

__all__ = [
    "Changes",
    "ExecutionOutcome",
    "Plan",
    "PlannedCall",
    "PlannedPrompt",
    "WhatIf",
    "WhatIfDocument",
    "agreed",
    "compared",
    "comparison_of",
    "outcome_of",
    "plan_lines",
    "plan_of",
    "planned",
    "prepared",
    "request_of",
    "what_if",
]
