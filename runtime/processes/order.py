"""In which order units are linked, and who would run itself."""

from collections.abc import Iterable, Mapping

from .cycles import on_circles
from .stale import Key
from .units import Unit


def runs_in_circles(
    current: Mapping[str, Unit], implementers: Mapping[str, tuple[str, ...]]
) -> dict[str, frozenset[str]]:
    """Return the circles in what runs what; an interface runs whatever implements it."""
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
