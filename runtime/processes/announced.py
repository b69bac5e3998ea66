"""The registry as a fold of what components announced."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET

from cortex.bus import effect_of
from cortex.bus.events import ComponentAnnounced, ComponentWithdrawn, ToolListed
from cortex.runtime.models import stated
from cortex.runtime.tools import Skill, Tools, ToolSpec

from .known_tools import KnownTools
from .registry import ActionSpec, GateSpec, Registry, digest_of

TOOL = "tool"  # kind of an announcement
Spec = TypeVar("Spec", ActionSpec, GateSpec)


class Announced:
    """Actions and gates that are there now."""

    def __init__(self, servers: Iterable[str] = ()) -> None:
        """Nothing is announced.

        Args:
            servers: Names of configured servers of tools, which may offer anything until they said.
        """
        self._actions: dict[str, ActionSpec] = {}
        self._gates: dict[str, GateSpec] = {}
        self._tools = Tools()
        self._described = Tools()  # the same, with what silent servers listed before
        self._servers = tuple(servers)

    def fold(self, event: ComponentAnnounced | ComponentWithdrawn | ToolListed) -> bool:
        """Take in an announcement, a withdrawal or a listing; whether it changed anything."""
        if isinstance(event, ToolListed) or event.kind == TOOL:
            if not isinstance(event, ToolListed) or event.tools:
                self._described.fold(event)
            return self._tools.fold(event)
        before = self._actions.get(event.name), self._gates.get(event.name)
        if event.kind == "action":
            _settle(self._actions, event, _action)
        elif event.kind == "gate":
            _settle(self._gates, event, _gate)
        return before != (self._actions.get(event.name), self._gates.get(event.name))

    def registry(self, skills: Iterable[Skill] = ()) -> Registry:
        """What the linker may bind to; *skills* are those of the home."""
        return Registry(self._actions.values(), self._gates.values(), self._known(skills))

    def _known(self, skills: Iterable[Skill]) -> KnownTools:
        listed = self._tools.listed()
        silent = [name for name, offers in listed.items() if not offers]
        pages = {skill.name: skill for skill in skills}
        prints = {name: ("", skill.digest) for name, skill in pages.items() if skill.digest}
        return KnownTools(
            packs={spec.name: spec.pack for spec in self._tools.specs()},
            prints=prints
            | {spec.name: (spec.pack, _print(spec)) for spec in self._described.specs()},
            skills=tuple(pages),
            servers=tuple(sorted({*silent, *(n for n in self._servers if n not in listed)})),
        )


def _print(spec: ToolSpec) -> str:
    """A digest of what *spec* is to a model and to the world; who serves it may change."""
    return digest_of(msgspec.structs.replace(spec, component="", host=""))


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
        programs=_names(traits.get("programs")) or UNSET,
    )


def _names(said: Any) -> tuple[str, ...]:
    """The names that a trait lists, which anybody may have written."""
    listed = said if isinstance(said, list | tuple) else ()
    return tuple(each for each in listed if isinstance(each, str))


def _gate(event: ComponentAnnounced) -> GateSpec:
    return GateSpec(
        name=event.name,
        component=event.component,
        parameters=event.parameters,
        read_only=bool(event.traits.get("read_only")),
    )
