"""Whatever happens between the slices of a collection, it agrees with a trace from scratch."""

from collections.abc import Iterable
from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.runtime.gc import Heap, HeapPolicy

from .gc_world import IDS, Model, Step, World, collect, ids_of, steps

ARCS = [("k", "x"), ("k", "y"), ("x", "y"), ("y", "x")]  # k is kept, the others are released
CHANGES = [*product(("refer", "unrefer"), ARCS), ("root", ("x",)), ("retain", ("y",))]
EXAMPLES = settings(max_examples=100, deadline=None)


@pytest.mark.parametrize("slices", range(10))
@pytest.mark.parametrize("arcs", [a for n in range(5) for a in combinations(ARCS, n)])
def test_no_two_changes_after_any_slice_lose_an_object(
    arcs: tuple[tuple[str, str], ...], slices: int
) -> None:
    for changes in product(CHANGES, repeat=2):
        heap = Heap()
        for each in "kxy":
            heap.allocate(each, "node")
        heap.release("x", "superseded")
        heap.release("y", "superseded")
        for arc in arcs:
            heap.refer(*arc)
        heap.begin(0)
        for _ in range(slices):
            heap.step(1)

        for verb, arguments in changes:
            getattr(heap, verb)(*arguments)

        while heap.collecting is not None:
            if part := heap.step(1):
                heap.evolve(part)
        assert kept_by(arcs, changes) <= set(heap)


def kept_by(
    arcs: Iterable[tuple[str, str]], changes: Iterable[tuple[str, tuple[str, ...]]]
) -> set[str]:
    """What has to be there, by a trace from scratch."""
    model = Model()
    model.present, model.released = set("kxy"), set("xy")
    model.arcs.update((*arc, "refers") for arc in arcs)
    for verb, arguments in changes:
        if verb == "refer":
            model.arcs[(arguments[0], arguments[1], "refers")] += 1
        elif verb == "unrefer":
            model.arcs[(arguments[0], arguments[1], "refers")] -= 1
        else:
            model.roots.add(arguments[0])
        model.arcs = +model.arcs
    return model.reachable()


def after(done: list[Step]) -> World:
    world = World()
    for step in done:
        world.does(step)
    return world


@EXAMPLES
@given(steps())
def test_nothing_that_is_kept_is_ever_collected_and_the_heap_has_what_the_model_has(
    done: list[Step],
) -> None:
    world = World()

    for step in done:
        world.does(step)  # recording a collection asserts it

        assert world.model.reachable() <= set(world.heap)
        assert set(world.heap) == world.model.present


@EXAMPLES
@given(steps())
def test_everything_that_nothing_keeps_goes_within_two_collections(done: list[Step]) -> None:
    world = after(done)
    world.finish()

    for _ in range(2):
        collect(world.heap, 2)

    assert set(world.heap) == world.model.reachable()


@EXAMPLES
@given(steps(), st.integers(0, 1))
def test_what_no_older_garbage_keeps_goes_within_two_collections_of_its_generation(
    done: list[Step], generation: int
) -> None:
    world = after(done)
    world.finish()
    model = world.model
    garbage = model.present - model.reachable()
    young = {each for each in garbage if world.heap.explain(each).generation <= generation}

    for _ in range(2):
        collect(world.heap, generation)

    assert not (young - model.closure(garbage - young)) & set(world.heap)
    assert model.reachable() <= set(world.heap)


@EXAMPLES
@given(steps())
def test_counts_are_those_of_a_recount(done: list[Step]) -> None:
    world = after(done)

    assert {each: world.heap.explain(each).references for each in world.heap} == {
        each: world.model.count(each) for each in world.model.present
    }


@EXAMPLES
@given(steps())
def test_a_replay_of_what_was_recorded_gives_the_digest_and_the_next_collections(
    done: list[Step],
) -> None:
    world = after(done)
    world.finish()

    replayed = world.replayed()

    assert replayed.digest() == world.heap.digest()
    assert replayed.due() == world.heap.due()
    for generation in (0, 2):
        assert collect(replayed, generation, 7) == collect(world.heap, generation)
    assert replayed.digest() == world.heap.digest()


@EXAMPLES
@given(steps())
def test_slices_that_nobody_records_leave_the_digest_as_it_is(done: list[Step]) -> None:
    world = after([step for step in done if step.verb not in ("slice", "record")])
    before = world.heap.digest()

    world.heap.begin(2)
    while world.heap.step(5) is None:
        assert world.heap.digest() == before
    world.heap.abandon()

    assert world.heap.digest() == before


@EXAMPLES
@given(steps())
def test_ids_are_sorted_within_a_part_and_over_the_parts(done: list[Step]) -> None:
    world = after(done)
    world.finish()

    found = collect(world.heap, 2)

    assert ids_of(found) == sorted(ids_of(found))
    assert [each.more for each in found] == [True] * (len(found) - 1) + [False]
    assert all(list(each.collected) == sorted(each.collected) for each in world.collections)


@EXAMPLES
@given(steps(), st.permutations(IDS))
def test_the_digest_does_not_depend_on_the_order_in_which_objects_came(
    done: list[Step], order: list[str]
) -> None:
    def made(ids: list[str]) -> Heap:
        heap = Heap(HeapPolicy(listed=3))
        for each in ids:
            heap.allocate(each, "node")
        for step in done:
            if step.verb == "refer":
                heap.refer(step.one, step.other, step.reference)
            if step.verb == "release":
                heap.release(step.one, "superseded")
        return heap

    one, other = made(list(IDS)), made(order)

    assert one.digest() == other.digest()
    assert collect(one, 0) == collect(other, 0)
