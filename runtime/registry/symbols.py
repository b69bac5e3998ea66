"""What a process may name: the actions, gates and tools that a linker binds to, as one value."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from hashlib import sha256
from typing import Final

import msgspec

from .known_tools import KnownTools
from .specs import ActionSpec, GateSpec

TOOLS: Final = "tools"  # what a unit whose steps name tools uses: all of them, as packs change, too


class Symbols:
    """The actions, gates and tools that are there, each under one name; it never changes.

    Where two specifications have the same name the last one given is taken.
    """

    def __init__(
        self,
        actions: Iterable[ActionSpec] = (),
        gates: Iterable[GateSpec] = (),
        tools: KnownTools | None = None,  # None: nobody knows which there are
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
