"""Stage four, for a step with a goal: bind its allowed actions and its checks."""

from collections.abc import Iterable
from typing import Any, Final

from msgspec import UNSET, UnsetType

from cortex.runtime.registry import ALL, ActionSpec

from ..executable.linked import (
    GIVE_UP_CALL,
    REACHED_CALL,
    Goal,
    Granted,
    LinkedAction,
    LinkedGate,
    without,
)
from ..syntax.definitions import GateUse, GrantUse, Inherit, StepDefinition
from ..syntax.goal_uses import APPROVED, GOAL_KEYS
from ..syntax.nodes import MappingNode, Node, ScalarNode
from ..syntax.readers import map_of
from ..types.scope import Names
from ..types.shapes import Shape
from ..types.values import ValueChecker
from .bind import Binder, child_of
from .units import UnitReporter
from .world import World

# What a step with a goal gives.
OF_GOAL: Final = Shape(
    {
        "type": "object",
        "properties": {
            "answer": {"type": "string"},  # what was said when the goal was reached
            "actions": {"type": "integer"},  # that were taken towards it
            "turns": {"type": "integer"},  # of a model
            "by": {"type": "string"},  # who said that it was reached
        },
        "required": ["answer", "actions", "turns", "by"],
    }
)
OF_TEXT: Final = Shape({"type": "string"})
ANYTHING: Final = Shape({})
# Names of variables whose values are handed on, which may be secrets: no model chooses them.
FOR_PEOPLE: Final = ("env", "secret_env", "webhook_env")
RESERVED: Final = (REACHED_CALL, GIVE_UP_CALL)
_NO_PARAMETERS: Final[dict[str, Any]] = {"type": "object", "properties": {}}


def asks_model(definition: StepDefinition, action: LinkedAction | None) -> bool:
    """Whether a step asks a model: for its action, or towards its goal."""
    if definition.goal is not None:
        return not definition.by_hand
    return action is not None and action.asks_model


