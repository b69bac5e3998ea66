"""What a process may name: the actions, gates and tools that a linker binds to, as one value."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from hashlib import sha256
from typing import Final

import msgspec
from msgspec import Struct

from .specs import ActionSpec, GateSpec

TOOLS: Final = "tools"  # what a unit whose steps name tools uses: all of them, as packs change, too
ALL: Final = ".*"  # after the name of a pack: each of its tools
ENABLE: Final = "enable_pack"  # offered to every step that has a pack


class KnownTools(Struct, frozen=True, kw_only=True):
    """The names that a step's `tools:` may hold."""

    packs: dict[str, str] = {}  # the pack of each tool, by the tool's name
    skills: tuple[str, ...] = ()
    # Servers that have not said what they offer: it may be anything.
    servers: tuple[str, ...] = ()
    # Pack and digest of each tool's description by its name, and the digest of each skill's page.
    # Of a silent server these are the last that it listed: what a process was linked to does not
    # change as it comes and goes.
    prints: dict[str, tuple[str, str]] = {}

    def has(self, entry: str) -> bool:
        """Whether *entry* stands for something, as far as can be known."""
        pack = entry.removesuffix(ALL)
        if any(pack == each or entry.startswith(f"{each}.") for each in self.servers):
            return True
        if pack != entry:
            return pack in self.packs.values()
        named = entry in self.packs or entry in self.skills or entry == ENABLE
        return named or entry in self.packs.values()

    def names(self) -> Iterable[str]:
        """Every name, for "did you mean"."""
        every = (*self.packs, *self.packs.values(), *self.skills, *self.servers)
        return dict.fromkeys(filter(None, every))


class Symbols:
    """The actions, gates and tools that are there, each under one name; it never changes.

    Where two specifications have the same name the last one given is taken.
    """

    def __init__(
        self,
        actions: Iterable[ActionSpec] = (),
        gates: Iterable[GateSpec] = (),
        tools: KnownTools | None = None,  # None: the tools are unknown
    ) -> None:
        self.tools = tools
        self.actions: Mapping[str, ActionSpec] = {spec.name: spec for spec in actions}
        self.gates: Mapping[str, GateSpec] = {spec.name: spec for spec in gates}

    @cached_property
    def fingerprints(self) -> Mapping[str, str]:
        """A digest of each specification, under ``action:name`` and ``gate:name``."""
        prints = {f"action:{name}": digest_of(spec) for name, spec in self.actions.items()}
        prints.update((f"gate:{name}", digest_of(spec)) for name, spec in self.gates.items())
        prints[TOOLS] = digest_of(self.tools)
        return prints


def digest_of(value: object) -> str:
    """Return the sha256 of the canonical JSON of *value* (keys sorted)."""
    return sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()
