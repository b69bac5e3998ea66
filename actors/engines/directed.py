"""What people laid down, as it steers a prompt: its lines and its tools."""

from collections.abc import Sequence

import msgspec

from cortex.bus.events import ContextCompile
from cortex.runtime.directives import InForce, LaidDown, directive_about
from cortex.runtime.registry import ToolSpec


def laid_down_for(asked: ContextCompile) -> InForce:
    """What is in force for the prompt."""
    return InForce(directives=tuple(msgspec.convert(each, LaidDown) for each in asked.directives))


def lines_of(asked: ContextCompile) -> str:
    """The section of the prompt; "" if nothing is laid down."""
    return "\n".join(f"- {each.text}" for each in laid_down_for(asked).directives)


def offered(
    asked: ContextCompile, specs: Sequence[ToolSpec]
) -> tuple[tuple[ToolSpec, ...], tuple[str, ...], tuple[str, ...]]:
    """The tools that may be offered, the entries of `tools:` that may, and notes on the others."""
    prohibited = laid_down_for(asked).prohibited
    by_name = {spec.name: directive_about(spec.name, prohibited, spec.pack) for spec in specs}
    may = tuple(spec for spec in specs if by_name[spec.name] is None)
    by_entry = {
        each: directive_about(each, prohibited) or by_name.get(each) for each in asked.tools
    }
    entries = tuple(each for each, found in by_entry.items() if found is None)
    notes = tuple(
        f"the tool {each} is not offered: {found.quoted}"
        for each, found in by_entry.items()
        if found is not None
    )
    return may, entries, notes
