"""The heap: what objects there are, who keeps whom, and what a recorded collection removed.

A fold of events: equal calls in equal order give equal heaps, with equal digests. A running
collection (`begin`, `step`) only reads it; what it found is recorded by the owner of the heap and
comes back as `evolve`, live and on replay alike. There is no clock here.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256

import msgspec

from .collection import Buried, Collection
from .cycle import Cycle
from .errors import (
    CollectionOrderError,
    CollectionRunningError,
    ObjectExistsError,
    ObjectUnknownError,
)
from .explanation import Explanation, explained
from .generations import OLDEST, GenerationSize, grow_older, sizes, survivors
from .graph import RELEASED, ROOT, Graph
from .policy import REFERS, HeapPolicy, Keeps, ObjectKind
from .rescue import still_garbage
from .schedule import Counts, due

_ENCODE = msgspec.msgpack.Encoder().encode
_DECODE = msgspec.msgpack.Decoder(list[tuple[str, str]]).decode
MAX_USES = 255
STEP = 2_000  # objects and references that a slice looks at, unless it is told otherwise: 1 ms


class Heap:
    """Objects by id, in three generations.

    An object is kept by itself until its owner releases it. It may be collected when it is
    released, neither a root nor pinned, and no object that is kept refers to it.
    """

    def __init__(self, policy: HeapPolicy | None = None) -> None:
        self.policy = policy or HeapPolicy()
        self.counts = Counts()
        self._graph = Graph()
        self._graph.while_pinned = {
            self._graph.words.code(kind)
            for kind, keeps in sorted(self.policy.keeps.items())
            if keeps == "while_pinned"
        }
        self._buried: OrderedDict[str, Buried] = OrderedDict()  # the oldest first
        self._cycle: Cycle | None = None

    def __contains__(self, item: object) -> bool:
        slot = self._graph.index.get(item) if isinstance(item, str) else None
        return slot is not None and self._graph.flags[slot] != 0

    def __iter__(self) -> Iterator[str]:
        """The ids of all objects, sorted."""
        return iter(sorted(each for each in self._graph.index if each in self))

    def __len__(self) -> int:
        return sum(size.objects for size in self.sizes())

    def allocate(
        self,
        object_id: str,
        kind: ObjectKind,
        references: Iterable[str | tuple[str, str]] = (),
        weight: int = 0,
    ) -> None:
        """A new object of generation 0.

        Args:
            object_id: Its id; it may be known already from a reference.
            kind: What it is.
            references: Ids that it refers to, or pairs of an id and the kind of the reference.
            weight: Its size in bytes.

        Raises:
            ObjectExistsError: There is such an object.
        """
        self._comes(object_id, kind, weight)
        self._buried.pop(object_id, None)
        for each in references:
            target, reference = (each, REFERS) if isinstance(each, str) else each
            self.refer(object_id, target, reference)

    def refer(self, source: str, target: str, reference: str = REFERS) -> None:
        """One more reference; each of the two may come later."""
        keeps, graph = self._keeps(reference), self._graph
        if keeps != "nothing":
            ends = (graph.slot(source), graph.slot(target))
            keeper, kept = reversed(ends) if keeps == "source" else ends
            graph.link(keeper, kept, graph.words.code(reference))

    def unrefer(self, source: str, target: str, reference: str = REFERS) -> bool:
        """Whether there was such a reference, of which there is one less now."""
        ends = [self._graph.index.get(each) for each in (source, target)]
        if self._keeps(reference) == "source":
            ends.reverse()
        keeper, kept = ends
        if keeper is None or kept is None:
            return False
        return self._graph.unlink(keeper, kept, self._graph.words.code(reference))

    def root(self, object_id: str) -> None:
        """It is in use: a running execution, a cached process."""
        self._graph.strengthen(self._slot(object_id), gained=ROOT)

    def unroot(self, object_id: str) -> None:
        """It is no longer in use."""
        self._graph.flags[self._slot(object_id)] &= ~ROOT

    def pin(self, object_id: str) -> None:
        """Keep it, whatever its owner says, and what it refers to; it moves to generation 2."""
        slot = self._slot(object_id)
        self._graph.pin(slot)
        self._graph.generation[slot], self._graph.age[slot] = OLDEST, 0

    def unpin(self, object_id: str) -> None:
        """Keep it no longer for that; it stays in its generation."""
        self._graph.unpin(self._slot(object_id))

    def touch(self, object_id: str) -> None:
        """It was used; from `uses` of the policy on it leaves generation 0."""
        graph, slot = self._graph, self._slot(object_id)
        graph.uses[slot] = min(graph.uses[slot] + 1, MAX_USES)
        if graph.generation[slot] == 0 and graph.uses[slot] >= self.policy.uses:
            graph.generation[slot], graph.age[slot] = 1, 0

    def release(self, object_id: str, reason: str) -> None:
        """Its owner no longer needs it, for a *reason* of a word: it may go if nothing keeps it."""
        slot = self._slot(object_id)
        self._graph.flags[slot] |= RELEASED
        self._graph.reason[slot] = self._graph.words.code(reason)

    def retain(self, object_id: str) -> None:
        """Its owner needs it again; the opposite of `release`."""
        slot = self._slot(object_id)
        self._graph.strengthen(slot, lost=RELEASED)
        self._graph.reason[slot] = 0

    def restore(self, object_id: str) -> None:
        """Bring back a collected object into generation 0, with its references; it is not released.

        Raises:
            ObjectExistsError: It is here.
            ObjectUnknownError: It was never collected, or more than `remembered` others were since.
        """
        if object_id in self:
            raise ObjectExistsError(object_id)
        buried = self._buried.pop(object_id, None)
        if buried is None:
            raise ObjectUnknownError(object_id)
        slot = self._comes(object_id, buried.kind, buried.weight)
        for kept, reference in _DECODE(buried.references):
            self._graph.link(slot, self._graph.slot(kept), self._graph.words.code(reference))

    @property
    def revivals(self) -> int:
        """How often something that could go gained a reference, or became kept by itself."""
        return self._graph.revivals

    @property
    def collecting(self) -> int | None:
        """The generation of the collection that goes on; None if there is none."""
        return self._cycle.generation if self._cycle else None

    def due(self) -> int | None:
        """The generation whose collection is due by the counts; None if there is none."""
        return due(self.counts, self.policy)

    def begin(self, generation: int) -> None:
        """Begin a collection of *generation* and the younger ones.

        Raises:
            CollectionRunningError: One goes on.
        """
        if self._cycle:
            raise CollectionRunningError(self._cycle.generation)
        self._cycle = Cycle(self._graph, min(max(generation, 0), OLDEST), self.policy.listed)

    def step(self, budget: int = STEP) -> Collection | None:
        """One slice of the collection that goes on, of about *budget* objects and references.

        Returns:
            What is to be recorded, once it is known. It is returned again, without what came to be
            kept since, until `evolve` had it. None if there is more to do, or nothing goes on.
        """
        cycle, graph = self._cycle, self._graph
        if cycle is None or not cycle.step(budget):
            return None
        dead = [graph.index[each] for each in cycle.part]
        left = None if cycle.more else survivors(graph, cycle.generation, dead, self.policy)
        return Collection(
            generation=cycle.generation,
            number=self.counts.number + 1,
            collected=tuple(cycle.part),
            promoted=left.promoted if left else 0,
            kept=left.kept if left else 0,
            bytes=sum(graph.weight[slot] for slot in dead),
            revivals=graph.revivals,
            more=cycle.more,
        )

    def abandon(self) -> None:
        """End the collection that goes on; what of it was recorded stays collected."""
        if self._cycle:
            self._cycle = None
            self._graph.begin_marks()

    def evolve(self, collection: Collection) -> tuple[str, ...]:
        """Apply a recorded collection; one that was applied before changes nothing.

        Returns:
            The ids that went. An object that something refers to again since the collection was
            made stays, with what it keeps.

        Raises:
            CollectionOrderError: One before it is missing.
        """
        if collection.number <= self.counts.number:
            return ()
        if collection.number != self.counts.number + 1:
            raise CollectionOrderError(collection.number, self.counts.number + 1)
        self.counts.number = collection.number
        raced = collection.revivals != self._graph.revivals
        dead = still_garbage(self._graph, collection.collected, raced=raced)
        gone = tuple(self._graph.ids[slot] for slot in dead)
        for slot in dead:
            self._bury(slot, collection)
        if collection.more:
            if self._cycle:
                self._cycle.recorded(collection.collected)
        else:
            grow_older(self._graph, collection.generation, self.policy)
            self.counts.ended(collection.generation)
            self.abandon()
        return gone

    def sizes(self) -> tuple[GenerationSize, ...]:
        """What is in each generation, the youngest first."""
        return sizes(self._graph)

    def generation(self, object_id: str) -> int:
        """The generation that an object is in, from 0.

        Raises:
            ObjectUnknownError: It is not here.
        """
        return int(self._graph.generation[self._slot(object_id)])

    def explain(self, object_id: str) -> Explanation:
        """Why an object is here, or why it went.

        Raises:
            ObjectUnknownError: It was never here, or is not remembered.
        """
        return explained(self._graph, self._buried, object_id)

    def digest(self) -> str:
        """SHA-256 of the state, whatever slots it is in; a running collection is no part of it."""
        return _digest_of(self._graph, self._buried, self.counts)

    def _slot(self, object_id: str) -> int:
        slot = self._graph.index.get(object_id)
        if slot is None or not self._graph.flags[slot]:
            raise ObjectUnknownError(object_id)
        return slot

    def _comes(self, object_id: str, kind: str, weight: int) -> int:
        if object_id in self:
            raise ObjectExistsError(object_id)
        slot = self._graph.slot(object_id)
        self._graph.appear(slot, kind, weight)
        self.counts.allocations += 1
        return slot

    def _keeps(self, reference: str) -> Keeps:
        return self.policy.keeps.get(reference, "target")

    def _bury(self, slot: int, collection: Collection) -> None:
        graph = self._graph
        object_id, reason = graph.ids[slot], graph.words.words[graph.reason[slot]]
        kind, weight = graph.words.words[graph.kind[slot]], graph.weight[slot]
        generation = graph.generation[slot]
        references = _ENCODE(graph.remove(slot))
        self._buried[object_id] = Buried(
            collection.number, generation, collection.generation, kind, reason, weight, references
        )
        if len(self._buried) > self.policy.remembered:
            self._buried.popitem(last=False)


def _digest_of(graph: Graph, buried: Mapping[str, Buried], counts: Counts) -> str:
    """SHA-256 over the counts, all objects by id with their references, and what went.

    It is equal for equal states, whatever slots their objects are in.
    """
    encode, words = msgspec.msgpack.Encoder().encode, graph.words.words
    whole = sha256(encode((counts, graph.revivals)))
    for object_id, slot in sorted(graph.index.items()):
        references = sorted(
            (graph.ids[graph.target[arc]], words[graph.reference[arc]]) for arc in graph.arcs(slot)
        )
        there = graph.flags[slot] != 0
        row = (
            words[graph.kind[slot]],
            graph.generation[slot],
            graph.age[slot],
            graph.uses[slot],
            words[graph.reason[slot]],
            graph.weight[slot],
        )
        state = (graph.flags[slot], graph.count[slot], row if there else ())
        whole.update(encode((object_id, state, references)))
    for each in buried.items():
        whole.update(encode(each))
    return whole.hexdigest()
