"""The registry as a fold of what components announced, and topics as the compiler looks them up."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from cortex.bus.events import ComponentAnnounced, ComponentWithdrawn
from cortex.runtime import processes
from cortex.runtime.knowledge import Ambiguous, KnowledgeError, TopicIndex
from cortex.runtime.processes import ActionSpec, GateSpec, Registry

Spec = TypeVar("Spec", ActionSpec, GateSpec)


class Announced:
    """Actions and gates that are there now."""

    def __init__(self) -> None:
        self._actions: dict[str, ActionSpec] = {}
        self._gates: dict[str, GateSpec] = {}

    def fold(self, event: ComponentAnnounced | ComponentWithdrawn) -> bool:
        """Take in an announcement or a withdrawal; whether it changed anything."""
        before = self._actions.get(event.name), self._gates.get(event.name)
        if event.kind == "action":
            _settle(self._actions, event, _action)
        elif event.kind == "gate":
            _settle(self._gates, event, _gate)
        return before != (self._actions.get(event.name), self._gates.get(event.name))

    def registry(self) -> Registry:
        """What the linker may bind to."""
        return Registry(self._actions.values(), self._gates.values())


class KnownTopics:
    """A topic index in the form in which the process compiler asks."""

    def __init__(self, index: TopicIndex) -> None:
        self._index = index

    def resolve(self, topic: str) -> processes.Resolved | processes.Ambiguous | None:
        """What *topic* stands for; None where nothing usable is under that name."""
        try:
            found = self._index.resolve(topic)
        except KnowledgeError:
            return None
        if found is None:
            return None
        if isinstance(found, Ambiguous):
            return processes.Ambiguous(paths=found.candidates)
        return processes.Resolved(path=found.path, digest=found.digest, root=found.scope)

    def names(self) -> Iterable[str]:
        """Every topic there is."""
        return self._index.topics()


def _settle(
    specs: dict[str, Spec],
    event: ComponentAnnounced | ComponentWithdrawn,
    spec_of: Callable[[ComponentAnnounced], Spec],
) -> None:
    if isinstance(event, ComponentAnnounced):
        specs[event.name] = spec_of(event)
    elif event.name in specs and specs[event.name].component == event.component:
        del specs[event.name]  # what another component announced since stays


def _action(event: ComponentAnnounced) -> ActionSpec:
    traits: dict[str, Any] = event.traits
    return ActionSpec(
        name=event.name,
        component=event.component,
        parameters=event.parameters,
        result=event.result,
        effect=traits.get("effect", "write"),
        asks_model=bool(traits.get("asks_model")),
    )


def _gate(event: ComponentAnnounced) -> GateSpec:
    return GateSpec(
        name=event.name,
        component=event.component,
        parameters=event.parameters,
        read_only=bool(event.traits.get("read_only")),
    )
