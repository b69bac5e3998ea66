"""What keeps an object, when a generation is due, who is promoted, and what a record does."""

from itertools import pairwise

import pytest

from cortex.runtime.gc import (
    Collection,
    CollectionOrderError,
    CollectionRunningError,
    Heap,
    HeapPolicy,
    ObjectExistsError,
    ObjectUnknownError,
)

from .gc_world import collect, ids_of


@pytest.fixture
def heap() -> Heap:
    return Heap()


def released(heap: Heap, *ids: str) -> None:
    for each in ids:
        if each not in heap:
            heap.allocate(each, "node")
        heap.release(each, "superseded")


def generation_of(heap: Heap, object_id: str) -> int:
    return heap.explain(object_id).generation


def test_what_nobody_refers_to_stays_until_its_owner_releases_it(heap: Heap) -> None:
    heap.allocate("memory", "node")

    assert ids_of(collect(heap, 2)) == []

    heap.release("memory", "forgotten")
    assert ids_of(collect(heap, 0)) == ["memory"]


def test_what_is_released_stays_while_something_that_is_kept_refers_to_it(heap: Heap) -> None:
    heap.allocate("outcome", "node", [("decision", "caused_by")])
    heap.allocate("decision", "node", ["evidence"])
    released(heap, "decision", "evidence")

    assert ids_of(collect(heap, 2)) == []

    heap.release("outcome", "forgotten")
    assert ids_of(collect(heap, 2)) == ["decision", "evidence", "outcome"]


@pytest.mark.parametrize(
    ("reference", "kept"),
    [
        ("refines", ["new", "old"]),
        ("contradicts", ["new", "old"]),
        ("a kind that no policy lists", ["new", "old"]),
        ("supersedes", ["new"]),
        ("led_to", ["new"]),
    ],
)
def test_the_kind_of_a_reference_says_whether_it_keeps(
    heap: Heap, reference: str, kept: list[str]
) -> None:
    heap.allocate("old", "node")
    heap.allocate("new", "node", [("old", reference)])
    heap.release("old", "superseded")

    collect(heap, 0)

    assert list(heap) == kept


def test_an_effect_keeps_the_cause_that_led_to_it(heap: Heap) -> None:
    heap.allocate("cause", "node", [("effect", "led_to")])
    heap.allocate("effect", "node")
    released(heap, "cause")

    collect(heap, 0)

    assert "cause" in heap


def test_a_chain_keeps_its_members_while_it_is_pinned(heap: Heap) -> None:
    heap.allocate("chain", "chain", [("first", "member"), ("second", "member")])
    released(heap, "first", "second")
    heap.pin("chain")

    assert ids_of(collect(heap, 2)) == []

    heap.unpin("chain")
    assert ids_of(collect(heap, 2)) == ["first", "second"]


def test_a_root_keeps_itself_and_what_it_refers_to_though_all_of_it_is_released(
    heap: Heap,
) -> None:
    heap.allocate("execution", "execution", ["package"])
    heap.allocate("package", "package")
    released(heap, "execution", "package")
    heap.root("execution")

    assert ids_of(collect(heap, 2)) == []

    heap.unroot("execution")
    assert ids_of(collect(heap, 2)) == ["execution", "package"]


def test_a_cycle_of_references_does_not_keep_itself(heap: Heap) -> None:
    heap.allocate("one", "node", ["other"])
    heap.allocate("other", "node", ["one", "other"])
    released(heap, "one", "other")

    assert ids_of(collect(heap, 0)) == ["one", "other"]


def test_an_owner_may_take_its_release_back(heap: Heap) -> None:
    released(heap, "memory")

    heap.retain("memory")

    assert ids_of(collect(heap, 2)) == []


def test_a_reference_to_what_is_not_there_yet_counts_when_both_have_come(heap: Heap) -> None:
    heap.refer("early", "late")

    assert "late" not in heap
    released(heap, "late")
    assert heap.explain("late").references == 0
    heap.allocate("early", "node")

    assert heap.explain("late").references == 1
    assert ids_of(collect(heap, 2)) == []


def test_equal_references_count_each_and_are_taken_back_one_by_one(heap: Heap) -> None:
    heap.allocate("one", "node", ["other", "other"])
    released(heap, "other")

    assert heap.unrefer("one", "other")
    assert ids_of(collect(heap, 0)) == []
    assert heap.unrefer("one", "other")
    assert not heap.unrefer("one", "other")
    assert not heap.unrefer("one", "nobody")

    assert ids_of(collect(heap, 0)) == ["other"]


def test_isolated_garbage_of_any_generation_goes_with_the_next_collection(heap: Heap) -> None:
    heap.allocate("chain", "chain", ["old"])
    heap.allocate("old", "node", ["older"])
    heap.allocate("older", "node")
    for each in ("old", "older"):
        heap.pin(each)
        heap.unpin(each)
    released(heap, "old", "older")
    assert ids_of(collect(heap, 0)) == []

    heap.unrefer("chain", "old")

    assert ids_of(collect(heap, 0)) == ["old"]
    assert ids_of(collect(heap, 0)) == ["older"]  # its count fell when the other one went


