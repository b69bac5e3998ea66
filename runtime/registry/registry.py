"""The one fold of announcements, withdrawals and listings.

The rules, for everybody who asks who serves what:

* A name of a kind (the action `greet`, the model `fast`) is served by one component at a time, on
  behalf of the client that announced it. Whatever the runtime's own process and its owner say
  counts as said by the owner.
* That client and the owner may announce another component in its place, or withdraw it. What
  anybody else announces or withdraws under that name does not count.
* A client that announces the same component hosts it as well: what it says of the component
  replaces what was said, but the name stays with the client that announced it first.
* A withdrawal names the component. It takes nothing from another component that serves the name
  by now, whoever sends it.
* A tool server's tools are listed by one client: the one that listed them first, or the owner, who
  takes the server over. A listing replaces the one before; an empty one leaves the server silent.
* Losing a plugin or a worker changes nothing by itself. What it served is gone once it is
  withdrawn: by itself as it ends, by the runtime that keeps it, or as its grant is revoked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Final

import msgspec
from msgspec.structs import replace

from cortex.bus import OWNER, Event, Recorded, person_of
from cortex.bus.events import ComponentAnnounced, ComponentWithdrawn, ToolListed

from .specs import (
    ACTION,
    GATE,
    TOOL,
    ActionSpec,
    GateSpec,
    ToolSpec,
    action_of,
    gate_of,
    tool_of,
    tools_of,
)
from .symbols import KnownTools, Symbols, digest_of

STREAM: Final = "registry"  # of announcements and withdrawals
LISTER: Final = "McpTools"  # the runtime's component that lists the servers of config.toml
PLUGIN: Final = "plugin."  # before the name of a plugin, in that of its client
NOT_YET: Final = "not answered yet"  # the reason in a server's listing until there is another
# The reason where no server can be asked until Cortex is started anew.
NO_SDK: Final = (
    "servers of tools need the SDK, which is not installed: pip install 'cortex-runtime[mcp]'"
)
_TOPICS: Final = frozenset(
    kind.topic_name() for kind in (ComponentAnnounced, ComponentWithdrawn, ToolListed)
)
_NONE: Final[Mapping[str, str]] = {}


class Registration(msgspec.Struct, frozen=True):
    """One thing that is served."""

    announced: ComponentAnnounced
    by: str  # the client whose it is; `OWNER` for whatever the runtime itself hosts

    @property
    def host(self) -> str:
        """The client whose word counts beside the component's; "" where it is the owner."""
        return "" if self.by == OWNER else self.by

    @property
    def plugin(self) -> str:
        """Name of the plugin that announced it; "" where none did."""
        return self.by.removeprefix(PLUGIN) if self.by.startswith(PLUGIN) else ""

    def withdrawal(self) -> ComponentWithdrawn:
        """The event that withdraws it."""
        said = self.announced
        return ComponentWithdrawn(component=said.component, kind=said.kind, name=said.name)


class Listing(msgspec.Struct, frozen=True):
    """What a tool server offers."""

    newest: ToolListed
    by: str  # the client that listed it; `OWNER` for a server of config.toml
    component: str  # who takes calls of its tools; "" where that is not known
    described: ToolListed | None = None  # the newest listing that had any tool

    def why_not(self) -> str:
        """Why it offers nothing; "" if it offers something, or the reason is unknown."""
        reason, server = self.newest.reason, self.newest.server
        if self.newest.tools or not reason:
            return ""
        # What holds for all servers names none, and a server's own words begin with its name.
        names_it = reason == NO_SDK or reason.startswith(f"{server}: ")
        return reason if names_it else f"{server}: {reason}"

    def specs(self) -> Iterator[ToolSpec]:
        """Each tool that is offered now."""
        host = "" if self.by == OWNER else self.by
        for spec in tools_of(self.newest):
            yield replace(spec, component=self.component, host=host)


