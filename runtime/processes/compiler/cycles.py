"""Finds cycles among processes that run or extend each other, and orders those without."""

from collections import deque
from collections.abc import Iterable, Mapping
from heapq import nsmallest

from ..diagnostics.diagnostics import did_you_mean
from ..linker.units import Unit, process_definition
from ..syntax.definitions import ProcessDefinition
from ..syntax.nodes import Reporter
from .stale import Key

MAX_SHOWN = 10  # of the names of a circle
MAX_LOOKED_AT = 200  # a circle of thousands would be walked once for each of its members


def on_circles(edges: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """Return the part of *edges* that forms cycles, without dead ends."""
    forward = {name: {each for each in targets if each in edges} for name, targets in edges.items()}
    backward: dict[str, set[str]] = {name: set() for name in forward}
    for name, targets in forward.items():
        for target in targets:
            backward[target].add(name)
    for ahead, behind in ((forward, backward), (backward, forward)):
        ends = [name for name, targets in ahead.items() if not targets]
        while ends:
            name = ends.pop()
            del ahead[name]
            for before in behind.pop(name):
                if before in ahead:
                    ahead[before].discard(name)
                    if not ahead[before]:
                        ends.append(before)
        left = set(ahead)  # as a set: two sets meet in the time of the smaller one
        for targets in behind.values():
            targets &= left
    return {name: frozenset(targets) for name, targets in forward.items()}


def path_from(name: str, edges: Mapping[str, frozenset[str]]) -> tuple[str, ...]:
    """Return a shortest path from *name* back to itself; empty if there is none.

    A path that is too long to be useful is cut by an ellipsis.
    """
    came_from: dict[str, str] = {}
    waiting = deque([name])
    while waiting and len(came_from) < MAX_LOOKED_AT:
        each = waiting.popleft()
        targets = edges.get(each, frozenset())
        if name in targets:
            path = [each]
            while path[-1] != name:
                path.append(came_from[path[-1]])
            return _cut((*reversed(path), name))
        for target in nsmallest(MAX_LOOKED_AT, targets):
            if target not in came_from:
                came_from[target] = each
                waiting.append(target)
    return (name, "...", name) if waiting else ()


def _cut(path: tuple[str, ...]) -> tuple[str, ...]:
    return path if len(path) <= MAX_SHOWN else (*path[: MAX_SHOWN - 2], "...", path[-1])


def runs_in_circles(
    current: Mapping[str, Unit], implementers: Mapping[str, tuple[str, ...]]
) -> dict[str, frozenset[str]]:
    """Return the cycles of calls; an interface counts as a caller of its implementations."""
    edges = {name: unit.children for name, unit in current.items() if not unit.is_interface}
    edges.update((name, frozenset(names)) for name, names in implementers.items())
    return on_circles(edges)


def link_order(units: Iterable[Unit], current: Mapping[str, Unit]) -> list[Unit]:
    """Return the processes, each after those that it runs and its parents, but in a circle."""
    found = [unit for unit in units if unit.resolved]
    found.sort(key=lambda unit: len(unit.resolved.chain) if unit.resolved else 0)
    ordered: dict[Key, Unit] = {}
    entered: set[str] = set()
    for unit in found:
        waiting: list[tuple[Unit, bool]] = [
            (unit, False)
        ]  # a unit, and whether its children are done
        while waiting:
            each, done = waiting.pop()
            if done:
                ordered.setdefault(each.key, each)
            elif each.name not in entered or each is unit:
                entered.add(each.name)
                waiting.append((each, True))
                needed = sorted((_needed(each) & current.keys()) - entered)
                waiting += [(current[name], False) for name in needed]
    return [unit for unit in ordered.values() if unit.resolved]


def _needed(unit: Unit) -> frozenset[str]:
    """What has to be linked before *unit*: its digest covers theirs."""
    parents = unit.resolved.chain[1:2] if unit.resolved else ()
    return unit.children.union(parents)


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