def test_a_cycle_in_an_old_generation_waits_for_the_collection_of_it(heap: Heap) -> None:
    heap.allocate("one", "node", ["other"])
    heap.allocate("other", "node", ["one"])
    heap.pin("one")
    heap.unpin("one")
    released(heap, "one", "other")

    assert ids_of(collect(heap, 1)) == []
    assert ids_of(collect(heap, 2)) == ["one", "other"]


def test_survivors_are_promoted_after_two_collections_and_after_five_more(heap: Heap) -> None:
    heap.allocate("memory", "node")

    assert [collect(heap, 0)[-1].promoted for _ in range(2)] == [0, 1]
    assert generation_of(heap, "memory") == 1
    assert collect(heap, 0)[-1].promoted == 0
    assert [collect(heap, 1)[-1].promoted for _ in range(5)] == [0, 0, 0, 0, 1]
    assert generation_of(heap, "memory") == 2


def test_nobody_is_promoted_twice_by_one_collection() -> None:
    heap = Heap(HeapPolicy(survived=(1, 1)))
    heap.allocate("memory", "node")

    collect(heap, 2)

    assert generation_of(heap, "memory") == 1


def test_what_is_pinned_or_used_often_is_promoted_at_once(heap: Heap) -> None:
    heap.allocate("pinned", "node")
    heap.allocate("used", "package")

    heap.pin("pinned")
    heap.touch("used")
    assert (generation_of(heap, "pinned"), generation_of(heap, "used")) == (2, 0)
    heap.touch("used")

    assert generation_of(heap, "used") == 1


def test_what_is_due_follows_from_the_counts_alone() -> None:
    heap = Heap(HeapPolicy(allocations=3, minors=2, middles=2))
    numbers = iter(range(100))

    def due() -> int | None:
        assert heap.due() is None
        for _ in range(3):
            heap.allocate(str(next(numbers)), "artefact")
        return heap.due()

    found = []
    for _ in range(9):
        found.append(due())
        collect(heap, found[-1] or 0)

    assert found == [0, 0, 1, 0, 0, 1, 0, 0, 2]


def test_sizes_add_up_what_is_in_each_generation(heap: Heap) -> None:
    heap.allocate("one", "node", weight=10)
    heap.allocate("two", "node", ["never there"], weight=20)
    heap.pin("two")
    heap.root("one")
    heap.release("one", "superseded")

    youngest, _, oldest = heap.sizes()

    assert (youngest.objects, youngest.bytes, youngest.released, youngest.roots) == (1, 10, 1, 1)
    assert (oldest.objects, oldest.bytes, oldest.pinned) == (1, 20, 1)
    assert len(heap) == 2


def test_a_collection_says_what_it_did(heap: Heap) -> None:
    heap.allocate("kept", "node", weight=5)
    for each in ("b", "a"):
        heap.allocate(each, "node", weight=10)
        heap.release(each, "superseded")

    assert collect(heap, 0) == [
        Collection(generation=0, number=1, collected=("a", "b"), kept=1, bytes=20)
    ]


def test_a_reference_made_between_two_slices_is_not_lost(heap: Heap) -> None:
    """The mutator that hides an object from a collector without a write barrier."""
    heap.allocate("kept", "node", ["holder"])
    heap.allocate("holder", "node", ["hidden"])
    heap.allocate("hidden", "node", ["below"])
    released(heap, "holder", "hidden", "below")
    for slices in range(12):
        heap.begin(0)
        for _ in range(slices):
            heap.step(1)

        heap.refer("kept", "hidden")
        heap.unrefer("holder", "hidden")
        heap.refer("holder", "hidden")
        heap.unrefer("kept", "hidden")
        while heap.collecting is not None:
            if part := heap.step(1):
                assert part.collected == ()
                heap.evolve(part)


@pytest.mark.parametrize("slices", range(12))
def test_a_chain_that_is_pinned_between_two_slices_keeps_its_members(
    heap: Heap, slices: int
) -> None:
    heap.allocate("chain", "chain", [("first", "member"), ("third", "member")])
    heap.allocate("first", "node", ["second"])
    released(heap, "first", "second", "third")
    heap.begin(0)
    for _ in range(slices):
        heap.step(1)

    heap.pin("chain")
    while heap.collecting is not None:
        if part := heap.step(1):
            heap.evolve(part)

    assert list(heap) == ["chain", "first", "second", "third"]


def test_a_part_waits_until_all_is_found_that_a_new_reference_keeps(heap: Heap) -> None:
    heap.allocate("kept", "node")
    released(heap, *"abcde")
    for one, other in pairwise("abcde"):
        heap.refer(one, other)
    heap.begin(0)
    assert heap.step()

    heap.refer("kept", "a")
    while not (part := heap.step(1)):
        pass

    assert part.collected == ()


