"""Which tools there are to name; beside the registry, so that reading one needs no parser."""

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

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
