"""The registry as a fold of what components announced."""

from collections.abc import Callable
from typing import Any, TypeVar

from msgspec import UNSET

from cortex.bus import effect_of
from cortex.bus.events import ComponentAnnounced, ComponentWithdrawn
from cortex.runtime.models import stated

from .registry import ActionSpec, GateSpec, Registry

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
        effect=effect_of(traits.get("effect")),
        asks_model=bool(traits.get("asks_model")),
        answer=event.answer or UNSET,
        answers_output=True if traits.get("answers_output") else UNSET,
        needs=stated(traits.get("needs")) or UNSET,
    )


def _gate(event: ComponentAnnounced) -> GateSpec:
    return GateSpec(
        name=event.name,
        component=event.component,
        parameters=event.parameters,
        read_only=bool(event.traits.get("read_only")),
    )
