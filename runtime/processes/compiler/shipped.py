"""Renames a shipped process if a user's process has its name.

A user's process may have the name, and the version, of a shipped one. It replaces the shipped one
in the user's processes; the shipped one becomes `library/NAME`, and other shipped processes keep
referring to that.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec.structs import replace

from ..syntax.definitions import Definition, InterfaceDefinition, StepDefinition
from .parse import Parsed, parse

SHIPPED: Final = "library/"  # begins the names of shipped files, and of what gave way to a user's


def is_shipped(file: str) -> bool:
    """Whether the source *file* comes with Cortex."""
    return file.startswith(SHIPPED)


def give_way(files: Mapping[str, Parsed]) -> dict[str, Parsed]:
    """Return *files*, in which what is shipped goes by another name where a user's has its own.

    A file for which nothing changed is returned as it came, so that nothing is compiled again.
    """
    own = _names(parsed for file, parsed in files.items() if not is_shipped(file))
    shipped = _names(parsed for file, parsed in files.items() if is_shipped(file))
    taken = frozenset(own & {name.removeprefix(SHIPPED) for name in shipped})
    return {
        file: parsed
        if not is_shipped(file) or parsed.renamed == taken
        else _renamed(parse(parsed.text, file), taken)
        for file, parsed in files.items()
    }


def _names(files: Iterable[Parsed]) -> set[str]:
    return {definition.name for parsed in files for definition in parsed.definitions}


def _renamed(parsed: Parsed, taken: frozenset[str]) -> Parsed:
    definitions = tuple(_other_names(each, taken) for each in parsed.definitions)
    return replace(parsed, definitions=definitions, renamed=taken)


def _other_names(definition: Definition, taken: frozenset[str]) -> Definition:
    def named(name: str) -> str:
        return f"{SHIPPED}{name}" if name in taken else name

    if isinstance(definition, InterfaceDefinition):
        extended = [named(name) for name in definition.extends]
        return replace(definition, name=named(definition.name), extends=extended)
    for step in definition.steps:
        if isinstance(step, StepDefinition):
            step.process = named(step.process) if step.process else step.process
            failure = step.on_failure
            if failure and failure.policy == "process":
                failure.target = named(failure.target)
    return replace(
        definition,
        name=named(definition.name),
        extends=named(definition.extends) if definition.extends else None,
        implements=[named(name) for name in definition.implements],
    )
