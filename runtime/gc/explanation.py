"""Why an object is in the heap, or why it went."""

from collections.abc import Iterator, Mapping
from typing import Literal

import numpy as np
from msgspec import Struct

from .collection import Buried
from .errors import ObjectUnknownError
from .generations import Slots, large, small
from .graph import COLLECTIBLE, PINNED, ROOT, Graph

Itself = Literal["root", "pinned", "not released"]
_SAID = {
    "root": "is in use (a root)",
    "pinned": "is pinned",
    "not released": "has not been released by its owner",
}


class Hop(Struct, frozen=True, kw_only=True):
    """An object on the path to another one."""

    id: str
    kind: str
    reference: str = ""  # the kind of the reference by which the hop before keeps it; "" at first


class Explanation(Struct, frozen=True, kw_only=True):
    """Why one object is there, or not; as text, in plain English."""

    id: str
    kind: str
    state: Literal["kept", "garbage", "collected"]
    generation: int  # that it is in, or was
    references: int = 0  # to it, that count now
    reason: str = ""  # for which its owner released it; "" if it did not
    because: Itself | None = None  # what keeps the first hop
    path: tuple[Hop, ...] = ()  # the shortest one, from what keeps itself to this object
    collection: int = 0  # that removed it
    looked_at: int = 0  # the generation that was collected

    def __str__(self) -> str:
        name, released = f"{self.id} ({self.kind})", f"its owner released it ({self.reason})"
        if self.state == "collected":
            return (
                f"{name} went with collection {self.collection}, of generation {self.looked_at}: "
                f"{released}, and nothing that stayed kept it. It can be restored."
            )
        if self.state == "garbage":
            when = (
                f"a collection of generation {self.generation}"
                if self.references
                else "the next collection"
            )
            return f"{name} goes with {when}: {released}, and nothing that stays keeps it."
        first = self.path[0]
        if len(self.path) == 1:
            return f"{name} stays: it {_SAID[self.because or 'root']}."
        steps = [
            f"{before.id} keeps {after.id} ({after.kind}) by `{after.reference}`"
            for before, after in zip(self.path, self.path[1:], strict=False)
        ]
        holder = f"{first.id} ({first.kind}) {_SAID[self.because or 'root']}"
        return f"{name} stays although {released}: {holder}. {'. '.join(steps)}."


def explained(graph: Graph, buried: Mapping[str, Buried], object_id: str) -> Explanation:
    """Why *object_id* is there, or went.

    Raises:
        ObjectUnknownError: It was never there, or is not remembered.
    """
    slot = graph.index.get(object_id, 0)
    if graph.flags[slot]:
        return _there(graph, slot)
    gone = buried.get(object_id)
    if gone is None:
        raise ObjectUnknownError(object_id)
    return Explanation(
        id=object_id,
        kind=gone.kind,
        state="collected",
        generation=gone.generation,
        reason=gone.reason,
        collection=gone.number,
        looked_at=gone.looked_at,
    )


def _there(graph: Graph, slot: int) -> Explanation:
    words = graph.words.words
    path = _path(graph, slot)
    hops = [Hop(id=graph.ids[at], kind=words[graph.kind[at]], reference=by) for at, by in path]
    return Explanation(
        id=graph.ids[slot],
        kind=words[graph.kind[slot]],
        state="kept" if path else "garbage",
        generation=graph.generation[slot],
        references=graph.count[slot],
        reason=words[graph.reason[slot]],
        because=_itself(graph.flags[path[0][0]]) if path else None,
        path=tuple(hops),
    )


def _itself(flags: int) -> Itself:
    return "root" if flags & ROOT else "pinned" if flags & PINNED else "not released"


def _path(graph: Graph, slot: int) -> list[tuple[int, str]]:
    """Slots with how each is kept, from one that keeps itself to *slot*; none if there is no path.

    Of several that are equally short, the first one by its ids.
    """
    after: dict[int, tuple[int, str]] = {slot: (0, "")}
    frontier = [slot]
    keepers = _Keepers(graph) if graph.flags[slot] == COLLECTIBLE else None
    while frontier:
        strong = [each for each in frontier if graph.flags[each] != COLLECTIBLE]
        if strong or keepers is None:
            return list(_walked(after, strong[0]))
        found: dict[int, tuple[int, str]] = {}
        for at in frontier:
            for keeper, reference in keepers.of(at):
                if keeper not in after:
                    found.setdefault(keeper, (at, reference))
        after |= found
        frontier = sorted(found, key=graph.ids.__getitem__)
    return []


def _walked(after: Mapping[int, tuple[int, str]], first: int) -> Iterator[tuple[int, str]]:
    at, reference = first, ""
    while at:
        yield at, reference
        at, reference = after[at]


class _Keepers:
    """Who keeps each object: the arcs that count now, sorted by their target."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        source, reference = large(graph.source), large(graph.reference)
        flags = small(graph.flags)[source]
        held = np.isin(reference, sorted(graph.while_pinned)) & (flags & PINNED == 0)
        arcs = np.flatnonzero((source != 0) & (flags != 0) & ~held)
        targets = large(graph.target)[arcs]
        order = np.argsort(targets, kind="stable")
        self._arcs: Slots = arcs[order]
        self._targets = targets[order]

    def of(self, slot: int) -> list[tuple[int, str]]:
        """Slots of who keeps *slot*, and how, sorted by their ids."""
        graph, words = self._graph, self._graph.words.words
        span = slice(*np.searchsorted(self._targets, [slot, slot + 1]))
        found = [
            (graph.source[int(arc)], words[graph.reference[int(arc)]]) for arc in self._arcs[span]
        ]
        return sorted(found, key=lambda each: (graph.ids[each[0]], each[1]))
