"""The choices of a model that works towards a goal, as tools that the execution answers itself."""

from typing import Any, Final

from msgspec import UNSET

from cortex.runtime.processes import GIVE_UP_CALL, REACHED_CALL, LinkedStep
from cortex.runtime.registry import ToolSpec

INSTRUCTIONS: Final = (
    "You work towards the goal of this step in turns. In each turn use tools to look into things, "
    "or choose one action: it is carried out, and what came of it is shown to you in the next "
    "turn. What failed or was not allowed is told to you; choose something else then. Files "
    "change in a work tree of this execution and nowhere else. When the goal is reached, call "
    "goal_reached: it is checked. When it cannot be reached with what you may do, call give_up."
)
ALONE: Final = "say it by itself, in a turn without other calls"
ONE_A_TURN: Final = "one action a turn: choose it again when you have seen what came of the first"


def _said(name: str, description: str, field: str, what: str) -> ToolSpec:
    return ToolSpec(
        name=name,
        description=description,
        parameters={
            "type": "object",
            "properties": {field: {"type": "string", "description": what}},
            "required": [field],
            "additionalProperties": False,
        },
        provider="",
        pack="",
        effect="none",
    )


REACHED: Final = _said(
    REACHED_CALL, "Say that the goal is reached. It is checked.", "summary", "what was done"
)
GIVE_UP: Final = _said(
    GIVE_UP_CALL, "Say that the goal cannot be reached.", "reason", "what stands in the way"
)


def choices(step: LinkedStep) -> tuple[ToolSpec, ...]:
    """What may be chosen towards the goal of *step*, by name; nothing where it has none."""
    if step.goal is UNSET:
        return ()
    granted = (
        ToolSpec(
            name=grant.name,
            description=grant.description,
            parameters=grant.for_model(),
            provider="",
            pack="",
            effect=grant.action.effect
            if grant.action and grant.action.effect != "write"
            else "once",
        )
        for grant in step.goal.grants
    )
    return (*granted, REACHED, GIVE_UP)


def said_reached(answer: dict[str, Any]) -> str:
    """What a model said when it said that the goal is reached."""
    return _argument(answer, "summary") or str(answer.get("text") or "")


def given_up(answer: dict[str, Any]) -> str:
    """What a model said when it gave the goal up."""
    return _argument(answer, "reason") or str(answer.get("text") or "") or "it gives no reason"


def _argument(answer: dict[str, Any], name: str) -> str:
    calls = answer.get("calls")
    first = calls[0] if isinstance(calls, list) and calls else None
    arguments = first.get("arguments") if isinstance(first, dict) else None
    value = arguments.get(name) if isinstance(arguments, dict) else None
    return value if isinstance(value, str) else ""
