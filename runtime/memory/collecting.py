"""One collection of memory: from its projection to what is recorded, in slices."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from cortex.bus import Recorded, Vocabulary
from cortex.bus.events import GcCollected
from cortex.runtime.kernel import GcConfig

from .memory_heap import FADING, MemoryHeap, RecordedCollection
from .rules import COLLECTOR
from .view import MemoryView

if TYPE_CHECKING:
    from cortex.runtime.gc import Heap, RetentionRules

BUDGET: Final = 2_000  # objects and references of a slice: about a millisecond
YOUNGEST, OLDEST = 0, 2


class CollectionPlan(NamedTuple):
    """A heap, the rules by which it releases, and the position that both hold for."""

    memory: MemoryHeap
    rules: "RetentionRules"
    through: int

    @classmethod
    def of(cls, view: MemoryView, before: Iterable[RecordedCollection], config: GcConfig) -> Self:
        """The heap of memory at the position of *view*, after the collections *before*."""
        return cls(MemoryHeap.of(view, before), rules_of(config), view.position)

    @property
    def heap(self) -> "Heap":
        """The heap."""
        return self.memory.heap


def rules_of(config: GcConfig) -> "RetentionRules":
    """The rules that *config* sets."""
    from cortex.runtime.gc import RetentionRules

    return RetentionRules(
        versions=config.versions,
        superseded_days=config.superseded_days,
        half_life_days=config.half_life_days,
        fading=FADING,
        package_days=config.package_days,
    )


def planned(
    plan: CollectionPlan, generation: int, now_ns: int, steady_s: Callable[[], float]
) -> Iterator[dict[str, Any]]:
    """The fields of one `gc.collected` for each part of a collection, without its number.

    Args:
        plan: What is collected.
        generation: The oldest generation that is looked through; below 0, the one that is due.
        now_ns: The time of the request, UTC nanoseconds: by it, memories fade.
        steady_s: A clock, for how long a slice took.
    """
    heap, longest_s, slices = plan.heap, 0.0, 0
    plan.memory.release(now_ns, plan.rules)
    due = heap.due()
    heap.begin((YOUNGEST if due is None else due) if generation < 0 else min(generation, OLDEST))
    while True:
        began = steady_s()
        part = heap.step(BUDGET)
        longest_s, slices = max(longest_s, steady_s() - began), slices + 1
        if part is None:
            continue
        yield {
            "generation": part.generation,
            "collected": part.collected,
            "reasons": tuple(heap.explain(each).reason for each in part.collected),
            "promoted": part.promoted,
            "kept": part.kept,
            "bytes": part.bytes,
            "revivals": part.revivals,
            "more": part.more,
            "through": plan.through,
            "slices": slices,
            "longest_us": int(longest_s * 1e6),
        }
        if not part.more:
            return
        heap.evolve(part)


def recorded_in(
    records: Iterable[Recorded], vocabulary: Vocabulary, through: int
) -> list[RecordedCollection]:
    """The collections in *records* up to position *through*."""
    found: list[RecordedCollection] = []
    for record in records:
        if record.topic == GcCollected.topic_name() and record.source == COLLECTOR:
            event = vocabulary.read(record)
            if isinstance(event, GcCollected) and record.position <= through:
                found.append(RecordedCollection(record.position, event))
    return found
