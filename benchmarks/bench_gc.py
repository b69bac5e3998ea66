"""How long does a collection stop a heap of 1,000,000 objects, and what does the heap weigh?

Each object refers to two older ones; nine in ten are released. Each program runs in a process of
its own, with the same graph:

* *heap*: makes it and collects all generations in slices; between two slices come an allocation,
  references, uses and releases, and each part is applied as soon as it is there. Then, after 1,000
  allocations, 200 times: a collection of generation 0.
* *gc.collect*: the same graph of Python objects, collected by Python.
* *mark-sweep*: the bare limit: ids in a dictionary of lists, a set of marks, everything at once.

A pause is the time of the processor that a slice takes, which waits for nothing: what else runs on
the machine does not make it longer.
"""

import gc
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random

from measure import (
    Figures,
    Ratios,
    Run,
    arguments,
    heading,
    in_turn,
    keep,
    percentiles,
    quickly,
    ratio,
    report,
    rss_mb,
    run,
)

from cortex.runtime.gc import Heap

RESULT = Path(__file__).parent / "results" / "bench_gc.txt"
OBJECTS = 1_000_000
QUICK = 50_000
RELEASED = 0.9
EACH_MINOR, BETWEEN = 5_000, 1_000  # objects to a collection of generation 0; allocations
GOAL_MS, GOAL_MB = 10.0, 600.0
NAMES = ("heap", "gc.collect", "mark-sweep")


def graph(objects: int) -> Iterator[tuple[str, list[str], bool]]:
    """Ids with their references, and whether each is released; the same ones every time."""
    random = Random(1)
    for number in range(objects):
        older = [f"memory-{random.randrange(number):012d}" for _ in range(2)] if number else []
        yield f"memory-{number:012d}", older, random.random() < RELEASED


def timed(work: Callable[[], object], took_s: list[float]) -> object:
    began = time.thread_time()
    done = work()
    took_s.append(time.thread_time() - began)
    return done


class Pauses:
    """The slices of collections, and what applying their parts takes."""

    def __init__(self, heap: Heap) -> None:
        self.heap = heap
        self.slices_s: list[float] = []
        self.records_s: list[float] = []
        self.collected = 0

    def collect(self, generation: int, between: Callable[[], object] = lambda: None) -> None:
        """Collect *generation*, with a call of *between* after each slice."""
        heap = self.heap
        timed(lambda: heap.begin(generation), self.slices_s)
        while heap.collecting is not None:
            began = time.thread_time()
            part = heap.step()
            self.slices_s.append(time.thread_time() - began)
            if part:
                self.collected += len(part.collected)
                timed(partial(heap.evolve, part), self.records_s)
            between()

    def figures(self, name: str) -> Figures:
        """All of it, under *name*."""
        found: Figures = {}
        for what, took_s in (("slices", self.slices_s), ("records", self.records_s)):
            found[f"{name}_{what}"] = len(took_s)
            found[f"{name}_{what}_longest_us"] = max(took_s) * 1e6
            for key, value in percentiles(took_s).items():
                found[f"{name}_{what}_{key}"] = value
        took = sum(self.slices_s) + sum(self.records_s)
        return {**found, f"{name}_s": took, f"{name}_collected": self.collected}


def filled(objects: int) -> tuple[Heap, float]:
    """A heap, and the seconds that its calls took."""
    heap, took_s = Heap(), 0.0
    for object_id, older, released in graph(objects):
        began = time.thread_time()
        heap.allocate(object_id, "node", older, 500)
        if released:
            heap.release(object_id, "superseded")
        took_s += time.thread_time() - began
    return heap, took_s


