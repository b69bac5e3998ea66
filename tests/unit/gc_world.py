"""A heap beside a naive model of it, which traces everything; and what is done to both."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from hypothesis import strategies as st

from cortex.runtime.gc import Collection, Heap, HeapPolicy

IDS = tuple("abcdef")
REFERENCES = ("refers", "led_to", "member", "supersedes")
VERBS = (
    *("allocate", "restore", "refer", "refer", "unrefer", "unrefer", "release", "release"),
    *("retain", "root", "unroot", "pin", "unpin", "touch", "record", "record"),
    *("slice",) * 12,
)
SMALL = HeapPolicy(listed=2, remembered=5, survived=(1, 2), uses=2)  # parts, and short memories

Arc = tuple[str, str, str]  # who keeps, who is kept, the kind of the reference


def collect(heap: Heap, generation: int, budget: int = 2_000) -> list[Collection]:
    """A whole collection, each part applied as soon as it is there."""
    heap.begin(generation)
    found = []
    while heap.collecting is not None:
        part = heap.step(budget)
        if part:
            heap.evolve(part)
            found.append(part)
    return found


def ids_of(collections: Iterable[Collection]) -> list[str]:
    return [each for collection in collections for each in collection.collected]


class Model:
    """Sets and a trace from scratch: what a heap has to agree with."""

    def __init__(self) -> None:
        self.present: set[str] = set()
        self.roots: set[str] = set()
        self.pinned: set[str] = set()
        self.released: set[str] = set()
        self.arcs: Counter[Arc] = Counter()
        self.buried: dict[str, Counter[Arc]] = {}

    @staticmethod
    def arc(source: str, target: str, reference: str) -> Arc | None:
        if reference == "supersedes":
            return None
        if reference == "led_to":
            source, target = target, source
        return (source, target, reference)

    def counting(self) -> Counter[Arc]:
        """The arcs that keep something now."""
        return Counter(
            {
                (keeper, kept, kind): times
                for (keeper, kept, kind), times in self.arcs.items()
                if keeper in self.present and (kind != "member" or keeper in self.pinned)
            }
        )

    def count(self, kept: str) -> int:
        return sum(times for (_, target, _), times in self.counting().items() if target == kept)

    def reachable(self) -> set[str]:
        return self.closure(
            self.present & (self.roots | self.pinned | self.present - self.released)
        )

    def closure(self, start: Iterable[str]) -> set[str]:
        arcs = list(self.counting())
        found = set(start)
        while more := {t for s, t, _ in arcs if s in found and t in self.present} - found:
            found |= more
        return found

    def remove(self, gone: str) -> None:
        for kept in (self.present, self.roots, self.pinned, self.released):
            kept.discard(gone)
        self.buried.pop(gone, None)
        self.buried[gone] = Counter({a: times for a, times in self.arcs.items() if a[0] == gone})
        for arc in self.buried[gone]:
            del self.arcs[arc]
        while len(self.buried) > SMALL.remembered:
            del self.buried[next(iter(self.buried))]


class Step(NamedTuple):
    """One thing that is done; what does not apply is passed over."""

    verb: str
    one: str = "a"
    other: str = "b"
    reference: str = "refers"
    number: int = 0


class World:
    """A heap, its model, and the journal of what was recorded."""

    def __init__(self) -> None:
        self.heap = Heap(SMALL)
        self.model = Model()
        self.journal: list[Callable[[Heap], Any]] = []
        self.unrecorded: Collection | None = None  # made, and not recorded yet
        self.collections: list[Collection] = []

    def does(self, step: Step) -> None:
        getattr(self, f"_{step.verb}")(step)

    def finish(self) -> None:
        """Whatever goes on comes to its end."""
        while self.heap.collecting is not None:
            self._slice(Step("slice", number=50))
            self._record(Step("record"))

    def record(self, call: Callable[[Heap], Any]) -> Any:
        self.journal.append(call)
        return call(self.heap)

    def replayed(self) -> Heap:
        heap = Heap(SMALL)
        for call in self.journal:
            call(heap)
        return heap

    def _allocate(self, step: Step) -> None:
        model, one = self.model, step.one
        if one in model.present:
            return
        references = [(step.other, step.reference)]
        self.record(lambda heap: heap.allocate(one, "node", references, 10))
        model.present.add(one)
        model.buried.pop(one, None)
        if arc := model.arc(one, step.other, step.reference):
            model.arcs[arc] += 1

    def _refer(self, step: Step) -> None:
        self.record(lambda heap: heap.refer(step.one, step.other, step.reference))
        if arc := self.model.arc(step.one, step.other, step.reference):
            self.model.arcs[arc] += 1

    def _unrefer(self, step: Step) -> None:
        there = self.record(lambda heap: heap.unrefer(step.one, step.other, step.reference))
        arc = self.model.arc(step.one, step.other, step.reference)
        assert there == (arc is not None and self.model.arcs[arc] > 0)
        if arc and there:
            self.model.arcs[arc] -= 1
            if not self.model.arcs[arc]:
                del self.model.arcs[arc]

    def _marks(self, step: Step, verb: str, marks: set[str], *, added: bool) -> None:
        if step.one not in self.model.present:
            return
        given = (step.one, "superseded") if verb == "release" else (step.one,)
        self.record(lambda heap: getattr(heap, verb)(*given))
        (marks.add if added else marks.discard)(step.one)

    def _root(self, step: Step) -> None:
        self._marks(step, "root", self.model.roots, added=True)

    def _unroot(self, step: Step) -> None:
        self._marks(step, "unroot", self.model.roots, added=False)

    def _pin(self, step: Step) -> None:
        self._marks(step, "pin", self.model.pinned, added=True)

    def _unpin(self, step: Step) -> None:
        self._marks(step, "unpin", self.model.pinned, added=False)

    def _release(self, step: Step) -> None:
        self._marks(step, "release", self.model.released, added=True)

    def _retain(self, step: Step) -> None:
        self._marks(step, "retain", self.model.released, added=False)

    def _touch(self, step: Step) -> None:
        self._marks(step, "touch", set(), added=True)

    def _restore(self, step: Step) -> None:
        if step.one in self.model.buried:
            self.record(lambda heap: heap.restore(step.one))
            self.model.present.add(step.one)
            self.model.arcs += self.model.buried.pop(step.one)

    def _slice(self, step: Step) -> None:
        if self.heap.collecting is None:
            self.heap.begin(step.number % 3)
        self.unrecorded = self.heap.step(step.number + 1) or self.unrecorded

    def _record(self, step: Step) -> None:
        """Nothing that is kept now goes, however long ago the collection was made."""
        if collection := self.unrecorded:
            self.unrecorded = None
            self.collections.append(collection)
            kept = self.model.reachable()
            gone = self.record(lambda heap: heap.evolve(collection))
            assert not kept & set(gone)
            for each in gone:
                self.model.remove(each)


def steps() -> st.SearchStrategy[list[Step]]:
    """All objects come, most of them released; then anything, slices above all."""
    references = st.sampled_from(REFERENCES)
    id_ = st.sampled_from(IDS)
    coming = st.tuples(id_, references, st.sampled_from(("release", "release", "release", "touch")))
    any_step = st.builds(Step, st.sampled_from(VERBS), id_, id_, references, st.integers(0, 5))
    return st.builds(
        lambda order, come, then: [*_arrivals(order, come), *then],
        st.permutations(IDS),
        st.lists(coming, min_size=len(IDS), max_size=len(IDS)),
        st.lists(any_step, max_size=80),
    )


def _arrivals(order: list[str], come: list[tuple[str, str, str]]) -> Iterator[Step]:
    for one, (other, reference, verb) in zip(order, come, strict=True):
        yield Step("allocate", one, other, reference)
        yield Step(verb, one)
