"""Why an object is there or why it went, as data and in words; when its owner releases it."""

import pytest

from cortex.runtime.gc import (
    Heap,
    Hop,
    ObjectFacts,
    ObjectUnknownError,
    RetentionRules,
    reason_to_release,
    strength,
)

from .gc_world import collect

RULES = RetentionRules()


@pytest.fixture
def heap() -> Heap:
    """A running execution and an outcome, which keep a decision and its evidence."""
    heap = Heap()
    heap.allocate("run", "execution", [("package", "used")])
    heap.root("run")
    heap.allocate("package", "package", [("decision", "compiled_from")])
    heap.allocate("outcome", "node", [("decision", "caused_by")])
    heap.allocate("decision", "node", [("evidence", "cites"), ("outcome", "led_to")])
    heap.allocate("evidence", "node")
    heap.release("package", "unused")
    heap.release("decision", "superseded")
    heap.release("evidence", "faded")
    return heap


def test_an_object_that_keeps_itself_says_how(heap: Heap) -> None:
    heap.allocate("chain", "chain")
    heap.pin("chain")

    assert str(heap.explain("run")) == "run (execution) stays: it is in use (a root)."
    assert str(heap.explain("chain")) == "chain (chain) stays: it is pinned."
    assert str(heap.explain("outcome")) == (
        "outcome (node) stays: it has not been released by its owner."
    )


def test_the_shortest_path_is_given_with_the_kinds_of_its_references(heap: Heap) -> None:
    found = heap.explain("evidence")

    assert (found.state, found.because, found.reason) == ("kept", "not released", "faded")
    assert found.path == (
        Hop(id="outcome", kind="node"),
        Hop(id="decision", kind="node", reference="caused_by"),
        Hop(id="evidence", kind="node", reference="cites"),
    )
    assert str(found) == (
        "evidence (node) stays although its owner released it (faded): outcome (node) has not been "
        "released by its owner. outcome keeps decision (node) by `caused_by`. decision keeps "
        "evidence (node) by `cites`."
    )


def test_of_paths_of_one_length_the_first_by_its_ids_is_given(heap: Heap) -> None:
    for each in ("zebra", "aardvark", "mouse"):
        heap.allocate(each, "node", ["decision"])

    assert [hop.id for hop in heap.explain("decision").path] == ["aardvark", "decision"]


def test_what_does_not_keep_now_is_on_no_path(heap: Heap) -> None:
    heap.allocate("chain", "chain", [("old", "member")])
    heap.allocate("old", "node")
    heap.release("old", "superseded")

    assert heap.explain("old").state == "garbage"
    heap.pin("chain")

    assert [hop.id for hop in heap.explain("old").path] == ["chain", "old"]


def test_garbage_says_when_it_goes(heap: Heap) -> None:
    heap.allocate("one", "node", ["other"])
    heap.allocate("other", "node")
    for each in ("one", "other"):
        heap.release(each, "forgotten")

    assert str(heap.explain("one")) == (
        "one (node) goes with the next collection: its owner released it (forgotten), and nothing "
        "that stays keeps it."
    )
    assert "goes with a collection of generation 0" in str(heap.explain("other"))


def test_what_went_says_by_which_collection_and_why_its_owner_had_released_it(heap: Heap) -> None:
    collect(heap, 0)
    heap.allocate("old", "node")
    heap.release("old", "superseded")
    collect(heap, 1)

    found = heap.explain("old")

    assert (found.state, found.collection, found.looked_at) == ("collected", 2, 1)
    assert str(found) == (
        "old (node) went with collection 2, of generation 1: its owner released it (superseded), "
        "and nothing that stayed kept it. It can be restored."
    )


def test_what_was_never_there_is_refused(heap: Heap) -> None:
    heap.refer("outcome", "never there")

    with pytest.raises(ObjectUnknownError):
        heap.explain("never there")


def node(**facts: object) -> ObjectFacts:
    return ObjectFacts(kind="node", node_type="decision", **facts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (node(idle_days=10_000), None),
        (node(forgotten=True), "forgotten"),
        (node(versions=3, superseded_days=1_000), None),
        (node(versions=4, superseded_days=89), None),
        (node(versions=4, superseded_days=90), "superseded"),
        (ObjectFacts(kind="node", node_type="observation", idle_days=129), None),
        (ObjectFacts(kind="node", node_type="observation", idle_days=130), "faded"),
        (ObjectFacts(kind="node", node_type="observation", idle_days=130, uses=1), None),
        (ObjectFacts(kind="execution", idle_days=1_000), None),
        (ObjectFacts(kind="execution", ended_days=90), "expired"),
        (ObjectFacts(kind="package", idle_days=89), None),
        (ObjectFacts(kind="package", idle_days=90), "unused"),
        (ObjectFacts(kind="artefact", idle_days=30), "unused"),
        (ObjectFacts(kind="chain", members=1, idle_days=1_000), None),
        (ObjectFacts(kind="chain"), "empty"),
    ],
)
def test_an_owner_releases_by_the_table(facts: ObjectFacts, reason: str | None) -> None:
    assert reason_to_release(facts, RULES) == reason


def test_a_memory_is_half_as_strong_after_a_half_life_and_stronger_by_each_use() -> None:
    assert strength(0, 0, 30) == 1
    assert strength(30, 0, 30) == 0.5
    assert strength(30, 1, 30) == 1
