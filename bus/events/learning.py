"""What executions teach."""

from typing import Any

from ..event import Event


class ActionObserved(Event, frozen=True, kw_only=True, tag="learning.action_observed"):
    """An action was chosen outside any process or towards a goal; discovery learns from these."""

    belongs = ("execution", "execution_id")
    routing = "action"
    personal = ("parameters",)

    execution_id: str
    action: str
    parameters: dict[str, Any] = {}
    outcome: str = ""  # "completed" or "failed"
    step_id: str = ""  # the step; its output is in `step.completed` of that step
    attempt: int = 1
