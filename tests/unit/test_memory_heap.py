"""The collector on memory: what goes, what stays, and that a replay comes to the same."""

from collections import Counter

from cortex.bus.events import (
    VOCABULARY,
    ExecutionCompleted,
    GcCollect,
    GcCollected,
    MemoryCollected,
    MemoryEdge,
    MemoryForget,
    MemoryLink,
    MemoryPin,
    MemoryRecord,
    MemoryRestore,
)
from cortex.runtime.kernel import GcConfig
from cortex.runtime.memory import (
    COLLECTOR,
    CollectionPlan,
    MemoryHeap,
    planned,
    recorded_in,
)

from .memory_world import DAY_NS, T0_NS, MemoryWorld, prompt_with
from .test_memory_view import EXECUTIONS, started

LATER_NS = T0_NS + 2_000 * DAY_NS  # far behind all that is recorded


def plan(world: MemoryWorld, config: GcConfig | None = None) -> CollectionPlan:
    before = recorded_in(world.stream("gc"), VOCABULARY, len(world.records))
    return CollectionPlan.of(world.view(), before, config or GcConfig())


def collect(world: MemoryWorld, generation: int = 2, now_ns: int = LATER_NS) -> list[GcCollected]:
    """Collect as the components do."""
    request = GcCollect(generation=generation)
    world.add(request, "ada")
    world.decider.state.apply(request)
    made = plan(world)
    events = [
        GcCollected(number=n, **part)
        for n, part in enumerate(planned(made, generation, now_ns, lambda: 0.0), 1)
    ]
    for event in events:
        world.add(event, COLLECTOR)
    for event in events:
        finish(world, event)
    return events


def finish(world: MemoryWorld, event: GcCollected) -> MemoryCollected:
    nodes = world.decider.state.left_alone(event.collected, event.through)
    fact = MemoryCollected(
        nodes=nodes, collection=event.number, through=event.through, more=event.more
    )
    world.decider.state.apply(fact)
    world.decider.state.apply(fact, position=world.add(fact))
    return fact


def standing(world: MemoryWorld) -> dict[str, str]:
    view = world.view()
    ids = view.touched(0)
    return {each: state.gone for each, state in view.states(ids).items()}


def test_what_nobody_used_fades_and_decisions_stay() -> None:
    world = MemoryWorld()
    faded = world.record("It rained")
    kept = world.record("We use Postgres", kind="decision")

    (event,) = collect(world)

    assert event.collected == (faded,)
    assert event.reasons == ("faded",)
    assert standing(world) == {faded: "collected", kept: ""}
    assert "It rained" not in "\n".join(world.database().iterdump())


def test_nothing_that_is_young_goes() -> None:
    world = MemoryWorld()
    node = world.record("It rained")

    (event,) = collect(world, now_ns=T0_NS + 5 * DAY_NS)

    assert event.collected == ()
    assert standing(world) == {node: ""}


def test_a_cause_stays_as_long_as_what_came_of_it() -> None:
    world = MemoryWorld()
    cause = world.record("Rows were lost")
    decision = world.record(
        "We use Postgres", kind="decision", edges=(MemoryEdge("caused_by", cause),)
    )

    collect(world)

    assert standing(world) == {cause: "", decision: ""}


def test_the_newest_versions_of_a_belief_stay_and_the_oldest_go() -> None:
    world = MemoryWorld()
    ids = [world.record("v0", kind="decision")]
    for n in range(1, 8):
        edge = MemoryEdge("supersedes", ids[-1])
        ids.append(world.record(f"v{n}", kind="decision", edges=(edge,)))

    collect(world)

    gone = [node for node, left in standing(world).items() if left]
    assert gone == ids[:4]


def test_a_pin_keeps_a_whole_chain_until_it_is_released() -> None:
    world = MemoryWorld()
    first = world.record("It rained")
    second = world.record("It rained more", edges=(MemoryEdge("refines", first),))
    world.ask(MemoryPin(node_id=second))

    collect(world)
    assert set(standing(world).values()) == {""}

    world.ask(MemoryPin(node_id=second, pinned=False))
    collect(world)
    assert set(standing(world).values()) == {"collected"}


def test_what_a_running_execution_was_shown_stays_until_it_ends() -> None:
    world = MemoryWorld()
    node = world.record("It rained")
    world.add(started("e1"), "ProcessManager")
    world.add(prompt_with(node, execution="e1"), "CompilationEngine")

    collect(world)
    assert standing(world)[node] == ""

    world.add(ExecutionCompleted(execution_id="e1"), EXECUTIONS)
    collect(world)
    assert standing(world)[node] == "collected"


def test_what_was_touched_while_it_was_looked_for_stays_with_what_it_is_joined_to() -> None:
    world = MemoryWorld()
    a, b, c = (world.record(each) for each in ("a", "b", "c"))
    world.ask(MemoryLink(node_id=b, edge="refines", to=a))
    request = GcCollect()
    world.add(request, "ada")
    world.decider.state.apply(request)
    (part,) = planned(plan(world), 2, LATER_NS, lambda: 0.0)
    world.ask(MemoryRecord(kind="decision", content="d", edges=(MemoryEdge("refines", b),)))
    event = GcCollected(number=1, **part)
    world.add(event, COLLECTOR)

    fact = finish(world, event)

    assert event.collected == (a, b, c)
    assert fact.nodes == (c,)


def test_collected_and_restored_is_young_again() -> None:
    world = MemoryWorld()
    node = world.record("It rained")
    collect(world)

    world.ask(MemoryRestore(node_id=node))

    assert world.view().nodes([node])[node].content == "It rained"
    assert node in plan(world).heap


def test_survivors_are_promoted_after_two_and_after_five_more() -> None:
    world = MemoryWorld()
    world.record("We use Postgres", kind="decision")
    generations: list[int] = []
    for _ in range(8):
        sizes = plan(world).heap.sizes()
        generations.append(next(size.generation for size in sizes if size.objects))
        collect(world, generation=2, now_ns=T0_NS)

    assert Counter(generations) == {0: 2, 1: 5, 2: 1}


def test_a_heap_folded_from_the_log_is_the_live_one() -> None:
    world = MemoryWorld()
    for n in range(20):
        world.record(f"saw {n}")
        world.record(f"chose {n}", kind="decision")
    world.ask(MemoryForget(node_id=world.record("wrong")))
    collect(world)
    world.record("after")

    digests = set()
    for _ in range(2):
        before = recorded_in(world.stream("gc"), VOCABULARY, len(world.records))
        digests.add(MemoryHeap.of(world.view(), before).heap.digest())

    assert len(digests) == 1
    assert len(plan(world).heap) == 21


def test_why_a_node_is_alive_is_told_by_the_way_that_keeps_it() -> None:
    world = MemoryWorld()
    cause = world.record("Rows were lost")
    world.record("We use Postgres", kind="decision", edges=(MemoryEdge("caused_by", cause),))
    made = plan(world)
    made.memory.release(LATER_NS, made.rules)

    told = str(made.heap.explain(cause))

    assert "stays although its owner released it (faded)" in told