def test_what_is_kept_again_before_the_record_is_not_in_it(heap: Heap) -> None:
    heap.allocate("kept", "node")
    released(heap, "a", "b", "c")
    heap.refer("b", "c")
    heap.begin(0)
    first = heap.step()
    assert first
    assert first.collected == ("a", "b", "c")

    heap.refer("kept", "b")
    second = heap.step()

    assert second
    assert (second.number, second.collected) == (first.number, ("a",))


def test_what_is_kept_again_between_the_collection_and_its_record_stays(heap: Heap) -> None:
    heap.allocate("kept", "node")
    released(heap, "a", "b", "c")
    heap.refer("b", "c")
    heap.begin(0)
    recorded = heap.step()
    assert recorded

    heap.refer("kept", "b")

    assert heap.evolve(recorded) == ("a",)
    assert list(heap) == ["b", "c", "kept"]


def test_a_collection_comes_in_parts_and_survivors_age_with_the_last_one() -> None:
    heap = Heap(HeapPolicy(listed=2, survived=(1, 1)))
    heap.allocate("kept", "node")
    released(heap, *"edcba")

    parts = collect(heap, 0)

    assert [each.collected for each in parts] == [("a", "b"), ("c", "d"), ("e",)]
    assert [(each.number, each.more, each.promoted) for each in parts] == [
        (1, True, 0),
        (2, True, 0),
        (3, False, 1),
    ]


def test_a_long_list_may_be_kept_again_before_any_of_it_is_recorded() -> None:
    heap = Heap(HeapPolicy(listed=1))
    ids = [f"{number:05}" for number in range(3_000)]
    heap.allocate("kept", "node")
    released(heap, *ids)
    heap.begin(0)
    assert heap.step(20_000)

    for each in ids:
        heap.refer("kept", each)
    while (part := heap.step(20_000)) is None:
        pass

    assert (part.collected, part.more) == ((), False)


def test_a_collection_that_is_recorded_twice_is_applied_once(heap: Heap) -> None:
    released(heap, "a")
    (recorded,) = collect(heap, 0)
    before = heap.digest()

    assert heap.evolve(recorded) == ()
    assert heap.digest() == before


def test_a_collection_that_was_skipped_is_refused(heap: Heap) -> None:
    with pytest.raises(CollectionOrderError, match="collection 2 cannot follow: the next one is 1"):
        heap.evolve(Collection(generation=0, number=2, collected=()))


def test_one_collection_goes_on_at_a_time_and_may_be_abandoned(heap: Heap) -> None:
    released(heap, "a")
    heap.begin(1)

    with pytest.raises(CollectionRunningError, match="of generation 1 is under way"):
        heap.begin(0)

    heap.abandon()
    assert heap.step() is None
    assert ids_of(collect(heap, 0)) == ["a"]


def test_what_was_collected_comes_back_into_the_nursery_with_its_references(heap: Heap) -> None:
    heap.allocate("old", "node", ["below"], weight=7)
    released(heap, "old", "below")
    collect(heap, 0)

    heap.restore("old")
    heap.restore("below")
    heap.release("below", "superseded")

    assert ids_of(collect(heap, 2)) == []
    assert generation_of(heap, "old") == 0
    assert heap.explain("below").references == 1
    assert sum(size.bytes for size in heap.sizes()) == 7


def test_a_pinned_chain_keeps_a_member_that_came_back(heap: Heap) -> None:
    heap.allocate("chain", "chain", [("first", "member")])
    released(heap, "first")
    collect(heap, 0)

    heap.restore("first")
    heap.release("first", "superseded")
    heap.pin("chain")

    assert ids_of(collect(heap, 2)) == []


def test_the_oldest_are_forgotten_when_too_many_went() -> None:
    heap = Heap(HeapPolicy(remembered=2))
    released(heap, "a", "b", "c")
    collect(heap, 0)

    with pytest.raises(ObjectUnknownError, match="the heap has no object a"):
        heap.restore("a")
    heap.allocate("a", "node")
    heap.restore("c")

    assert list(heap) == ["a", "c"]


def test_what_is_not_there_is_refused_and_what_is_there_is_not_made_twice(heap: Heap) -> None:
    heap.refer("known by its name", "other")

    for verb in (heap.root, heap.unroot, heap.pin, heap.unpin, heap.touch, heap.retain):
        with pytest.raises(ObjectUnknownError, match="no object known by its name"):
            verb("known by its name")
    heap.allocate("other", "node")
    with pytest.raises(ObjectExistsError, match="other is in the heap already"):
        heap.allocate("other", "node")
    with pytest.raises(ObjectExistsError):
        heap.restore("other")


def test_slots_are_used_again_and_forget_who_was_there(heap: Heap) -> None:
    for turn in range(50):
        ids = [f"{turn}/{each}" for each in range(20)]
        for each in ids:
            heap.allocate(each, "artefact", [ids[0]])
            heap.touch(each)
        released(heap, *ids)
        collect(heap, 0)

    heap.allocate("new", "node")

    assert list(heap) == ["new"]
    assert (heap.explain("new").references, heap.explain("new").reason) == (0, "")
    assert len(heap._graph.flags) < 50
    assert len(heap._graph.next) < 50
