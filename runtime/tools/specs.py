"""What a tool says about itself, from what components announced and servers listed."""

from collections.abc import Iterable
from typing import Any

import msgspec

from cortex.bus import UNDECLARED, Effect, effect_of
from cortex.bus.events import ComponentAnnounced, ComponentWithdrawn, ToolListed
from cortex.runtime.access import OWNER, SERVER, Announcers

from .names import wire_name
from .servers import WAIT_S

KIND = "tool"  # of an announcement
NOT_YET = "not answered yet"  # the reason in the listing of a server until there is another
# The reason where no server can be asked until Cortex is started anew.
NO_SDK = "servers of tools need the SDK, which is not installed: pip install 'cortex-runtime[mcp]'"
_DEFS = "#/$defs/"


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool that a model may call."""

    name: str  # "read_file"; "server.tool" of a server
    description: str
    parameters: dict[str, Any]  # JSON Schema, of an object
    provider: str  # who takes `tool.call`; "" for what the execution does itself
    pack: str
    effect: Effect = UNDECLARED
    component: str = ""  # who offers it: whose answer to a call counts
    host: str = ""  # the client that announced it, likewise; "" for the owner's

    @property
    def wire(self) -> str:
        """Its name as it is given to a model."""
        return wire_name(self.name)

    def shown(self) -> dict[str, Any]:
        """What a model is told of it."""
        return {
            "name": self.wire,
            "description": self.description,
            "parameters": self.parameters,
        }


class Tools:
    """The tools that are there now: a fold of announcements, withdrawals and listings."""

    def __init__(self, wait_s: float = WAIT_S) -> None:
        self.wait_s = wait_s  # that a step waits for those that it declares and that are not there
        self._announced: dict[str, ComponentAnnounced] = {}
        self._announcers = Announcers()
        self._listed: dict[str, ToolListed] = {}

    def fold(
        self, event: ComponentAnnounced | ComponentWithdrawn | ToolListed, source: str = OWNER
    ) -> bool:
        """Take in what *source* said; whether it changed anything."""
        if isinstance(event, ToolListed):
            if not self._announcers.lists(event, source):
                return False
            changed = self._listed.get(event.server) != event
            self._listed[event.server] = event
            return changed
        if event.kind != KIND or not self._announcers.take(event, source):
            return False
        standing = self._announced.pop(event.name, None)
        if isinstance(event, ComponentAnnounced):
            self._announced[event.name] = event
            return standing != event
        return standing is not None

    def listed(self) -> dict[str, int]:
        """How many tools each server has listed, by name; 0 where none is known of it."""
        return {name: len(said.tools) for name, said in self._listed.items()}

    def why_not(self, entry: str) -> str:
        """Why the server that *entry* is about offers nothing; "" where nobody says so."""
        said = self._server(entry)
        if said is None or said.tools or not said.reason:
            return ""
        # What holds for all servers names none, and a server's own words begin with its name.
        names_it = said.reason == NO_SDK or said.reason.startswith(f"{said.server}: ")
        return said.reason if names_it else f"{said.server}: {said.reason}"

    def never(self, entry: str) -> bool:
        """Whether the server that *entry* is about cannot be asked as long as this runtime runs."""
        return self.why_not(entry) == NO_SDK

    def _server(self, entry: str) -> ToolListed | None:
        for name, said in self._listed.items():
            if entry.removesuffix(".*") == name or entry.startswith(f"{name}."):
                return said
        return None

    def awaited(self) -> tuple[str, ...]:
        """Servers that have been asked what they offer and have not answered yet, by name."""
        return tuple(sorted(n for n, said in self._listed.items() if said.reason == NOT_YET))

    def specs(self) -> tuple[ToolSpec, ...]:
        """Each of them, by name."""
        return tuple(map(self._served, specs_of(self._announced.values(), self._listed.values())))

    def _served(self, spec: ToolSpec) -> ToolSpec:
        """*spec*, with who serves it."""
        announced = spec.name in self._announced
        place = (KIND, spec.name) if announced else (SERVER, spec.pack)
        component, host = self._announcers.serves(*place)
        return msgspec.structs.replace(spec, component=component, host=host)


def specs_of(
    announced: Iterable[ComponentAnnounced], listed: Iterable[ToolListed]
) -> tuple[ToolSpec, ...]:
    """The tools in announcements and listings that stand, by name; what is announced wins."""
    found: dict[str, ToolSpec] = {}
    for listing in listed:
        for tool in listing.tools:
            spec = _of_server(listing, tool)
            found[spec.name] = spec
    for said in announced:
        if said.kind == KIND:
            found[said.name] = _of_component(said)
    return tuple(found[name] for name in sorted(found))


def _of_component(said: ComponentAnnounced) -> ToolSpec:
    traits = said.traits
    provider = str(traits.get("provider", ""))
    return ToolSpec(
        name=said.name,
        description=str(traits.get("description", "")),
        parameters=_of_object(said.parameters),
        provider=provider,
        pack=str(traits.get("pack", provider)),
        effect=effect_of(traits.get("effect")),
    )


def _of_server(listing: ToolListed, tool: dict[str, Any]) -> ToolSpec:
    parameters = tool.get("parameters")
    return ToolSpec(
        name=f"{listing.server}.{tool.get('name', '')}",
        description=str(tool.get("description", "")),
        parameters=_of_object(parameters if isinstance(parameters, dict) else {}),
        provider=listing.provider,
        pack=listing.server,
        effect=effect_of(tool.get("effect")),
    )


def _of_object(schema: dict[str, Any]) -> dict[str, Any]:
    """*schema* with the type `object` at its top, where endpoints want it, not a reference."""
    reference = schema.get("$ref", "")
    definitions = schema.get("$defs", {})
    name = str(reference).removeprefix(_DEFS)
    if isinstance(definitions, dict) and isinstance(definitions.get(name), dict):
        top = dict(definitions[name])
        left = {n: d for n, d in definitions.items() if n != name or _names(definitions, name)}
        return {**top, "$defs": left} if left else top
    return {"type": "object", "properties": {}, **schema}


def _names(schema: Any, name: str) -> bool:
    """Whether something in *schema* refers to the definition *name*."""
    if isinstance(schema, dict):
        inside = any(_names(value, name) for value in schema.values())
        return inside or schema.get("$ref") == f"{_DEFS}{name}"
    return isinstance(schema, list) and any(_names(each, name) for each in schema)
