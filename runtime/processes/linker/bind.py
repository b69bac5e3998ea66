"""Binds names to their targets: actions, gates, topics and child processes."""

from collections.abc import Iterable
from typing import Any

from msgspec import UNSET, UnsetType

from cortex.runtime.registry import ActionSpec, GateSpec

from ..diagnostics.diagnostics import TextEdit, did_you_mean, nearest
from ..executable.linked import (
    LinkedAction,
    LinkedChild,
    LinkedGate,
    LinkedInterface,
    LinkedProcess,
    LinkedTopic,
    Origin,
)
from ..syntax.definitions import GateUse, InterfaceDefinition, StepDefinition, TopicUse
from ..syntax.nodes import MappingNode, Node, Reporter, SequenceNode, span_of
from ..syntax.readers import map_of
from ..syntax.tool_uses import promised_by
from ..types.answers import object_schema
from .topics import Ambiguous
from .world import World

Child = LinkedProcess | LinkedInterface


class Binder:
    """Binds one name at a time; an unknown name is reported."""

    def __init__(
        self,
        world: World,
        reporter: Reporter,
        circular: frozenset[str] = frozenset(),  # in a cycle with the process: reported there
    ) -> None:
        self._world = world
        self._circular = circular
        self._reporter = reporter

    def action(self, definition: StepDefinition) -> ActionSpec | None:
        """Return the announcement of the action of *definition*."""
        name = definition.action or ""
        # An abstract step never runs: its action is a hint for its overrides.
        if definition.abstract:
            return self._world.symbols.actions.get(name)
        return self.granted(name, definition.node.at("action"))

    def granted(self, name: str, place: Node) -> ActionSpec | None:
        """Return the announcement of the action *name*, which a goal may use."""
        spec = self._world.symbols.actions.get(name)
        if spec is None:
            remedy = self._world.action_remedy(name)
            message = f"no component serves the action `{name}`"
            self._unknown("P401", message, place, name, self._world.symbols.actions, remedy)
        return spec

    def linked_action(
        self, spec: ActionSpec, output: dict[str, Any] | UnsetType = UNSET
    ) -> LinkedAction:
        """Return the pointer to *spec*, for a step that has to give *output*."""
        answer = spec.answer if spec.answer is not UNSET else UNSET
        if answer is UNSET and spec.answers_output is not UNSET:
            answer = output
        return LinkedAction(
            name=spec.name,
            component=spec.component,
            effect=spec.effect,
            asks_model=spec.asks_model,
            answer=answer if answer is UNSET else object_schema(answer),
            needs=spec.needs,
            spec=self._world.symbols.fingerprints[f"action:{spec.name}"],
        )

    def tools(self, definition: StepDefinition) -> tuple[str, ...] | UnsetType:
        """Return the tools that *definition* promises its model; report missing ones."""
        known = self._world.symbols.tools
        if known is None:
            return UNSET
        for use in definition.tools:
            if known.has(use.name) or use.optional or definition.abstract:
                continue
            place = use.node.at("name") if isinstance(use.node, MappingNode) else use.node
            remedy = self._world.tool_remedy(use.name)
            message = f"no component or server offers the tool or pack `{use.name}`"
            self._unknown("P417", message, place, use.name, known.names(), remedy)
        return promised_by(definition, known)

    def gate(self, name: str, place: Node) -> GateSpec | None:
        """Return the announcement of the gate *name*."""
        spec = self._world.symbols.gates.get(name)
        if spec is None:
            remedy = self._world.gate_remedy(name)
            message = f"no component evaluates `{name}`"
            self._unknown("P402", message, place, name, self._world.symbols.gates, remedy)
        return spec

    def linked_gate(self, use: GateUse, spec: GateSpec | None, owner: str) -> LinkedGate:
        """Return the pointer to *spec* with the parameters of *use*."""
        return LinkedGate(
            name=use.name,
            component=spec.component if spec else "",
            parameters=map_of(use.parameters),
            read_only=bool(spec and spec.read_only),
            spec=self._world.symbols.fingerprints[f"gate:{use.name}"] if spec else "",
            origin=Origin(process=owner),
        )

    def topic(self, use: TopicUse, owner: str) -> LinkedTopic:
        """Return the pointer to the knowledge under *use*; an empty one if there is none."""
        found = self._world.topic(use.topic)
        if isinstance(found, Ambiguous):
            message = f"`{use.topic}` could be any of {', '.join(found.paths)}"
            self._reporter.report("P404", message, use.node)
        elif found is None:
            remedy = self._world.topic_remedy(use.topic)
            problem = self._world.topics.problem(use.topic)
            message = problem or f"there is no knowledge under `{use.topic}`"
            known = self._world.topics.names()
            self._unknown("P403", message, use.node, use.topic, known, remedy)
        else:
            return LinkedTopic(
                topic=use.topic,
                path=found.path,
                digest=found.digest,
                root=found.root,
                origin=Origin(process=owner),
            )
        return LinkedTopic(
            topic=use.topic, path="", digest="", root="", origin=Origin(process=owner)
        )

    def child(self, name: str, place: Node) -> Child | None:
        """Return the process or interface *name* that is to run as a child execution."""
        world = self._world
        if name in world.interfaces:
            interface = world.interfaces[name]
            self._check_implementers(interface, place)
            return interface
        if name in world.abstract:
            self._reporter.report("P410", f"process `{name}` is abstract", place)
        elif name in world.processes:
            return world.processes[name]
        elif name in world.defined:
            if name not in self._circular:
                self._reporter.report("P315", f"`{name}` does not compile", place)
        else:
            known = {*world.defined, *world.interfaces}
            remedy = did_you_mean(name, known, "correct the name or add the process")
            message = f"there is no process and no interface `{name}`"
            self._unknown("P408", message, place, name, known, remedy)
        return None

    def _check_implementers(self, interface: LinkedInterface, place: Node) -> None:
        """Whichever implements it has to run on what the interface is given."""
        if not self._world.implementers.get(interface.name):
            self._reporter.report("P411", f"nothing implements `{interface.name}`", place)
        for process, name in self._world.unmet_inputs(interface):
            message = (
                f"`{process}` implements `{interface.name}` and requires the input `{name}`, "
                "which the interface does not have"
            )
            remedy = f"add `{name}` to the `inputs:` of the interface"
            self._reporter.report("P406", message, place, remedy=remedy)

    def _unknown(
        self, code: str, message: str, place: Node, name: str, known: Iterable[str], remedy: str
    ) -> None:
        found = nearest(name, known)
        fix = (TextEdit(span_of(place), found),) if found else None
        self._reporter.report(code, message, place, remedy=remedy, fix=fix)


def child_of(found: Child) -> LinkedChild:
    """Return the pointer to *found*."""
    if isinstance(found, LinkedInterface):
        return LinkedChild(interface=found.name, digest=found.digest)
    return LinkedChild(process=found.name, digest=found.digest)


def check_interface(definition: InterfaceDefinition, world: World, reporter: Reporter) -> None:
    """Report the gates and topics that *definition* requires and that are not there."""
    binder = Binder(world, reporter)
    for key, names in (
        ("required_gates", definition.required_gates),
        ("required_knowledge", definition.required_knowledge),
    ):
        node = definition.node.at(key)
        places = node.items if isinstance(node, SequenceNode) else [node]
        for name, place in zip(names, places, strict=False):
            if key == "required_gates":
                binder.gate(name, place)
            else:
                binder.topic(TopicUse(name, place), definition.name)