def of_heap(objects: int) -> Figures:
    heap, took_s = filled(objects)
    found = {"allocations": objects / took_s, "mb": rss_mb()}
    random, numbers = Random(2), iter(range(1 << 40))

    def some_id() -> str:
        return f"memory-{random.randrange(objects):012d}"

    def change(released: float = RELEASED) -> None:
        new = f"new-{next(numbers)}"
        heap.allocate(new, "node", [some_id(), some_id()], 500)
        heap.refer(some_id(), some_id())
        if random.random() < released:
            heap.release(new, "superseded")
        if (used := some_id()) in heap:
            heap.touch(used)

    full = Pauses(heap)
    full.collect(2, change)
    minor = Pauses(heap)
    minors = max(objects // EACH_MINOR, 1)
    for _ in range(minors):
        for _ in range(BETWEEN):
            change()
        minor.collect(0)
    return {**found, "minors": minors, **full.figures("full"), **minor.figures("minor")}


def of_python(objects: int) -> Figures:
    class Node:
        __slots__ = ("id", "references")

        def __init__(self, object_id: str, references: list["Node"]) -> None:
            self.id, self.references = object_id, references

    gc.disable()
    nodes: dict[str, Node] = {}
    kept: list[Node] = []
    for object_id, older, released in graph(objects):
        nodes[object_id] = Node(object_id, [nodes[each] for each in older])
        if not released:
            kept.append(nodes[object_id])
    found = {"mb": rss_mb()}
    began = time.thread_time()
    nodes.clear()  # what its counts free
    gc.collect()
    collected_s = time.thread_time() - began
    pause_s: list[float] = []
    timed(gc.collect, pause_s)  # nothing is left to free
    return {**found, "full_s": collected_s, "again_s": pause_s[0]}


def of_mark_sweep(objects: int) -> Figures:
    references: dict[str, list[str]] = {}
    kept: list[str] = []
    for object_id, older, released in graph(objects):
        references[object_id] = older
        if not released:
            kept.append(object_id)
    found = {"mb": rss_mb()}
    began = time.thread_time()
    marked, stack = set(kept), kept
    while stack:
        for each in references[stack.pop()]:
            if each not in marked:
                marked.add(each)
                stack.append(each)
    garbage = sorted(each for each in references if each not in marked)
    for each in garbage:
        del references[each]
    return {**found, "full_s": time.thread_time() - began, "collected": len(garbage)}


PROGRAMS = {"heap": of_heap, "gc.collect": of_python, "mark-sweep": of_mark_sweep}


def runs_of(objects: int) -> dict[str, Run]:
    """What is measured in turn."""
    return {name: partial(run, sys.executable, __file__, name, str(objects)) for name in NAMES}


def main() -> None:
    """Measure, and keep the table."""
    parser = arguments(__doc__)
    parser.add_argument("--objects", type=int, default=OBJECTS)
    given = parser.parse_args()
    found = in_turn(given.rounds, runs_of(given.objects))
    keep(lines(given.rounds, given.objects, found), RESULT)


def lines(rounds: int, objects: int, found: dict[str, Figures]) -> Iterator[str]:
    """The table."""
    ours, python, bare = (found[name] for name in NAMES)
    yield heading(rounds)
    yield (
        f"{objects:,} objects with two references each, {RELEASED:.0%} of them released, "
        f"{ours['full_collected']:,.0f} collected"
    )
    yield (
        f"memory: heap {ours['mb']:,.0f} MB (goal < {GOAL_MB:.0f}), Python objects "
        f"{python['mb']:,.0f} MB, dictionary of lists {bare['mb']:,.0f} MB"
    )
    yield f"allocate and release: {ours['allocations']:,.0f}/s"
    yield f"{'all generations':18}{ours['full_s'] * 1_000:>9,.0f} ms in {_slices(ours, 'full')}"
    minor_ms = ours["minor_s"] * 1_000 / ours["minors"]
    yield f"{'generation 0':18}{minor_ms:>9,.1f} ms in {_slices(ours, 'minor', ours['minors'])}"
    yield (
        f"{'gc.collect':18}{python['full_s'] * 1_000:>9,.0f} ms in one pause; "
        f"{python['again_s'] * 1_000:,.0f} ms where nothing is left to free"
    )
    yield f"{'plain mark-sweep':18}{bare['full_s'] * 1_000:>9,.0f} ms in one pause"
    worst = max(ours[f"{name}_{each}_p99_us"] for name in ("full", "minor") for each in PARTS)
    met = worst < GOAL_MS * 1_000 and ours["mb"] < GOAL_MB
    yield (
        f"p99 of all pauses {worst / 1_000:.1f} ms (goal < {GOAL_MS:.0f}): "
        f"{'met' if met else 'MISSED'}; the plain pause is "
        f"{bare['full_s'] * 1e6 / worst:,.0f} times as long"
    )


PARTS = ("slices", "records")


def _slices(ours: Figures, name: str, times: float = 1) -> str:
    said = []
    for what in PARTS:
        p50, p99, longest = (
            ours[f"{name}_{what}_{each}_us"] / 1_000 for each in ("p50", "p99", "longest")
        )
        said.append(
            f"{ours[f'{name}_{what}'] / times:,.0f} {what} (p50 {p50:.1f} ms, p99 {p99:.1f} ms, "
            f"longest {longest:.1f} ms)"
        )
    return " and ".join(said)


def quick() -> Ratios:
    """A whole collection in slices, to a plain mark-sweep."""
    runs = runs_of(QUICK)

    def speed(name: str) -> float:
        return float(1 / runs[name]()["full_s"])

    return {"full": ratio(partial(speed, "heap"), partial(speed, "mark-sweep"))}


if __name__ == "__main__":
    quickly(quick)
    if sys.argv[1:2] and sys.argv[1] in PROGRAMS:
        report(PROGRAMS[sys.argv[1]](int(sys.argv[2])))
    else:
        main()
