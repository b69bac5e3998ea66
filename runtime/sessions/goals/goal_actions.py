"""The actions that a person may take towards an execution's current goal, with their parameters."""

from collections.abc import Iterator
from typing import Any

import msgspec

from cortex.runtime.executions.view import History
from cortex.runtime.processes import Granted

from .goals import goal_at_hand_of


class ParameterItem(msgspec.Struct, kw_only=True):
    """Something that an action takes."""

    name: str
    type: str
    required: bool = False
    about: str = ""


class ActionItem(msgspec.Struct, kw_only=True):
    """Something that may be done."""

    name: str
    kind: str  # "action" or "process"
    about: str
    takes: list[ParameterItem]
    gates: list[str]  # that are asked each time before it is done
    laid_down: list[str] = []  # parameters with fixed values


def actions_of(history: History, execution_id: str) -> list[ActionItem]:
    """The actions allowed towards the goal of an execution.

    Raises:
        RefusedError: It has no current goal.
    """
    return [_item(grant) for grant in goal_at_hand_of(history, execution_id).grants]


def _item(grant: Granted) -> ActionItem:
    return ActionItem(
        name=grant.name,
        kind="process" if grant.child is not None else "action",
        about=grant.description,
        takes=list(_takes(grant.parameters)),
        gates=[gate.name for gate in grant.gates],
        laid_down=[name for name, _ in grant.given.entries],
    )


def _takes(schema: dict[str, Any]) -> Iterator[ParameterItem]:
    required = schema.get("required", ())
    for name, each in schema.get("properties", {}).items():
        yield ParameterItem(
            name=name,
            type=_type(each),
            required=name in required,
            about=str(each.get("description", "")) if isinstance(each, dict) else "",
        )


def _type(schema: Any) -> str:
    """The kinds of value that fit *schema*, in words."""
    if not isinstance(schema, dict):
        return "anything"
    if options := schema.get("anyOf"):
        return " or ".join(dict.fromkeys(map(_type, options)))
    if "enum" in schema:
        return " or ".join(str(each) for each in schema["enum"])
    kind = schema.get("type")
    names = kind if isinstance(kind, list) else [kind] if kind else []
    return " or ".join(str(name) for name in names) or "anything"
