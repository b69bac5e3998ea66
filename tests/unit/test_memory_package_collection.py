"""Packages and the collector: what no prompt has goes, and comes back when it is asked for."""

from cortex.bus.events import (
    VOCABULARY,
    ContextCompiled,
    ExecutionCompleted,
    GcCollect,
    GcCollected,
    MemoryCollected,
    MemoryEdge,
    MemoryPin,
    PackageUse,
)
from cortex.runtime.kernel import GcConfig
from cortex.runtime.memory import (
    COLLECTOR,
    CollectionPlan,
    MemoryHeap,
    packaged,
    planned,
    recorded_in,
    suggested_packages,
)

from .memory_world import DAY_NS, T0_NS, MemoryWorld, prompt_with
from .package_world import PackageWorld
from .test_memory_view import EXECUTIONS, started


def now_ns(world: MemoryWorld, days: int) -> int:
    """So many days after the newest event."""
    return T0_NS + (len(world.records) + days) * DAY_NS


def planned_now(world: MemoryWorld) -> CollectionPlan:
    before = recorded_in(world.stream("gc"), VOCABULARY, len(world.records))
    return CollectionPlan.of(world.view(), before, GcConfig())


def collect(world: PackageWorld, days: int) -> tuple[str, ...]:
    """Collect so many days from now, as the components do; the packages that went."""
    at_ns = now_ns(world, days)
    world.add(GcCollect(), "ada")
    number = sum(record.topic == "gc.collected" for record in world.records)
    parts = list(planned(planned_now(world), 2, at_ns, lambda: 0.0))
    state, _ = world.folded()
    gone: list[str] = []
    for n, part in enumerate(parts, number + 1):
        event = GcCollected(number=n, **part)
        world.add(event, COLLECTOR)
        ids = {id_ for each in event.collected if (id_ := packaged(each))}
        nodes = [each for each in event.collected if not packaged(each)]
        fact = MemoryCollected(
            nodes=world.decider.state.left_alone(nodes, event.through),
            packages=state.left_alone(ids, event.through),
            collection=n,
            through=event.through,
            more=event.more,
        )
        world.decider.state.apply(fact, position=world.add(fact))
        gone += fact.packages
    return tuple(gone)


def used(package_id: str, execution: str) -> ContextCompiled:
    """A prompt with the package."""
    use = PackageUse(package_id=package_id, digest="current", tokens=1, instead_of=2)
    return prompt_with(execution=execution, packages=(use,))


def decided(world: PackageWorld) -> str:
    """A decision, which never fades, and its package."""
    return world.package([world.record("We use Postgres", kind="decision")])


def test_a_package_that_no_prompt_has_for_long_goes_and_its_memories_stay() -> None:
    world = PackageWorld()
    package = decided(world)

    early, late = collect(world, 80), collect(world, 91)

    assert (early, late) == ((), (package,))
    view = world.view()
    assert view.packages.listed() == []
    assert view.packages.holding(view.touched(0)) == []
    assert [node.content for node, _ in view.listed()] == ["We use Postgres"]
    row = world.row(package)
    assert (row.fresh, row.collected) == (False, len(world.records))


def test_a_use_in_a_prompt_keeps_it_and_being_compiled_again_does_not() -> None:
    world = PackageWorld()
    idle, busy = decided(world), world.package([world.record("Tea at four", kind="decision")])
    for _ in range(85):
        world.record("filler", update=False)
    world.add(used(busy, "e1"))
    world.again(idle)

    assert collect(world, 10) == (idle,)


def test_what_a_running_execution_has_stays_until_it_ends() -> None:
    world = PackageWorld()
    package = decided(world)
    world.add(started("e1"), EXECUTIONS)
    world.add(used(package, "e1"))

    running = collect(world, 200)
    world.add(ExecutionCompleted(execution_id="e1"), EXECUTIONS)

    assert (running, collect(world, 400)) == ((), (package,))


def test_the_package_of_a_pinned_chain_stays() -> None:
    world = PackageWorld()
    cause = world.record("Rows were lost", kind="decision")
    edges = (MemoryEdge("caused_by", cause),)
    node_id = world.record("We use Postgres", kind="decision", edges=edges)
    package = world.package([node_id])
    world.ask(MemoryPin(node_id=cause))

    pinned = collect(world, 200)
    world.ask(MemoryPin(node_id=cause, pinned=False))

    assert (pinned, collect(world, 400)) == ((), (package,))


def test_a_collected_package_comes_back_when_it_is_asked_for() -> None:
    world = PackageWorld()
    node_id = world.record("We use Postgres", kind="decision")
    package = world.package([node_id])
    collect(world, 100)

    again = world.package([node_id])

    assert again == package
    row = world.row(package)
    assert (row.fresh, row.collected) == (True, 0)
    assert [each.id for each in world.view().packages.listed()] == [package]
    at = next(r.position for r in world.records if r.topic == "memory.collected")
    assert world.view(at=at).packages.listed() == []  # and as it was then
    assert [each.id for each in world.view(at=at - 1).packages.listed()] == [package]


def test_chains_whose_package_was_collected_are_suggested_again() -> None:
    world = PackageWorld()
    nodes = [world.record(text, kind="decision") for text in ("We use Postgres", "Tea at four")]
    package = world.package(nodes)
    collect(world, 100)
    for n in range(3):
        world.add(prompt_with(*nodes, execution=f"e{n}"))

    (suggested,) = suggested_packages(world.view(), now_ns(world, 1))

    assert set(suggested.chains) == set(nodes)
    assert world.package(suggested.chains) == package


def test_what_is_compiled_while_the_collector_looks_stays() -> None:
    world = PackageWorld()
    package = decided(world)
    through = len(world.records)
    world.again(package)
    state, _ = world.folded()

    assert state.left_alone((package,), through) == ()
    assert state.left_alone((package,), len(world.records)) == (package,)


def test_a_collected_package_is_not_compiled_when_its_memories_change() -> None:
    world = PackageWorld()
    node_id = world.record("We use Postgres", kind="decision")
    world.package([node_id])
    collect(world, 100)

    world.record("We use SQLite", kind="decision", edges=(MemoryEdge("supersedes", node_id),))

    _, asked = world.folded()
    assert asked == []
    assert world.view().packages.stale() == []


def test_a_package_of_collected_memories_is_stale_and_then_without_them() -> None:
    world = PackageWorld()
    kept = world.record("We use Postgres", kind="decision")
    faded = world.record("Rows were lost", edges=(MemoryEdge("refines", kept),))
    package = world.package([kept])
    for _ in range(140):
        world.record("filler", update=False)
    world.add(used(package, "e1"))  # with the package, and not by itself

    assert collect(world, 1) == ()

    assert world.decider.state.gone[faded] == "collected"
    assert world.row(package).changed == len(world.records)
    _, asked = world.folded()
    assert [each.package_id for each in asked] == [package]
    world.again(package)
    row = world.row(package)
    assert (row.fresh, row.sources) == (True, (kept,))
    assert "Rows were lost" not in world.texts[package].text


def test_a_heap_folded_from_the_log_is_the_live_one() -> None:
    world = PackageWorld()
    package = decided(world)
    collect(world, 100)
    world.again(package)
    collect(world, 10)

    def heap() -> MemoryHeap:
        before = recorded_in(world.stream("gc"), VOCABULARY, len(world.records))
        return MemoryHeap.of(world.view(), before)

    assert heap().heap.digest() == heap().heap.digest()
    assert f"package:{package}" in heap().heap
