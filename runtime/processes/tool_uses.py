"""The `tools:` of a step: what it names, and whether there is something under each name.

A tool that a step declares is a promise: its model is not asked without it. What nobody offers is
an error when the process is linked; what is missing when the step begins holds it, and then fails
it. An entry `{name: x, optional: true}` promises nothing.
"""

from msgspec import UNSET, UnsetType

from cortex.runtime.registry import ALL, ENABLE, KnownTools

from .definitions import StepDefinition, ToolUse
from .forms import Boolean, Key, ListOf, MapForm, OneOf
from .nodes import MappingNode, Node, Reporter
from .readers import TOOL

_USE = MapForm(
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