class Registry(msgspec.Struct, frozen=True, dict=True):
    """Who serves what: a value, which `evolve` makes from the one before."""

    registrations: dict[tuple[str, str], Registration] = {}  # by kind and name, the newest last
    listings: dict[str, Listing] = {}  # by tool server

    def get(self, kind: str, name: str) -> Registration | None:
        """What serves *name* now, if anything does."""
        return self.registrations.get((kind, name))

    def serves(self, kind: str, name: str) -> tuple[str, str]:
        """The component that serves it, and the client that announced it; "" if there is none.

        The client is left out where it is the owner: whatever the runtime itself hosts publishes
        under the name of the component.
        """
        found = self.get(kind, name)
        return (found.announced.component, found.host) if found else ("", "")

    def select(self, wanted: Callable[[Registration], bool]) -> Registry:
        """The same, with no other registrations than those that are *wanted*."""
        found = {key: each for key, each in self.registrations.items() if wanted(each)}
        return replace(self, registrations=found)

    def of_kind(self, kind: str) -> Iterator[ComponentAnnounced]:
        """What is announced of one *kind*."""
        return (each.announced for (of, _), each in self.registrations.items() if of == kind)

    @cached_property
    def actions(self) -> Mapping[str, ActionSpec]:
        """Each action, by name."""
        return {said.name: action_of(said) for said in self.of_kind(ACTION)}

    @cached_property
    def gates(self) -> Mapping[str, GateSpec]:
        """Each gate, by name."""
        return {said.name: gate_of(said) for said in self.of_kind(GATE)}

    @cached_property
    def tools(self) -> tuple[ToolSpec, ...]:
        """Each tool that is there now, by name; one that a component announced comes first."""
        found = {spec.name: spec for each in self.listings.values() for spec in each.specs()}
        for (kind, name), each in self.registrations.items():
            if kind == TOOL:
                component = each.announced.component
                found[name] = replace(tool_of(each.announced), component=component, host=each.host)
        return tuple(found[name] for name in sorted(found))

    def why_not(self, entry: str) -> str:
        """Why the server that *entry* is about offers nothing; "" if there is no such report."""
        for name, listing in self.listings.items():
            if entry.removesuffix(".*") == name or entry.startswith(f"{name}."):
                return listing.why_not()
        return ""

    def never(self, entry: str) -> bool:
        """Whether the server that *entry* is about cannot be asked as long as this runtime runs."""
        return self.why_not(entry) == NO_SDK

    def awaited(self) -> tuple[str, ...]:
        """Servers that have been asked what they offer and have not answered yet, by name."""
        return tuple(
            sorted(n for n, each in self.listings.items() if each.newest.reason == NOT_YET)
        )

    def symbols(self, skills: Mapping[str, str] = _NONE, servers: Iterable[str] = ()) -> Symbols:
        """What a linker may bind to.

        Args:
            skills: The digest of each skill's page, by its name.
            servers: Configured tool servers, which may offer anything until they have listed it.
        """
        silent = [name for name, each in self.listings.items() if not each.newest.tools]
        described = replace(
            self,
            listings={
                n: replace(e, newest=e.described or e.newest) for n, e in self.listings.items()
            },
        )
        known = KnownTools(
            packs={spec.name: spec.pack for spec in self.tools},
            prints={name: ("", digest) for name, digest in skills.items() if digest}
            | {spec.name: (spec.pack, _print(spec)) for spec in described.tools},
            skills=tuple(skills),
            servers=tuple(sorted({*silent, *(n for n in servers if n not in self.listings)})),
        )
        return Symbols(self.actions.values(), self.gates.values(), known)


def evolve(registry: Registry, event: Event | None, source: str = OWNER) -> Registry:
    """The registry after *source* said *event*: the same object where that changes nothing."""
    match event:
        case ComponentAnnounced():
            return _announced(registry, event, person_of(source))
        case ComponentWithdrawn():
            return _withdrawn(registry, event, person_of(source))
        case ToolListed():
            return _listed(registry, event, OWNER if source == LISTER else person_of(source))
        case _:
            return registry


def registry_of(
    records: Iterable[Recorded],
    read: Callable[[Recorded], Event | None],
    *,
    before: int | None = None,
) -> Registry:
    """The registry after *records*, or as it was when the event at position *before* was recorded.

    Args:
        records: Of the stream of announcements, and of tool servers; others are passed over.
        read: The event in a record.
        before: Only records below this position count.
    """
    registry = Registry()
    for record in records:
        if record.topic in _TOPICS and (before is None or record.position < before):
            registry = evolve(registry, read(record), record.source)
    return registry


def _announced(registry: Registry, event: ComponentAnnounced, who: str) -> Registry:
    key, by = (event.kind, event.name), who
    found = registry.registrations.get(key)
    if found is not None and who not in (found.by, OWNER):
        if found.announced.component != event.component:
            return registry
        by = found.by
    registration = Registration(event, by)
    if registration == found:
        return registry
    others = _without(registry.registrations, key)
    return replace(registry, registrations={**others, key: registration})


def _withdrawn(registry: Registry, event: ComponentWithdrawn, who: str) -> Registry:
    key = event.kind, event.name
    found = registry.registrations.get(key)
    if found is None or found.announced.component != event.component:
        return registry
    if who not in (found.by, OWNER):
        return registry
    return replace(registry, registrations=_without(registry.registrations, key))


def _listed(registry: Registry, event: ToolListed, who: str) -> Registry:
    found = registry.listings.get(event.server)
    if found is not None and who not in (found.by, OWNER):
        return registry
    component = event.component or ("" if who == OWNER else who)
    before = found.described if found is not None else None
    described = event if event.tools else before
    listing = Listing(event, who, component, described)
    if listing == found:
        return registry
    return replace(registry, listings={**registry.listings, event.server: listing})


def _without(
    registrations: dict[tuple[str, str], Registration], key: tuple[str, str]
) -> dict[tuple[str, str], Registration]:
    return {each: found for each, found in registrations.items() if each != key}


def _print(spec: ToolSpec) -> str:
    """A digest of what *spec* is to a model and to the world; who serves it may change."""
    return digest_of(replace(spec, component="", host=""))


def tools_before(
    history: Callable[[str], Iterable[Recorded]],
    read: Callable[[Recorded], Event | None],
    entries: Sequence[str],
    before: int,
) -> Registry:
    """The registry of the tools that *entries* of a step may be about, before position *before*.

    It reads the log and not the memory, so that a repeated event gets the same tools.
    """
    announced = (each for each in history(STREAM) if each.key == TOOL)
    listed = chain.from_iterable(map(history, _servers(entries)))
    return registry_of(chain(announced, listed), read, before=before)


def _servers(entries: Sequence[str]) -> list[str]:
    """The streams of servers that *entries* may refer to: `SERVER`, `SERVER.*`, `SERVER.tool`."""
    names: set[str] = set()
    for entry in entries:
        parts = entry.removesuffix(".*").split(".")
        names.update(".".join(parts[: n + 1]) for n in range(len(parts)))
    return sorted(f"tools/{name}" for name in names)
