"""The heap of memory: which nodes and packages there are, who keeps whom, and what may go.

It is made from the projection of memory and from recorded collections, in the order of the log, so
that two of one position are equal. Roots are what is in prompts of executions that run; a pin keeps
the whole chain, and the packages that have one of its nodes. A package keeps no node: it is made of
them, and is compiled again without those that went.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from cortex.bus.events import GcCollected

from .chains import joined
from .rows import JournalRow
from .rules import OUTCOME
from .view import MemoryView

if TYPE_CHECKING:  # numpy takes its time to load
    from cortex.runtime.gc import Heap, HeapPolicy, RetentionRules

DAY_NS: Final = 86_400 * 10**9
DERIVED: Final = "derived"  # the kind, here, of an outcome that a rule made of an execution
FADING: Final = ("observation", DERIVED)  # kinds of nodes that fade if nobody uses them
WEIGHT: Final = 300  # bytes of a node beside its text, about
PACKAGE: Final = "package:"  # before the id of a package
MOST_PINNED: Final = 100_000  # nodes of one pinned chain


def packaged(object_id: str) -> str:
    """The id of the package that an object of the heap is; "" for a node."""
    return object_id.removeprefix(PACKAGE) if object_id.startswith(PACKAGE) else ""


class RecordedCollection(NamedTuple):
    """A collection, and where it is in the log."""

    position: int
    event: GcCollected


class _Known:
    """What the retention rules need of a node."""

    __slots__ = ("kind", "replaced_ns", "touched_ns", "uses")

    def __init__(self, kind: str, time_ns: int) -> None:
        self.kind, self.touched_ns = kind, time_ns
        self.uses = 0
        self.replaced_ns = 0  # 0: it is current


class MemoryHeap:
    """A heap, and what it was made from."""

    def __init__(self, heap: "Heap") -> None:
        self.heap = heap
        self._nodes: dict[str, _Known] = {}
        self._newer: dict[str, list[str]] = {}  # what superseded a node

    @classmethod
    def of(
        cls,
        view: MemoryView,
        collections: Iterable[RecordedCollection],
        policy: "HeapPolicy | None" = None,
    ) -> "MemoryHeap":
        """The heap at the position of *view*, after the *collections* up to there."""
        from cortex.runtime.gc import Heap

        made = cls(Heap(policy))
        waiting = iter([each for each in collections if each.position <= view.position])
        collection = next(waiting, None)
        for row in view.journal():
            while collection is not None and collection.position < row.position:
                made._note(collection.event)
                collection = next(waiting, None)
            made._take(row)
        while collection is not None:
            made._note(collection.event)
            collection = next(waiting, None)
        made._keep(view)
        return made

    def release(self, now_ns: int, rules: "RetentionRules") -> None:
        """Release what the *rules* let go at *now_ns*."""
        from cortex.runtime.gc import ObjectFacts, reason_to_release

        for node_id, known in self._nodes.items():
            if node_id not in self.heap:
                continue
            facts = ObjectFacts(
                kind="package" if packaged(node_id) else "node",
                node_type=known.kind,
                idle_days=max(0.0, (now_ns - known.touched_ns) / DAY_NS),
                uses=known.uses,
                versions=self._versions(node_id) if known.replaced_ns else 0,
                superseded_days=(
                    max(0.0, (now_ns - known.replaced_ns) / DAY_NS) if known.replaced_ns else 0.0
                ),
            )
            reason = reason_to_release(facts, rules)
            if reason is not None:
                self.heap.release(node_id, reason)

    def _take(self, row: JournalRow) -> None:
        heap = self.heap
        match row.what:
            case "node":
                derived = row.id.startswith(OUTCOME)
                self._nodes[row.id] = _Known(DERIVED if derived else row.detail, row.time_ns)
                if row.id not in heap:
                    heap.allocate(row.id, "node", weight=WEIGHT + row.size)
            case "edge":
                heap.refer(row.id, row.other, row.detail)
                if row.detail == "supersedes" and row.other in self._nodes:
                    self._nodes[row.other].replaced_ns = row.time_ns or 1
                    self._newer.setdefault(row.other, []).append(row.id)
            case "package" if row.id not in heap:
                # That it is compiled again is no use.
                self._nodes[row.id] = _Known("", row.time_ns)
                heap.allocate(row.id, "package", weight=WEIGHT + row.size)
            case "package_gone" if row.id in heap:
                self._take_out(row.id, "collected")
            case "used" | "package_used" if row.id in heap:
                heap.touch(row.id)
                known = self._nodes[row.id]
                known.uses += row.size
                # What is imported was used before it was recorded here.
                known.touched_ns = max(row.time_ns, known.touched_ns)
            case "forgotten" | "undone" | "collected" if row.id in heap:
                self._take_out(row.id, row.what)
            case "restored" if row.id not in heap and row.id in self._nodes:
                heap.allocate(row.id, "node", weight=WEIGHT)
                self._nodes[row.id].touched_ns = max(row.time_ns, self._nodes[row.id].touched_ns)
            case _:
                pass

    def _take_out(self, node_id: str, reason: str) -> None:
        """A node left memory, which decides that: nothing keeps it here."""
        self.heap.release(node_id, reason)
        self._evolve(0, (node_id,), more=True)

    def _note(self, event: GcCollected) -> None:
        """A recorded collection: survivors grow older. What went is taken out where it is said."""
        if not event.more:
            self._evolve(event.generation, (), more=False)

    def _evolve(self, generation: int, collected: tuple[str, ...], *, more: bool) -> None:
        from cortex.runtime.gc import Collection

        heap = self.heap
        heap.evolve(
            Collection(
                generation=generation,
                number=heap.counts.number + 1,
                collected=collected,
                revivals=heap.revivals,
                more=more,
            )
        )

    def _keep(self, view: MemoryView) -> None:
        """Mark what is in use and what is pinned."""
        for node_id in view.in_use():
            if node_id in self.heap:
                self.heap.root(node_id)
        for package_id in view.packages.in_use():
            if PACKAGE + package_id in self.heap:
                self.heap.root(PACKAGE + package_id)
        for node_id in view.pinned():
            chain, _, _ = joined(node_id, view.edges, MOST_PINNED)
            packages = [PACKAGE + each.id for each in view.packages.holding(list(chain))]
            for each in (*chain, *packages):
                if each in self.heap:
                    self.heap.pin(each)

    def _versions(self, node_id: str) -> int:
        """How many newer versions there are, up to the current one."""
        seen, fresh, depth = {node_id}, [node_id], 0
        while fresh:
            fresh = [
                newer for each in fresh for newer in self._newer.get(each, ()) if newer not in seen
            ]
            seen.update(fresh)
            depth += bool(fresh)
        return depth
