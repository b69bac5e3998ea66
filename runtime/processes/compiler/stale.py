"""Finds the units to compile again: changed ones, and their users."""

from collections.abc import Iterable, Mapping

from cortex.bus.events import ProcessCompiled

from ..linker.units import Unit, current_units
from ..linker.world import World
from ..syntax.fixes import set_version
from ..syntax.nodes import Reporter, line_of
from .compilation import Compilation
from .shipped import is_shipped

Key = tuple[str, int]


def changed_since(previous: Compilation, current: Iterable[Unit], world: World) -> set[str]:
    """Return what differs from *previous*, named as units name it in ``uses``."""
    before = {unit.subject: unit for unit in current_units(previous.units.values()).values()}
    now = {unit.subject: unit for unit in current}
    changed = {key for key in before.keys() | now.keys() if before.get(key) is not now.get(key)}
    old, new = previous.symbols.fingerprints, world.symbols.fingerprints
    changed |= {key for key in old.keys() | new.keys() if old.get(key) != new.get(key)}
    changed |= {
        f"topic:{name}"
        for name, resolution in previous.resolutions.items()
        if world.topic(name) != resolution
    }
    return changed


def stale_units(
    units: Iterable[Unit], changed: Iterable[str], standings: Mapping[Key, tuple[str, str]]
) -> set[Key]:
    """Return the units that are new, had errors, or used, through others too, what *changed*."""
    users: dict[str, list[Unit]] = {}
    waiting: list[Unit] = []
    for unit in units:
        for key in unit.uses:
            users.setdefault(key, []).append(unit)
        if unit.linked is None or unit.standing != standings.get(unit.key):
            waiting.append(unit)
    waiting += [unit for key in changed for unit in users.get(key, ())]
    stale: set[Key] = set()
    while waiting:
        unit = waiting.pop()
        if unit.key not in stale:
            stale.add(unit.key)
            waiting += users.get(unit.subject, ())
            for interface in unit.resolved.implements if unit.resolved else ():
                waiting += users.get(f"implementers:{interface}", ())
    return stale


def standings_of(
    units: Iterable[Unit], current: Mapping[str, Unit], known: Mapping[tuple[str, int], str]
) -> dict[Key, tuple[str, str]]:
    """Return what speaks against the name or version of a unit, as code and message."""
    standings: dict[Key, tuple[str, str]] = {}
    first: dict[tuple[str, int], Unit] = {}
    for unit in units:
        definition = unit.definition
        version = (definition.name, definition.version)
        digest = known.get(version)
        if current[unit.name].is_interface != unit.is_interface:
            standings[unit.key] = ("P313", f"`{unit.name}` is both a process and an interface")
        elif version in first:
            where = f"{first[version].key[0]}:{line_of(first[version].definition.node.start) + 1}"
            message = f"version {version[1]} of `{version[0]}` is defined in {where} already"
            standings[unit.key] = ("P502", message)
        # A shipped one changes with Cortex, and its version may have been a user's meanwhile.
        elif digest not in (None, definition.source_digest) and not is_shipped(unit.key[0]):
            message = f"version {version[1]} of `{version[0]}` was compiled from another source"
            standings[unit.key] = ("P501", message)
        first.setdefault(version, unit)
    return standings


def known_sources(compiled: Iterable[ProcessCompiled]) -> dict[tuple[str, int], str]:
    """Return the source digest of each (name, version) in *compiled*, as a compilation asks for it.

    Those that come with Cortex do not count: a user's may have the same name and version.

    Older logs hold an interface's linked digest in place of that of its source. It cannot be
    compared with a source, so that such an interface counts as not compiled yet.
    """
    return {
        (event.name, event.process_version): event.source_digest
        for event in compiled
        if event.source_digest != event.digest and not is_shipped(event.file)
    }


def highest_versions(units: Iterable[Unit], known: Mapping[tuple[str, int], str]) -> dict[str, int]:
    """Return the highest version of each name that there is or ever was."""
    highest: dict[str, int] = {}
    versions = [(unit.name, unit.definition.version) for unit in units]
    for name, version in (*versions, *known):
        highest[name] = max(version, highest.get(name, 0))
    return highest


def report_standing(unit: Unit, highest: Mapping[str, int], reporter: Reporter) -> None:
    """Report what speaks against the name or version of *unit*, if anything does."""
    if unit.standing is None:
        return
    code, message = unit.standing
    node = unit.definition.node
    if code == "P313":
        reporter.report(code, message, node.at("interface" if unit.is_interface else "process"))
        return
    version = highest[unit.name] + 1
    remedy, fix = f"write `version: {version}`", set_version(node, version)
    reporter.report(code, message, node.at("version"), remedy=remedy, fix=fix)
