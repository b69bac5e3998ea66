"""Who extends whom, and who would extend itself."""

from collections.abc import Mapping

from .cycles import on_circles, path_from
from .definitions import ProcessDefinition
from .nodes import Reporter
from .suggest import did_you_mean
from .units import Unit, process_definition


class Lineage:
    """The parents among a set of units."""

    def __init__(self, current: Mapping[str, Unit]) -> None:
        self._processes = {name: unit for name, unit in current.items() if not unit.is_interface}
        parents: dict[str, frozenset[str]] = {}
        for name, unit in self._processes.items():
            definition = process_definition(unit)
            parent = definition.extends if definition else None
            parents[name] = frozenset([parent] if parent else [])
        self._circles = on_circles(parents)

    def parent_of(self, unit: Unit) -> Unit | None:
        """Return the parent of *unit*; None if it has none, or none that it can have."""
        definition = process_definition(unit)
        if definition is None or definition.extends is None or self._is_circular(definition):
            return None
        return self._processes.get(definition.extends)

    def check(self, definition: ProcessDefinition, reporter: Reporter) -> None:
        """Report a parent that *definition* names and cannot have."""
        parent, place = definition.extends, definition.node.at("extends")
        if parent is None:
            return
        if self._is_circular(definition):
            circle = path_from(definition.name, self._circles) or (definition.name, parent)
            reporter.report("P302", " extends ".join(f"`{name}`" for name in circle), place)
        elif parent not in self._processes:
            remedy = did_you_mean(parent, self._processes, "correct the name or add the parent")
            reporter.report("P301", f"there is no process `{parent}`", place, remedy=remedy)

    def _is_circular(self, definition: ProcessDefinition) -> bool:
        return definition.extends == definition.name or definition.name in self._circles
