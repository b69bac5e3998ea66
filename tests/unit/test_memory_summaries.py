"""Long chains are summarised by their own sentences, anew as they grow, and never by a model."""

from cortex.bus.events import (
    MemoryConsolidate,
    MemoryConsolidated,
    MemoryCorrect,
    MemoryEdge,
    MemoryForget,
    MemoryForgotten,
    MemoryRecorded,
    MemorySuperseded,
    MemoryUndo,
)

from .memory_world import MemoryWorld

PLACES = (
    "Oslo",
    "Rome",
    "Lima",
    "Cairo",
    "Quito",
    "Accra",
    "Hanoi",
    "Dakar",
    "Perth",
    "Delhi",
    "Tunis",
)


def said(n: int) -> str:
    place = PLACES[n % len(PLACES)]
    return (
        f"In the {n}th week the load balancer of the {place} cluster dropped {n * 37 + 5} "
        f"connections. It was a faulty rule number {n * n + 11}, which {place} had copied by hand "
        "from an older release and never tested before."
    )


def chain(
    world: MemoryWorld, count: int, start: int = 0, after: str = "", subject: str = ""
) -> list[str]:
    """The ids of decisions, each caused by the one before."""
    ids: list[str] = []
    for n in range(start, start + count):
        before = ids[-1] if ids else after
        edges = (MemoryEdge("caused_by", before),) if before else ()
        ids.append(world.record(said(n), subject, kind="decision", edges=edges))
    return ids


def consolidate(world: MemoryWorld, most: int = 1_000) -> list[MemoryRecorded]:
    facts = world.ask(MemoryConsolidate(most=most))
    assert any(isinstance(fact, MemoryConsolidated) for fact in facts), facts
    return [fact for fact in facts if isinstance(fact, MemoryRecorded)]


def cited(fact: MemoryRecorded, edge: str = "refines") -> list[str]:
    return [each.to for each in fact.edges if each.edge == edge]


def test_a_long_chain_becomes_one_memory_of_its_own_sentences_that_cites_all_of_it() -> None:
    world = MemoryWorld()
    ids = chain(world, 12)

    (wrote,) = consolidate(world)

    assert cited(wrote) == ids
    assert (wrote.form, wrote.times, wrote.origin) == ("summary", 12, "rule")
    begins, _, text = wrote.content.partition(": ")
    assert begins == "Summary of 12 memories"
    whole = " ".join(said(n) for n in range(12))
    sentences = [each.strip(" .") for each in text.split(". ")]
    assert len(sentences) > 3
    assert all(sentence in whole for sentence in sentences)
    assert len(text) < len(whole) / 2
    assert world.view().chain(ids[0]).current[0].id == wrote.node_id


def test_statements_without_a_full_stop_do_not_run_into_one_another() -> None:
    world = MemoryWorld()
    before = ""
    for n in range(12):
        edges = (MemoryEdge("caused_by", before),) if before else ()
        before = world.record(said(n).removesuffix("."), kind="decision", edges=edges)

    (wrote,) = consolidate(world)

    text = wrote.content.partition(": ")[2]
    whole = {each.strip(".") for n in range(12) for each in said(n).split(". ")}
    assert len(text.split(". ")) > 3
    assert all(each.strip(".") in whole for each in text.split(". "))


def test_a_short_chain_and_one_that_takes_few_tokens_need_no_summary() -> None:
    world = MemoryWorld()
    chain(world, 7)
    before = ""
    for n in range(20):
        edges = (MemoryEdge("led_to", before),) if before else ()
        before = world.record(f"step {n}", kind="decision", edges=edges)

    assert consolidate(world) == []


def test_it_is_written_anew_as_the_chain_grows_and_supersedes_the_older_one() -> None:
    world = MemoryWorld()
    ids = chain(world, 10)
    (first,) = consolidate(world)

    ids += chain(world, 2, 10, ids[-1])
    assert consolidate(world) == []
    ids += chain(world, 1, 12, ids[-1])
    (second,) = consolidate(world)

    assert (cited(second), cited(second, "supersedes")) == (ids, [first.node_id])
    states = world.view().states([first.node_id, second.node_id])
    assert [each.current for each in states.values()] == [False, True]


