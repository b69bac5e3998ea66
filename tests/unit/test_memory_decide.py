"""What is recorded, and what is refused with one clear line."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.bus import Event
from cortex.bus.events import (
    MemoryConsolidate,
    MemoryConsolidated,
    MemoryCorrect,
    MemoryCorrected,
    MemoryEdge,
    MemoryForget,
    MemoryForgotten,
    MemoryLink,
    MemoryLinked,
    MemoryPin,
    MemoryPinned,
    MemoryRecord,
    MemoryRecorded,
    MemoryRefused,
    MemoryRestore,
    MemoryRestored,
    MemorySuperseded,
    MemoryUndo,
    MemoryUndone,
    MemoryUnpinned,
)
from cortex.runtime.memory import Candidates, Decider, MemoryState

from .memory_world import DAY_NS, T0_NS, MemoryWorld


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld()


def refusal(facts: tuple[Event, ...]) -> str:
    (fact,) = facts
    assert isinstance(fact, MemoryRefused)
    assert "\n" not in fact.reason
    return fact.reason


def test_a_statement_becomes_a_node_with_who_said_it(world: MemoryWorld) -> None:
    (fact,) = world.ask(MemoryRecord(kind="preference", content="Tabs, not spaces"), by="ben")

    assert isinstance(fact, MemoryRecorded)
    assert (fact.content, fact.by, fact.scope) == ("Tabs, not spaces", "ben", "user")


def test_the_same_statement_again_is_a_further_source_and_no_second_node(
    world: MemoryWorld,
) -> None:
    first = world.record("We deploy on Fridays.")

    (fact,) = world.ask(
        MemoryRecord(kind="observation", content="we  deploy on fridays", source="execution/e1")
    )

    assert isinstance(fact, MemoryRecorded)
    assert (fact.node_id, fact.again, fact.content) == (first, True, "")
    assert fact.source == "execution/e1"


def test_the_same_statement_in_another_scope_or_of_another_subject_is_another_node(
    world: MemoryWorld,
) -> None:
    ids = {
        world.record("Tabs"),
        world.record("Tabs", scope="project:x"),
        world.record("Tabs", subject="s1"),
    }

    assert len(ids) == 3


def test_one_call_supersedes(world: MemoryWorld) -> None:
    old = world.record("The limit is 150")

    facts = world.ask(
        MemoryRecord(
            kind="decision", content="The limit is 200", edges=(MemoryEdge("supersedes", old),)
        )
    )

    assert [type(fact) for fact in facts] == [MemoryRecorded, MemorySuperseded]
    assert not world.decider.state.is_current(old)


def test_a_correction_is_a_node_in_the_place_of_what_was_wrong(world: MemoryWorld) -> None:
    old = world.record("The capital of Australia is Sydney")

    facts = world.ask(
        MemoryCorrect(node_id=old, content="The capital of Australia is Canberra", origin="person")
    )

    assert [type(fact) for fact in facts] == [MemoryRecorded, MemoryCorrected]
    assert world.decider.state.heads(old) == (facts[0].node_id,)  # type: ignore[attr-defined]


def test_what_replaced_is_not_replaced_by_what_it_replaced(world: MemoryWorld) -> None:
    a = world.record("one")
    b = world.record("two", edges=(MemoryEdge("supersedes", a),))
    c = world.record("three", edges=(MemoryEdge("supersedes", b),))

    reason = refusal(world.ask(MemoryLink(node_id=a, edge="supersedes", to=c)))

    assert f"memory {c} replaced {a}" in reason


def test_an_edge_to_nothing_is_refused_and_nothing_is_recorded(world: MemoryWorld) -> None:
    reason = refusal(
        world.ask(
            MemoryRecord(kind="decision", content="x", edges=(MemoryEdge("refines", "nowhere"),))
        )
    )

    assert "there is no memory 'nowhere'" in reason
    assert world.decider.state == MemoryState()


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (MemoryRecord(kind="decision", content="  "), "is empty"),
        (MemoryRecord(kind="decision", content="x" * 16_001), "16,001 characters"),
        (MemoryRecord(kind="decision", content="x", scope="team"), "is no scope"),
        (MemoryRecord(kind="decision", content="x", scope="project:"), "is no scope"),
        (MemoryRecord(kind="decision", content="x", scope="user:ada"), "is no scope"),
        (MemoryRecord(kind="decision", content="x", confidence=1.5), "between 0 and 1"),
        (MemoryRecord(kind="decision", content="x", confidence=float("nan")), "between 0 and 1"),
        (MemoryRecord(kind="decision", content="x", happened_ns=-1), "before 1970"),
        (MemoryRecord(kind="decision", content="x", happened_ns=T0_NS * 2), "ahead of the log"),
        (MemoryRecord(kind="decision", content="x", node_id="../x"), "is no id"),
        (MemoryRecord(kind="decision", content="x", entities=("e" * 201,)), "entity"),
        (MemoryRecord(kind="decision", content="x", entities=("e",) * 33), "33 entities"),
        (MemoryRecord(kind="decision", content="x", embedding=(float("inf"),)), "float32"),
        (MemoryRecord(kind="decision", content="x", embedding=(float("nan"),)), "float32"),
        (MemoryRecord(kind="decision", content="x", embedding=(1e300,)), "float32"),
        (MemoryRecord(kind="decision", content="x", entities=("a", " ")), "an entity is empty"),
        (MemoryRecord(kind="preference", content="x", origin="model"), "a model cannot record"),
        (MemoryForget(node_id="none"), "there is no memory"),
        (MemoryUndo(consolidation_id="none"), "there is no consolidation"),
    ],
)
def test_bad_input_is_one_clear_line(world: MemoryWorld, request_: Event, words: str) -> None:
    assert words in refusal(world.ask(request_))


def test_embeddings_of_two_sizes_in_one_scope_are_refused(world: MemoryWorld) -> None:
    first = world.record("one", embedding=(0.5, 0.5))

    reason = refusal(
        world.ask(MemoryRecord(kind="observation", content="two", embedding=(0.5,) * 3), by="ben")
    )

    assert "has 3 values, and those of the scope user have 2" in reason
    assert f"since ada recorded memory {first}" in reason


def test_the_embedder_of_one_scope_binds_no_other(world: MemoryWorld) -> None:
    world.record("one", scope="project:a", embedding=(0.5, 0.5))

    world.record("one", scope="project:b", embedding=(0.5,) * 3)
    world.record("two", scope="project:b", embedding=(0.5,) * 3)

    assert "has 2 values" in refusal(
        world.ask(
            MemoryRecord(
                kind="observation", content="three", scope="project:b", embedding=(0.5, 0.5)
            )
        )
    )


def test_a_model_replaces_nothing_that_a_person_recorded(world: MemoryWorld) -> None:
    fact = world.record("The user is allergic to nuts")

    reasons = [
        refusal(
            world.ask(
                MemoryRecord(
                    kind="observation",
                    content="The user loves nuts",
                    origin="model",
                    edges=(MemoryEdge(edge, fact),),
                )
            )
        )
        for edge in ("supersedes", "contradicts")
    ]
    reasons.append(
        refusal(world.ask(MemoryCorrect(node_id=fact, content="loves nuts", origin="model")))
    )

    assert all("a model cannot" in reason for reason in reasons)
    assert world.decider.state.is_current(fact)


def test_what_is_of_two_subjects_is_not_joined(world: MemoryWorld) -> None:
    anna = world.record("likes tea", subject="anna")

    reason = refusal(
        world.ask(
            MemoryRecord(kind="decision", content="buy tea", edges=(MemoryEdge("refines", anna),)),
            "ben",
        )
    )

    assert "another subject" in reason


def test_a_project_does_not_replace_what_others_see(world: MemoryWorld) -> None:
    everywhere = world.record("Tabs")

    reason = refusal(
        world.ask(
            MemoryRecord(
                kind="decision",
                content="Spaces",
                scope="project:x",
                edges=(MemoryEdge("supersedes", everywhere),),
            )
        )
    )

    assert "is of the scope user" in reason


def test_a_request_for_one_scope_does_not_reach_another(world: MemoryWorld) -> None:
    secret = world.record("The merger is in May", scope="project:secret")

    reason = refusal(world.ask(MemoryForget(node_id=secret, scope="user")))

    assert "in the scope user" in reason
    assert world.decider.state.is_live(secret)


def test_forgotten_comes_back_as_it_was_recorded(world: MemoryWorld) -> None:
    node = world.record("Tea at four", source="a note")
    assert [type(f) for f in world.ask(MemoryForget(node_id=node))] == [MemoryForgotten]

    assert "cortex memory restore" in refusal(world.ask(MemoryForget(node_id=node)))
    (back,) = world.ask(MemoryRestore(node_id=node))

    assert isinstance(back, MemoryRestored)
    assert (back.content, back.source) == ("Tea at four", "a note")
    assert world.decider.state.is_current(node)
    assert "nothing is to be restored" in refusal(world.ask(MemoryRestore(node_id=node)))


def test_what_was_forgotten_and_is_said_again_is_a_new_node(world: MemoryWorld) -> None:
    node = world.record("Tea at four")
    world.ask(MemoryForget(node_id=node))

    assert world.record("Tea at four") != node


def test_a_pin_is_set_and_released_once(world: MemoryWorld) -> None:
    node = world.record("x")

    assert [type(f) for f in world.ask(MemoryPin(node_id=node))] == [MemoryPinned]
    assert "pinned already" in refusal(world.ask(MemoryPin(node_id=node)))
    assert [type(f) for f in world.ask(MemoryPin(node_id=node, pinned=False))] == [MemoryUnpinned]


def test_an_edge_that_exists_is_not_added_again(world: MemoryWorld) -> None:
    a, b = world.record("a"), world.record("b")

    assert [type(f) for f in world.ask(MemoryLink(node_id=a, edge="led_to", to=b))] == [
        MemoryLinked
    ]
    assert "already" in refusal(world.ask(MemoryLink(node_id=a, edge="led_to", to=b)))


def test_undoing_a_consolidation_takes_away_what_it_wrote_once(world: MemoryWorld) -> None:
    node = world.record("summary")
    fact = MemoryConsolidated(consolidation_id="c1", scope="user", read=(), wrote=(node,))
    world.decider.state.apply(fact)

    (undone,) = world.ask(MemoryUndo(consolidation_id="c1"))

    assert isinstance(undone, MemoryUndone)
    assert not world.decider.state.is_live(node)
    assert "was undone" in refusal(world.ask(MemoryUndo(consolidation_id="c1")))


def test_an_import_keeps_ids_and_refuses_another_text_under_one(world: MemoryWorld) -> None:
    record = MemoryRecord(kind="decision", content="x", node_id="abcd1234")
    (fact,) = world.ask(record)
    assert isinstance(fact, MemoryRecorded)
    assert fact.node_id == "abcd1234"

    (again,) = world.ask(record)
    other = world.ask(MemoryRecord(kind="decision", content="y", node_id="abcd1234"))

    assert isinstance(again, MemoryRecorded)
    assert again.again
    assert "says something else" in refusal(other)


CONTENTS = st.sampled_from(["a", "b", "c", "d", "A."])
KNOWN = st.integers(0, 7)


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, int, int, str]:
    what = draw(st.sampled_from(["record", "correct", "link", "pin", "forget", "restore"]))
    return what, draw(KNOWN), draw(KNOWN), draw(CONTENTS)


def run(world: MemoryWorld, asked: list[tuple[str, int, int, str]]) -> None:
    for what, one, other, content in asked:
        ids = sorted(world.decider.state.nodes) or ["none"]
        a, b = ids[one % len(ids)], ids[other % len(ids)]
        match what:
            case "record":
                edges = (MemoryEdge("supersedes", b),) if other % 2 and b != "none" else ()
                world.ask(MemoryRecord(kind="observation", content=content, edges=edges))
            case "correct":
                world.ask(MemoryCorrect(node_id=a, content=content))
            case "link":
                edge = ("supersedes", "refines", "contradicts")[other % 3]
                world.ask(MemoryLink(node_id=a, edge=edge, to=b))  # type: ignore[arg-type]
            case "pin":
                world.ask(MemoryPin(node_id=a, pinned=bool(other % 2)))
            case "forget":
                world.ask(MemoryForget(node_id=a))
            case _:
                world.ask(MemoryRestore(node_id=a))


@settings(max_examples=200, deadline=None)
@given(st.lists(requests(), max_size=25))
def test_the_state_is_the_fold_of_the_facts_also_if_they_come_twice(
    asked: list[tuple[str, int, int, str]],
) -> None:
    from .memory_world import typed

    world = MemoryWorld()
    run(world, asked)
    folded = MemoryState()
    for record, event in zip(world.records, typed(world.records), strict=True):
        if record.source == "MemoryChainEngine":
            folded.apply(event, position=record.position)

    assert folded == world.decider.state


@settings(max_examples=200, deadline=None)
@given(st.lists(requests(), max_size=25))
def test_supersedes_never_makes_a_circle(asked: list[tuple[str, int, int, str]]) -> None:
    world = MemoryWorld()
    run(world, asked)
    state = world.decider.state

    for node_id in state.nodes:
        assert not state.replaces(node_id, node_id)


def test_clocks_that_are_a_little_ahead_are_taken(world: MemoryWorld) -> None:
    facts = world.ask(
        MemoryRecord(kind="decision", content="x", happened_ns=T0_NS + DAY_NS + DAY_NS // 2)
    )

    assert isinstance(facts[0], MemoryRecorded)


@pytest.fixture
def comparing() -> MemoryWorld:
    world = MemoryWorld()
    world.decider = Decider(world.decider.state, Candidates(world.decider.state))
    return world


def test_what_a_statement_surely_updates_is_superseded_with_the_reason(
    comparing: MemoryWorld,
) -> None:
    old = comparing.record("The limit for uploads is 150 MB")
    other = comparing.record("The limit for downloads is 900 MB")

    facts = comparing.ask(
        MemoryRecord(kind="decision", content="The limit for uploads is now 200 MB")
    )

    assert [type(fact) for fact in facts] == [MemoryRecorded, MemorySuperseded]
    (superseded,) = (fact for fact in facts if isinstance(fact, MemorySuperseded))
    assert superseded.node_id == old
    assert superseded.certainty >= 0.95
    assert "'200' in place of '150'" in superseded.because
    assert comparing.decider.state.is_current(other)


@pytest.mark.parametrize(
    "fields",
    [
        {"update": False},
        {"origin": "model", "kind": "observation"},
        {"scope": "project:x"},
        {"happened_ns": 1},
    ],
)
def test_nothing_is_updated_by_a_model_elsewhere_before_or_unasked(
    comparing: MemoryWorld, fields: dict[str, Any]
) -> None:
    old = comparing.record("The limit for uploads is 150 MB", happened_ns=T0_NS)

    given = {"kind": "decision", "origin": "person", **fields}
    comparing.ask(MemoryRecord(content="The limit for uploads is now 200 MB", **given))

    assert comparing.decider.state.is_current(old)


def test_what_left_memory_is_not_updated(comparing: MemoryWorld) -> None:
    old = comparing.record("The limit for uploads is 150 MB")
    comparing.ask(MemoryForget(node_id=old))

    facts = comparing.ask(
        MemoryRecord(kind="decision", content="The limit for uploads is now 200 MB")
    )

    assert [type(fact) for fact in facts] == [MemoryRecorded]


@pytest.mark.parametrize(
    "request_of",
    [
        lambda node, _: MemoryForget(node_id=node),
        lambda node, _: MemoryPin(node_id=node),
        lambda node, other: MemoryLink(node_id=node, edge="refines", to=other),
    ],
)
def test_a_request_of_one_subject_changes_nothing_of_another(
    world: MemoryWorld, request_of: Callable[[str, str], Event]
) -> None:
    # The fact would be erased with the subject of its request, and the change with it.
    node, other = world.record("Tabs"), world.record("Spaces are fine in tables")

    assert "about another subject" in refusal(world.ask(request_of(node, other), subject="s1"))


@pytest.mark.parametrize("request_", [MemoryConsolidate(), MemoryUndo(consolidation_id="c1")])
def test_consolidations_are_asked_for_without_a_subject(
    world: MemoryWorld, request_: Event
) -> None:
    assert "without a subject" in refusal(world.ask(request_, subject="s1"))


def test_what_is_restored_belongs_to_whom_it_is_about(world: MemoryWorld) -> None:
    node = world.record("Likes tea", subject="s1")
    world.ask(MemoryForget(node_id=node))

    (fact,) = world.ask(MemoryRestore(node_id=node))

    assert isinstance(fact, MemoryRestored)
    assert fact.subject == "s1"
