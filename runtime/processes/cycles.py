"""Circles in what runs what."""

from collections import deque
from collections.abc import Mapping
from heapq import nsmallest

MAX_SHOWN = 10  # of the names of a circle
MAX_LOOKED_AT = 200  # a circle of thousands would be walked once for each of its members


def on_circles(edges: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """Return the part of *edges* that circles are made of: whatever has an end is taken away."""
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
    """Return a shortest way from *name* round to itself; empty if there is none.

    A way that is too long to be of use to anybody is cut short by an ellipsis.
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