def test_undoing_the_newer_one_brings_the_older_one_back_and_the_next_waits_for_more() -> None:
    world = MemoryWorld()
    ids = chain(world, 10)
    (first,) = consolidate(world)
    ids += chain(world, 3, 10, ids[-1])
    (second,) = consolidate(world)

    world.ask(MemoryUndo(consolidation_id=second.consolidation_id))

    state = world.decider.state
    assert state.is_current(first.node_id)
    assert world.view().states([first.node_id])[first.node_id].current
    assert consolidate(world) == []
    ids += chain(world, 3, 13, ids[-1])
    (third,) = consolidate(world)
    assert (cited(third), cited(third, "supersedes")) == (ids, [first.node_id])


def test_two_chains_that_became_one_have_one_summary() -> None:
    world = MemoryWorld()
    left, right = chain(world, 9), chain(world, 9, 20)
    one, other = consolidate(world)

    chain(world, 1, 40, left[-1])
    world.record(
        said(41),
        kind="decision",
        edges=(
            MemoryEdge("led_to", left[0]),
            MemoryEdge("led_to", right[0]),
        ),
    )
    (both,) = consolidate(world)

    assert set(cited(both, "supersedes")) == {one.node_id, other.node_id}
    assert set(cited(both)) >= {*left, *right}


def test_when_a_memory_is_forgotten_no_summary_says_it_any_longer() -> None:
    world = MemoryWorld()
    ids = chain(world, 10)
    (first,) = consolidate(world)
    ids += chain(world, 3, 10, ids[-1])
    (second,) = consolidate(world)

    facts = world.ask(MemoryForget(node_id=ids[2], scope="user"))

    gone = [fact.node_id for fact in facts if isinstance(fact, MemoryForgotten)]
    assert gone == [ids[2], first.node_id, second.node_id]
    (third,) = consolidate(world)
    assert cited(third) == [each for each in ids if each != ids[2]]
    assert cited(third, "supersedes") == []
    assert "37 connections" not in third.content


def test_when_a_memory_is_replaced_the_summary_goes_and_the_next_one_says_what_holds() -> None:
    world = MemoryWorld()
    ids = chain(world, 10)
    consolidate(world)

    facts = world.ask(MemoryCorrect(node_id=ids[3], content=said(50), scope="user"))

    assert sum(isinstance(fact, MemoryForgotten) for fact in facts) == 1
    (again,) = consolidate(world)
    assert ids[3] not in cited(again)
    assert len(cited(again)) == 10


def test_nothing_that_a_model_said_is_in_it_and_people_are_kept_apart() -> None:
    world = MemoryWorld()
    ids = chain(world, 9)
    model = world.record(
        "Paris has a bug", origin="model", edges=(MemoryEdge("caused_by", ids[-1]),)
    )
    elsewhere = world.record(said(30), scope="project:x", edges=(MemoryEdge("caused_by", ids[-1]),))

    (wrote,) = consolidate(world)

    assert not {model, elsewhere} & set(cited(wrote))
    assert "Paris" not in wrote.content


def test_a_memory_too_long_to_be_compared_is_in_the_summary_all_the_same() -> None:
    world = MemoryWorld()
    ids = chain(world, 8)
    words = " ".join(
        f"The valve {n} of the plant in Bergen leaks {n * 3} litres." for n in range(40)
    )
    ids.append(world.record(words, kind="decision", edges=(MemoryEdge("caused_by", ids[-1]),)))

    (wrote,) = consolidate(world)

    assert cited(wrote) == ids
    assert "Bergen" in wrote.content


def test_a_fence_of_code_that_nothing_ends_hides_no_other_memory() -> None:
    world = MemoryWorld()
    ids = [world.record("``` the rest of it", kind="decision")]
    ids += chain(world, 9, 0, ids[0])

    (wrote,) = consolidate(world)

    assert "connections" in wrote.content


def test_a_budget_writes_at_least_one_and_leaves_the_others_for_the_next() -> None:
    world = MemoryWorld()
    chain(world, 9)
    chain(world, 9, 20)

    first, second, third = (consolidate(world, most=5) for _ in range(3))

    assert [len(each) for each in (first, second, third)] == [1, 1, 0]


def test_what_a_consolidation_wrote_superseded_nothing_that_was_said() -> None:
    world = MemoryWorld()
    ids = chain(world, 10)

    facts = world.ask(MemoryConsolidate())

    assert not any(isinstance(fact, MemorySuperseded) for fact in facts)
    assert all(map(world.decider.state.is_current, ids))
