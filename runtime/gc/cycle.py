"""One collection, in slices: which candidates are kept, and the sorted ids of those that are not.

The candidates are what their owners released, in the generations that are collected. Everything
else stays, and nobody has to walk over it: its references are in the count of each candidate.

1. *gather* the candidates: they are `NEW`.
2. *count*: subtract from each candidate's count the references from candidates, which become
   `WHITE`. What is left over comes from roots and from older generations.
3. *mark*: a candidate with something left over is `GREY`, and so is what a `GREY` one keeps; one
   whose references were followed is `BLACK`.
4. *sweep*: a `WHITE` one is garbage. Ids are sorted in runs, and the runs merged, so that no slice
   sorts them all.
5. *list* them, in parts that fit into an event. A part is handed out until it is recorded.

Whatever changes the graph between two slices shades a candidate that gains a reference, or that is
kept by itself from now on (`Graph.shade`). So a `WHITE` one is garbage at any moment of *sweep* and
*list* at which no `GREY` one waits.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator
from heapq import merge
from typing import Final, Literal

from .generations import candidates
from .graph import BLACK, GREY, NEW, WHITE, Graph

Phase = Literal["gather", "count", "mark", "sweep", "list", "record"]

SCANNED: Final = 1 << 17  # slots of a column that are looked at together: 0.3 ms
SCAN_COST: Final = 256  # what that takes of a budget
SORTED: Final = 2_048  # ids in a run: 1 ms to sort


class Cycle:
    """The state of a collection that goes on."""

    def __init__(self, graph: Graph, generation: int, listed: int) -> None:
        graph.begin_marks()
        self.generation = generation
        self.phase: Phase = "gather"
        self.part: list[str] = []  # ids that wait for their record
        self.candidates = array("I")
        self._graph = graph
        self._listed = listed
        self._end = len(graph.flags)  # slots beyond are of objects that came later
        self._at = 0  # of the slots, and then of the candidates
        self._run: list[str] = []
        self._runs: list[list[str]] = []  # sorted backwards
        self._garbage: Iterator[str] = iter(())
        self._following: str | None = None  # the first id of the next part
        self._phases: dict[Phase, Callable[[int], int]] = {
            "gather": self._gather,
            "count": self._count,
            "mark": self._mark,
            "sweep": self._sweep,
            "list": self._list,
        }

    @property
    def more(self) -> bool:
        """Whether another part follows the one that waits."""
        return self._following is not None

    def step(self, budget: int) -> bool:
        """Look at *budget* objects and references, or a few more; whether a part is ready."""
        while budget > 0:
            if self.phase != "record":
                budget = self._phases[self.phase](budget)
                continue
            budget = self._follow(budget)
            if self._graph.grey:
                return False
            self.part = [each for each in self.part if self._is_garbage(each)]
            if self.part or not self.more:
                return True
            self.phase = "list"
        return False

    def recorded(self, ids: Iterable[str]) -> None:
        """A part with these *ids* was recorded: go on behind it."""
        listed = frozenset(ids)
        self.part = [each for each in self.part if each not in listed]
        if self.phase == "record" and not self.part:
            self.phase = "list"

    def _is_garbage(self, object_id: str) -> bool:
        slot = self._graph.index.get(object_id)
        return slot is not None and self._graph.colour[slot] == WHITE

    def _gather(self, budget: int) -> int:
        end = min(self._at + SCANNED, self._end)
        self.candidates += candidates(self._graph, self.generation, self._at, end)
        self._at = end
        if end == self._end:
            self._go_on("count")
        return budget - SCAN_COST

    def _count(self, budget: int) -> int:
        graph, colour, internal = self._graph, self._graph.colour, self._graph.internal
        following, targets = graph.next, graph.target
        for slot in self._next_candidates():
            arc = 0
            if colour[slot] == NEW:  # the references of a shaded one are not subtracted: it stays
                colour[slot] = WHITE
                arc = graph.first[slot]
            while arc:
                if colour[targets[arc]] and graph.reference[arc] not in graph.while_pinned:
                    internal[targets[arc]] += 1
                arc = following[arc]
                budget -= 1
            budget -= 1
            if budget <= 0:
                return budget
        self._go_on("mark")
        return budget

    def _mark(self, budget: int) -> int:
        graph, colour = self._graph, self._graph.colour
        budget = self._follow(budget)
        for slot in self._next_candidates() if budget > 0 else ():
            budget -= 1
            if colour[slot] == WHITE and graph.count[slot] > graph.internal[slot]:
                graph.shade(slot)
                budget = self._follow(budget)
            if budget <= 0:
                return budget
        if budget > 0:
            self._go_on("sweep")
        return budget

    def _sweep(self, budget: int) -> int:
        budget = self._follow(budget)
        for slot in self._next_candidates() if budget > 0 else ():
            budget -= 1
            if self._graph.colour[slot] == WHITE:
                self._run.append(self._graph.ids[slot])
                if len(self._run) == SORTED:
                    self._end_run()
            if budget <= 0:
                return budget
        if budget > 0:
            self._end_run()
            self._garbage = merge(*map(_drained, self._runs))
            self._following = next(self._garbage, None)
            self._go_on("list")
        return budget

    def _end_run(self) -> None:
        self._runs.append(sorted(self._run, reverse=True))
        self._run.clear()

    def _list(self, budget: int) -> int:
        budget = self._follow(budget)
        while budget > 0 and self._following is not None and len(self.part) < self._listed:
            if self._is_garbage(self._following):
                self.part.append(self._following)
            self._following = next(self._garbage, None)
            budget -= 1
        if budget > 0:
            self.phase = "record"
        return budget

    def _follow(self, budget: int) -> int:
        """Follow the references of shaded candidates; what is left of *budget*."""
        graph, colour, grey = self._graph, self._graph.colour, self._graph.grey
        while grey and budget > 0:
            slot = grey.pop()
            budget -= 1
            if colour[slot] != GREY:
                continue  # it was removed
            colour[slot] = BLACK
            arc = graph.first[slot]
            while arc:
                # Where it was pinned since, its members were shaded by that.
                if graph.reference[arc] not in graph.while_pinned:
                    graph.shade(graph.target[arc])
                arc = graph.next[arc]
                budget -= 1
        return budget

    def _next_candidates(self) -> Iterator[int]:
        """The candidates from where the last slice ended."""
        while self._at < len(self.candidates):
            self._at += 1
            yield self.candidates[self._at - 1]

    def _go_on(self, phase: Phase) -> None:
        self.phase, self._at = phase, 0


def _drained(run: list[str]) -> Iterator[str]:
    """The ids of *run* from its end; what is taken is freed at once, not all at the last part."""
    while run:
        yield run.pop()
