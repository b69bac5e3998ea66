"""The `tools:` of a step, and whether each named tool exists.

A declared tool is a promise: its model is not asked without it. A tool that is not offered is an
error when the process is linked; one that is missing when the step begins delays it, then fails
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
    """The entries that the step requires; unset if it has none.

    A skill is a file of the home, so it is never missing temporarily.
    """
    optional = {use.name for use in definition.tools if use.optional}
    named = (name for name in names_of(definition) if name not in optional)
    promised = tuple(name for name in named if name != ENABLE and name not in known.skills)
    return promised or UNSET


def described_by(
    definition: StepDefinition, known: KnownTools
) -> tuple[tuple[str, str], ...] | UnsetType:
    """Digests of the named tools, by name; unset if none is known."""
    entries = names_of(definition)
    packs = {entry.removesuffix(ALL) for entry in entries}
    found = (
        (name, digest)
        for name, (pack, digest) in sorted(known.prints.items())
        if name in entries or pack in packs
    )
    return tuple(found) or UNSET