class GoalLinker:
    """Links the goals of one process; what is wrong goes to the reporter."""

    def __init__(self, binder: Binder, world: World, names: Names, reporter: UnitReporter) -> None:
        self._binder = binder
        self._world = world
        self._names = names
        self._reporter = reporter

    def goal(self, definition: StepDefinition) -> Goal | UnsetType:
        """Return the goal of *definition* with all that it may use; unset where it has none."""
        entries = definition.node.entries
        if definition.goal is None:
            for key in entries.keys() & GOAL_KEYS.keys():
                message = f"`{key}:` in a step without `goal:`"
                self._reporter.report("P216", message, entries[key][0])
            return UNSET
        if not (definition.grants or definition.tools or definition.abstract):
            message = f"nothing may be done towards the goal of `{definition.id}`"
            self._reporter.report("P217", message, entries["goal"][0])
        granted = [(use, self._granted(use)) for use in definition.grants]
        grants = [(use, found) for use, found in granted if found is not None]
        self._check_names(definition, grants)
        return Goal(
            text=definition.goal.template,
            grants=tuple(grant for _, grant in grants),
            check=self._check(definition),
            by_hand=definition.by_hand,
        )

    def _granted(self, use: GrantUse) -> Granted | None:
        place = _place(use.node, "action" if use.action else "process")
        gates = self._gates(use.gates)
        if use.process:
            found = self._binder.child(use.process, place)
            if found is None:
                return None
            return Granted(
                name=found.name,
                child=child_of(found),
                description=found.description or f"Run the process {found.name}.",
                parameters=self._chosen(use, self._world.inputs_of(found)),
                gates=gates,
                breakpoint=use.breakpoint,
                given=map_of(use.parameters),
            )
        spec = self._binder.granted(use.action, place)
        if spec is None:
            return None
        shape = self._world.parameters_of(spec)
        programs = () if spec.programs is UNSET or use.any_program else spec.programs
        chosen = self._chosen(use, shape)
        known = chosen.get("properties", {})
        return Granted(
            name=spec.name,
            action=self._binder.linked_action(spec),
            description=_about(spec, shape),
            parameters=chosen,
            gates=gates,
            breakpoint=use.breakpoint,
            given=map_of(use.parameters),
            # What declares no parameters takes any.
            people=tuple(n for n in (*FOR_PEOPLE, *programs) if n in known or not known),
        )

    def _chosen(self, use: GrantUse, shape: Shape) -> dict[str, Any]:
        """The schema of what is chosen: all of *shape* but what `with:` lays down."""
        if use.parameters is None:
            return schema_of(shape)
        checker = ValueChecker(self._names, self._reporter, frozenset())
        partial = Shape({**shape.schema, "required": []}, shape.definitions)
        checker.check(use.parameters, partial, f"`{use.action or use.process}`")
        return without(schema_of(shape), [name for name, _ in map_of(use.parameters).entries])

    def _check(self, definition: StepDefinition) -> tuple[LinkedGate, ...]:
        """The gates that decide; where nothing is said, a person does."""
        if definition.check is not None:
            return self._gates(definition.check)
        place = definition.node.at("goal")
        name = ScalarNode(APPROVED, APPROVED, True, place.start, place.start)
        return self._gates([GateUse(APPROVED, None, name, name)])

    def _gates(self, uses: Iterable[GateUse | Inherit]) -> tuple[LinkedGate, ...]:
        return tuple(self._gate(use) for use in uses if isinstance(use, GateUse))

    def _gate(self, use: GateUse) -> LinkedGate:
        spec = self._binder.gate(use.name, use.name_node)
        if spec is not None:
            checker = ValueChecker(self._names, self._reporter, frozenset())
            shape = self._world.parameters_of(spec)
            checker.check_parameters(use.parameters, shape, f"gate `{use.name}`", use.node)
        return self._binder.linked_gate(use, spec, self._reporter.owner)

    def _check_names(
        self, definition: StepDefinition, grants: Iterable[tuple[GrantUse, Granted]]
    ) -> None:
        """A model chooses by name alone."""
        grants = tuple(grants)
        if not definition.by_hand:
            self._check_reserved(definition, grants)
        seen = {use.name for use in definition.tools}
        for use, grant in grants:
            if grant.name in seen:
                message = f"`{grant.name}` names several entries of `may:`"
                self._reporter.report("P420", message, use.node)
            seen.add(grant.name)

    def _check_reserved(
        self, definition: StepDefinition, grants: Iterable[tuple[GrantUse, Granted]]
    ) -> None:
        """Report tools named like a model's calls about its goal; a pack may hold such tools."""
        known = self._world.symbols.tools
        packs = known.packs if known is not None else {}
        chosen = [(grant.name, use.node) for use, grant in grants]
        chosen += [
            (name, use.node)
            for use in definition.tools
            for name in (use.name, *(n for n in RESERVED if packs.get(n) == _pack(use.name)))
        ]
        for name, node in chosen:
            if name in RESERVED:
                message = f"`{name}` is reserved: a model uses it to report on the goal"
                self._reporter.report("P421", message, node)


def schema_of(shape: Shape) -> dict[str, Any]:
    """Return the JSON Schema of *shape*, of an object at its top, as endpoints want it."""
    if "object" not in shape.kinds or not shape.schema:
        return _NO_PARAMETERS
    schema = {"properties": {}, **shape.schema, "type": "object"}
    definitions = dict(shape.definitions)
    return {**schema, "$defs": definitions} if definitions else schema


def _place(node: Node, key: str) -> Node:
    return node.at(key) if isinstance(node, MappingNode) else node


def _pack(entry: str) -> str:
    """The pack that an entry of `tools:` names, if it names one."""
    return entry.removesuffix(ALL)


def _about(spec: ActionSpec, shape: Shape) -> str:
    """The description of an action for a model, from its parameters."""
    said = str(shape.schema.get("description") or "")
    effect = {"none": "", "read": " It changes nothing."}.get(spec.effect, " It acts on the world.")
    return f"{said or f'The action {spec.name}.'}{effect}"
