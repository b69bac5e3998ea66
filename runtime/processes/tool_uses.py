"""The `tools:` of a step: what it names, and whether there is something under each name.

A tool that a step declares is a promise: its model is not asked without it. What nobody offers is
an error when the process is linked; what is missing when the step begins holds it, and then fails
it. An entry `{name: x, optional: true}` promises nothing.
"""

from collections.abc import Iterable
from typing import Final

from msgspec import UNSET, Struct, UnsetType

from .definitions import StepDefinition, ToolUse
from .forms import Boolean, Key, ListOf, OneOf, Record
from .nodes import MappingNode, Node, Reporter
from .readers import TOOL

ALL: Final = ".*"  # after the name of a pack: each of its tools
ENABLE: Final = "enable_pack"  # offered to every step that has a pack

_USE = Record(
    "a tool",
    ToolUse,
    {
        "name": Key(TOOL, "a tool, a pack, all of a pack (`pack.*`) or a skill", required=True),
        "optional": Key(Boolean(), "whether the step goes on where nobody offers it"),
    },
)


def _read_use(node: Node, reporter: Reporter, label: str) -> ToolUse | None:
    if isinstance(node, MappingNode):
        use: ToolUse | None = _USE.read(node, reporter, label)
        return use
    name = TOOL.read(node, reporter, label)
    return ToolUse(name=name, node=node) if name else None


TOOLS = ListOf(OneOf(_read_use, (TOOL.schema, _USE.schema)))


class KnownTools(Struct, frozen=True, kw_only=True):
    """The names that a step's `tools:` may hold."""

    packs: dict[str, str] = {}  # the pack of each tool, by the tool's name
    skills: tuple[str, ...] = ()
    # Servers that have not said what they offer: it may be anything.
    servers: tuple[str, ...] = ()
    # Pack and digest of each tool's description, by its name. Of a silent server these are the
    # last that it listed: what a process was linked to does not change as it comes and goes.
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


def names_of(definition: StepDefinition) -> tuple[str, ...]:
    """The names under `tools:`, each once."""
    return tuple(dict.fromkeys(use.name for use in definition.tools))


def promised_by(definition: StepDefinition, known: KnownTools) -> tuple[str, ...] | UnsetType:
    """The entries without which the step is not carried out; unset where it has none.

    A skill stands in the home's own files, and is never missing for a while only.
    """
    optional = {use.name for use in definition.tools if use.optional}
    named = (name for name in names_of(definition) if name not in optional)
    promised = tuple(name for name in named if name != ENABLE and name not in known.skills)
    return promised or UNSET


def described_by(
    definition: StepDefinition, known: KnownTools
) -> tuple[tuple[str, str], ...] | UnsetType:
    """Digests of the tools that the entries stand for, by name; unset where none is known."""
    entries = names_of(definition)
    packs = {entry.removesuffix(ALL) for entry in entries}
    found = (
        (name, digest)
        for name, (pack, digest) in sorted(known.prints.items())
        if name in entries or pack in packs
    )
    return tuple(found) or UNSET
