"""What of a recorded collection may still go, after other events came between it and its record."""

from collections.abc import Iterable

from .graph import COLLECTIBLE, Graph


def still_garbage(graph: Graph, ids: Iterable[str], *, raced: bool) -> list[int]:
    """The slots of those of *ids* that are not kept, in their order.

    Args:
        graph: Of the heap.
        ids: What was garbage when the collection was made.
        raced: Whether something that may go was kept again since. Then everything stays that an
            object outside of the list refers to: where that one is garbage of another part, it
            goes with a later collection.
    """
    slots = [graph.index.get(each, 0) for each in ids]
    listed = dict.fromkeys(slot for slot in slots if graph.flags[slot] == COLLECTIBLE)
    if raced:
        for slot in _kept(graph, listed):
            del listed[slot]
    return list(listed)


def _kept(graph: Graph, listed: dict[int, None]) -> set[int]:
    """What of *listed* others refer to, and what that keeps of it."""
    outside = {slot: graph.count[slot] for slot in listed}
    for target in (each for slot in listed for each in _kept_by(graph, slot)):
        if target in outside:
            outside[target] -= 1
    found = [slot for slot, count in outside.items() if count]
    kept = set(found)
    while found:
        for target in _kept_by(graph, found.pop()):
            if target in listed and target not in kept:
                kept.add(target)
                found.append(target)
    return kept


def _kept_by(graph: Graph, slot: int) -> Iterable[int]:
    return (graph.target[arc] for arc in graph.arcs(slot) if graph.keeps(arc))
