"""ARC decides as the paper's does, page by page; with weights it keeps its bounds."""

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cortex.runtime.cache import Arc

from ..arc_of_the_paper import PaperArc
from ..cache_traces import FOLDER, SEED, SEEDED, is_recorded, recorded

# Hit rates in per cent that the paper reports for OLTP, by pages.
OF_OLTP = {1_000: 38.93, 2_000: 46.08, 5_000: 55.25, 10_000: 61.87, 15_000: 65.40}


def requested(arc: Arc[int, str], page: int, weight: int = 1) -> bool:
    if arc.get(page) is not None:
        return True
    arc.put(page, "value", weight)
    return False


@pytest.mark.parametrize("capacity", [1, 50, 1_000])
@pytest.mark.parametrize("name", SEEDED)
def test_on_every_trace_it_hits_and_ends_exactly_as_the_paper_s(name: str, capacity: int) -> None:
    trace = SEEDED[name]()[:30_000]
    ours: Arc[int, str] = Arc(capacity)
    theirs = PaperArc(capacity)

    for at, page in enumerate(trace):
        assert requested(ours, page) == theirs.request(page), f"request {at}"

    assert ours.lists() == theirs.lists()
    assert ours.p == theirs.p


def test_on_many_short_traces_all_four_lists_stay_the_paper_s() -> None:
    drawn = random.Random(SEED)
    for _ in range(2_000):
        capacity = drawn.randint(1, 6)
        trace = drawn.choices(range(2 * capacity + 3), k=60)
        ours: Arc[int, str] = Arc(capacity)
        theirs = PaperArc(capacity)

        for page in trace:
            assert requested(ours, page) == theirs.request(page), (capacity, trace)
            assert ours.lists() == theirs.lists(), (capacity, trace)


@given(
    capacity=st.integers(1, 8),
    trace=st.lists(st.integers(0, 20), max_size=200),
)
@example(capacity=3, trace=[6, 0, 0, 7, 5, 6, 7, 0])  # T1 has exactly p, and the page is in B2
@settings(max_examples=400)
def test_after_every_request_all_four_lists_are_the_paper_s(
    capacity: int, trace: list[int]
) -> None:
    ours: Arc[int, str] = Arc(capacity)
    theirs = PaperArc(capacity)

    for page in trace:
        assert requested(ours, page) == theirs.request(page)

        assert ours.lists() == theirs.lists()
        assert ours.p == theirs.p


@pytest.mark.skipif(not is_recorded("OLTP"), reason="CORTEX_TRACES names no folder with OLTP.lis")
@pytest.mark.parametrize("capacity", OF_OLTP)
def test_on_the_paper_s_own_trace_it_has_the_hit_rate_that_the_paper_reports(
    capacity: int,
) -> None:
    ours: Arc[int, str] = Arc(capacity)

    trace = list(recorded("OLTP"))
    hits = sum(requested(ours, page) for page in trace)

    assert FOLDER
    assert 100 * hits / len(trace) == pytest.approx(OF_OLTP[capacity], abs=0.025)


OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("request"), st.integers(0, 15), st.integers(1, 40)),
        st.tuples(st.just("put"), st.integers(0, 15), st.integers(1, 40)),
        st.tuples(st.just("drop"), st.integers(0, 15), st.just(0)),
    ),
    max_size=150,
)


@given(capacity=st.integers(1, 60), most=st.none() | st.integers(0, 6), operations=OPERATIONS)
@settings(max_examples=400)
def test_with_weights_no_list_ever_passes_its_bound(
    capacity: int, most: int | None, operations: list[tuple[str, int, int]]
) -> None:
    arc: Arc[int, str] = Arc(capacity, most)

    for what, key, weight in operations:
        if what == "request":
            requested(arc, key, weight)
        elif what == "put":
            arc.put(key, "value", weight)
        else:
            arc.drop(key)

        t1, t2, b1, b2 = arc.weights
        assert arc.weight == t1 + t2 <= capacity
        assert t1 + b1 <= capacity
        assert t1 + t2 + b1 + b2 <= 2 * capacity
        assert 0 <= arc.p <= capacity
        assert most is None or arc.ghosts <= most
        keys = [key for each in arc.lists() for key in each]
        assert len(keys) == len(set(keys))
        assert min(arc.weights) >= 0


@given(operations=OPERATIONS)
def test_the_weights_are_those_of_what_is_held(operations: list[tuple[str, int, int]]) -> None:
    arc: Arc[int, int] = Arc(60)

    for what, key, weight in operations:
        if what == "drop":
            arc.drop(key)
        elif arc.get(key) is None or what == "put":
            arc.put(key, weight, weight)

    held = [arc.get(key) for each in arc.lists()[:2] for key in each]
    assert arc.weight == sum(weight for weight in held if weight is not None)


def test_what_is_heavier_than_the_whole_cache_is_not_held_and_evicts_nothing() -> None:
    arc: Arc[str, str] = Arc(10)
    arc.put("small", "value", 10)

    assert not arc.put("large", "value", 11)

    assert arc.get("small") == "value"
    assert arc.get("large") is None


def test_a_value_that_comes_back_as_a_ghost_counts_as_used_twice() -> None:
    arc: Arc[str, str] = Arc(2)
    arc.put("old", "value")
    arc.get("old")
    for key in ("a", "b"):
        arc.put(key, "value")
    assert arc.lists() == (["b"], ["old"], ["a"], [])

    arc.put("a", "value")

    assert "a" in arc.lists()[1]
    assert arc.counts.ghost_hits == 1


def test_one_scan_does_not_evict_what_is_used_again_and_again() -> None:
    arc: Arc[int, str] = Arc(100)
    for _ in range(3):
        for page in range(50):
            requested(arc, page)

    for page in range(1_000, 3_000):
        requested(arc, page)

    assert all(page in arc for page in range(50))


def test_what_is_forgotten_leaves_no_ghost() -> None:
    arc: Arc[int, str] = Arc(3)
    for page in range(6):
        arc.put(page, "value", 1, (b"anna",) if page % 2 else ())
    assert arc.ghosts or len(arc) == 3

    arc.forget(lambda tags: b"anna" in tags)

    assert not [key for each in arc.lists() for key in each if key % 2]


def everything(_: tuple[bytes, ...]) -> bool:
    return True


@pytest.mark.parametrize("forgets", [True, False])
def test_an_emptied_cache_works_as_a_new_one(forgets: bool) -> None:
    arc: Arc[int, str] = Arc(5)
    for page in (1, 2, 1, 3, 4, 5, 6, 7, 1, 2, 3):
        requested(arc, page)

    if forgets:
        arc.forget(everything)
    else:
        arc.clear()

    assert arc.weights == (0, 0, 0, 0)
    assert not requested(arc, 1)
    assert requested(arc, 1)
