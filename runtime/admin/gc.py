"""Collections of a home for commands: what there is, what went, and why something stays."""

import time
from collections import Counter

import msgspec

from cortex.bus.events import GcCollect, GcCollected, MemoryCollected
from cortex.runtime.kernel import Config, Home, RefusedError, iso
from cortex.runtime.memory import (
    CollectionPlan,
    HomeMemory,
    MemoryMissingError,
    PackageMissingError,
    PackageRow,
    packaged,
    recorded_in,
)
from cortex.runtime.sessions import BRIEF_S, Session

WAIT_S = 600.0  # for a collection: of a million nodes it takes a minute


class GenerationRow(msgspec.Struct, frozen=True, kw_only=True):
    """What is in one generation."""

    generation: int
    nodes: int
    packages: int
    bytes: int
    released: int  # may go if nothing keeps them
    pinned: int
    roots: int  # in use by executions that run


class CollectionRow(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded collection, with all its parts."""

    number: int  # of its last part
    position: int
    time: str  # UTC
    generation: int
    collected: int
    promoted: int
    kept: int
    slices: int
    longest_us: int


class GcDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The generations as they are now, and the newest collections."""

    position: int
    generations: list[GenerationRow]
    collections: list[CollectionRow]  # newest first


class ExplainedDocument(msgspec.Struct, frozen=True, kw_only=True):
    """Why a node stays, or went."""

    id: str
    said: str
    state: str  # "kept", "garbage" or "collected"
    generation: int
    reason: str  # for which it was released; "" if it was not
    path: list[str]  # ids, from what is kept by itself to the node


class CollectedDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What a collection let go."""

    generation: int
    position: int
    nodes: list[str]  # ids
    packages: list[str]  # ids
    kept: int
    longest_us: int  # of its slices


def gc_statistics(home: Home, limit: int = 10) -> GcDocument:
    """The generations of the memory of *home*, and its newest *limit* collections.

    Raises:
        MemoryStoreError: The store of memory cannot be used.
    """
    with HomeMemory.open(home) as memory:
        plan = _plan(home, memory)
        collections = _collections(memory)
        position = memory.view.position
    packages = Counter(plan.heap.generation(each) for each in plan.heap if packaged(each))
    rows = [
        GenerationRow(
            generation=size.generation,
            nodes=size.objects - packages[size.generation],
            packages=packages[size.generation],
            bytes=size.bytes,
            released=size.released,
            pinned=size.pinned,
            roots=size.roots,
        )
        for size in plan.heap.sizes()
    ]
    return GcDocument(position=position, generations=rows, collections=collections[:limit])


def explain_node(home: Home, begins: str) -> ExplainedDocument:
    """Why a node or a package is in memory, or why it went.

    Raises:
        MemoryMissingError: There is no such node, or several; and no such package.
        MemoryStoreError: The store of memory cannot be used.
    """
    with HomeMemory.open(home) as memory:
        try:
            node_id = memory.view.resolve(begins)
        except MemoryMissingError as missing:
            try:
                package = memory.view.packages.package(begins)
            except PackageMissingError:
                raise missing from None
            return _explained_package(home, memory, package)
        plan = _plan(home, memory)
        left = memory.view.states([node_id])[node_id].gone
        pinned = _pinned(memory, node_id)
        why = next((c for c in reversed(memory.view.changes(node_id)) if c[1] == left), None)
    found = plan.heap.explain(node_id)
    said = str(found)
    if found.because == "pinned" and pinned and node_id not in pinned:
        said = f"{node_id} ({found.kind}) stays: {pinned[0]}, of its chain, is pinned."
    if left and why is not None:
        said = f"{node_id} is {left} since position {why[0]:,}{f': {why[3]}' if why[3] else ''}. "
        said += f"`cortex memory restore {node_id}` brings it back."
    return ExplainedDocument(
        id=node_id,
        said=said,
        state="collected" if left else found.state,
        generation=found.generation,
        reason=found.reason,
        path=[hop.id for hop in found.path],
    )


def _explained_package(home: Home, memory: HomeMemory, package: PackageRow) -> ExplainedDocument:
    object_id = f"package:{package.id}"
    if package.collected:
        said = (
            f"the package {package.id} was collected at position {package.collected:,}, because no "
            f"prompt had it for long. `cortex package compile {' '.join(package.chains)}` brings "
            "it back."
        )
        state, generation, reason, path = "collected", 0, "unused", list[str]()
    else:
        found = _plan(home, memory).heap.explain(object_id)
        said, state, generation, reason = str(found), found.state, found.generation, found.reason
        path = [hop.id for hop in found.path]
    return ExplainedDocument(
        id=package.id, said=said, state=state, generation=generation, reason=reason, path=path
    )


def _pinned(memory: HomeMemory, node_id: str) -> list[str]:
    """The nodes of its chain that are pinned; all of a pinned chain is kept."""
    chain = memory.view.chain(node_id)
    return [node.id for node in chain.nodes if chain.states[node.id].pinned]


def collect_now(home: Home, generation: int = 2) -> CollectedDocument:
    """Collect the memory of *home*: *generation* and the younger ones.

    Raises:
        RefusedError: No collection ended in time.
    """
    with Session.open(home, patience_s=BRIEF_S) as session:
        feed = session.client.follow(("gc.*", None), ("memory.collected", None))
        asked = session.publish(GcCollect(generation=generation))
        nodes, packages = list[str](), list[str]()
        last: GcCollected | None = None
        awaited: set[int] = set()
        until = time.monotonic() + WAIT_S
        try:
            while time.monotonic() < until:
                session.check()
                for record in feed.next(0.1):
                    event = session.client.vocabulary.read(record)
                    if isinstance(event, GcCollected) and record.causation == asked:
                        awaited.add(record.position)
                        last = event
                    elif isinstance(event, MemoryCollected) and record.causation in awaited:
                        nodes += event.nodes
                        packages += event.packages
                        if last is not None and not event.more:
                            return CollectedDocument(
                                generation=last.generation,
                                position=record.position,
                                nodes=nodes,
                                packages=packages,
                                kept=last.kept,
                                longest_us=last.longest_us,
                            )
        finally:
            feed.close()
    raise RefusedError(f"no collection ended within {WAIT_S:g} s: `cortex doctor` says what is up")


def _plan(home: Home, memory: HomeMemory) -> CollectionPlan:
    config = Config.shown(home).gc
    records = memory.source.stream("gc")
    before = recorded_in(records, memory.source.vocabulary, memory.view.position)
    plan = CollectionPlan.of(memory.view, before, config)
    at = memory.source.at(memory.view.position)
    past = home.as_of is not None and at is not None
    plan.memory.release(at.time_ns if past and at is not None else time.time_ns(), plan.rules)
    return plan


def _collections(memory: HomeMemory) -> list[CollectionRow]:
    found: list[CollectionRow] = []
    collected = 0
    times = {record.position: record.time_ns for record in memory.source.stream("gc")}
    records = memory.source.stream("gc")
    for position, event in recorded_in(records, memory.source.vocabulary, memory.view.position):
        collected += len(event.collected)
        if not event.more:
            found.append(
                CollectionRow(
                    number=event.number,
                    position=position,
                    time=iso(times[position]),
                    generation=event.generation,
                    collected=collected,
                    promoted=event.promoted,
                    kept=event.kept,
                    slices=event.slices,
                    longest_us=event.longest_us,
                )
            )
            collected = 0
    return found[::-1]
