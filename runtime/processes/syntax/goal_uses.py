"""The keys of a step that works towards a `goal:`: its allowed actions, and its checks."""

from collections.abc import Iterator, Mapping
from typing import Final

from .definitions import GateUse, GrantUse, StepDefinition
from .forms import Boolean, Key, ListOf, MapForm, OneOf, Text
from .nodes import MappingNode, Node, Reporter
from .readers import PARAMETERS, PUBLIC_NAME, any_map, read_gate, read_value

APPROVED: Final = "approved"  # the gate that asks a person, where a goal has no check of its own

GOAL = OneOf(read_value, (Text().schema,))
_GATES = ListOf(OneOf(read_gate, (PUBLIC_NAME.schema, any_map)))
_GRANT = MapForm(
    "an action of a goal",
    GrantUse,
    {
        "action": Key(PUBLIC_NAME, "the action"),
        "process": Key(PUBLIC_NAME, "the process or interface to run as a child execution"),
        "gates": Key(_GATES, "what has to hold each time before it is done"),
        "breakpoint": Key(Boolean(), "whether to pause each time before it is done"),
        "with": Key(
            PARAMETERS,
            "parameters that are laid down: whoever works towards the goal does not choose them",
            field="parameters",
        ),
        "any_program": Key(
            Boolean(),
            "whether a model chooses the programs that it starts, and the addresses it sends to",
        ),
    },
    exclusive=(("action", "process"),),
)


def _read_grant(node: Node, reporter: Reporter, label: str) -> GrantUse | None:
    if not isinstance(node, MappingNode):
        name = PUBLIC_NAME.read(node, reporter, label)
        return GrantUse(action=name, node=node) if name else None
    grant: GrantUse | None = _GRANT.read(node, reporter, label)
    if grant is not None and not (grant.action or grant.process):
        reporter.report("P102", "an action of a goal needs `action:` or `process:`", node)
        return None
    return grant


GOAL_KEYS: Mapping[str, Key] = {
    "may": Key(
        ListOf(OneOf(_read_grant, (PUBLIC_NAME.schema, _GRANT.schema)), or_one=True),
        "what may be done towards the goal: actions, {process: x} for a child, "
        "{action: x, gates: [...]} for what has to hold before it",
        field="grants",
    ),
    "check": Key(
        _GATES,
        "gates that decide whether the goal is reached; a person unless given, and with none "
        "whoever works towards it",
    ),
    "by_hand": Key(Boolean(), "whether a person chooses the actions, and no model is asked"),
}


def gates_of_goal(definition: StepDefinition) -> Iterator[str]:
    """Names of the gates before actions of the goal, and of those that check it."""
    uses = [use for grant in definition.grants for use in grant.gates]
    yield from (use.name for use in (*uses, *(definition.check or ())) if isinstance(use, GateUse))
    if definition.goal is not None and definition.check is None:
        yield APPROVED
