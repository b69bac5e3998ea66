"""Consolidation: it cites what it read, mixes nobody's, deletes nothing, and can be taken back."""

from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.bus import Event
from cortex.bus.events import (
    MemoryConsolidate,
    MemoryConsolidated,
    MemoryCorrect,
    MemoryEdge,
    MemoryForget,
    MemoryForgotten,
    MemoryRecorded,
    MemoryRefused,
    MemoryRestore,
    MemoryUndo,
)
from cortex.runtime.memory import MemoryState

from .memory_world import MemoryWorld, typed

SAID = (
    "The build of the shop failed in the linter",
    "The build of the shop failed again in the linter",
    "The shop: its build failed in the linter",
)


def consolidate(world: MemoryWorld, most: int = 1_000, scope: str = "") -> list[MemoryRecorded]:
    facts = world.ask(MemoryConsolidate(scope=scope, most=most))
    assert isinstance(facts[-1], MemoryConsolidated), facts
    return [fact for fact in facts if isinstance(fact, MemoryRecorded)]


def test_what_was_said_again_and_again_becomes_one_memory_that_cites_it() -> None:
    world = MemoryWorld()
    ids = [world.record(text) for text in SAID]
    world.record("Lunch is at noon")

    (wrote,) = consolidate(world)

    assert wrote.content == f"Said 3 times: {SAID[0]}"
    assert [(edge.edge, edge.to) for edge in wrote.edges] == [("refines", each) for each in ids]
    assert wrote.quote.splitlines() == list(SAID[1:])
    assert all(world.view().states(ids)[each].current for each in ids)


def test_it_reads_nothing_twice_and_goes_on_where_its_budget_ended() -> None:
    world = MemoryWorld()
    for n in range(2):
        for text in SAID:
            world.record(text.replace("linter", f"linter{n}").replace("shop", f"shop{n}"))

    first, second, third = (consolidate(world, most) for most in (3, 3, 1_000))

    assert (len(first), len(second), len(third)) == (1, 1, 0)


def test_what_fits_no_cluster_does_not_keep_it_from_the_rest() -> None:
    world = MemoryWorld()
    for text in ("Lunch at noon", "Tabs, not blanks", "Python 3.11", "Use nng", "Tea is out"):
        world.record(text)
    for text in SAID:
        world.record(text)

    wrote = [consolidate(world, most=2) for _ in range(4)]

    assert [len(each) for each in wrote] == [0, 0, 0, 1]  # the last statement completes it
    ends = [each for each in typed(world.records) if isinstance(each, MemoryConsolidated)]
    assert [each.left for each in ends] == [6, 4, 2, 0]
    assert len({node for each in ends for node in each.read}) == 8


def test_a_memory_that_cites_what_was_replaced_is_forgotten_and_the_rest_read_again() -> None:
    world = MemoryWorld()
    ids = [world.record(text) for text in (*SAID, "The build of the shop failed in its linter")]
    (wrote,) = consolidate(world)

    facts = world.ask(MemoryCorrect(node_id=ids[0], content="It was the tests", scope="user"))

    (left,) = [each for each in facts if isinstance(each, MemoryForgotten)]
    assert (left.node_id, left.why) == (
        wrote.node_id,
        f"memory {ids[0]}, which it cites, was replaced",
    )
    (again,) = consolidate(world)
    assert [edge.to for edge in again.edges] == ids[1:]


def test_a_cluster_that_has_grown_is_written_anew_and_cites_old_and_new() -> None:
    world = MemoryWorld()
    ids = [world.record(text) for text in SAID]
    (first,) = consolidate(world)

    ids += [world.record(f"{SAID[0]} {word}") for word in ("again", "anew")]
    assert consolidate(world) == []  # two more are read, and told with the next one
    ids.append(world.record(f"{SAID[0]} finally"))
    (second,) = consolidate(world)

    assert second.content.startswith("Said 6 times: ")
    assert [edge.to for edge in second.edges] == [*ids, first.node_id]
    assert second.edges[-1].edge == "supersedes"
    assert world.view().states([first.node_id])[first.node_id].successors == (second.node_id,)
    assert world.decider.state.said.keys() == set(ids)


def test_what_does_not_fit_into_a_quote_is_quoted_by_the_sentences_that_say_most() -> None:
    world = MemoryWorld()
    words = (
        "The nightly build of the shop on the old runner in the cellar failed in the linter with"
    )
    texts = [
        f"{words} rule {chr(65 + n // 26)}{chr(97 + n % 26)}x. It took hours until the person "
        f"{chr(65 + n % 26)}{chr(97 + n // 26)}y saw it"
        for n in range(60)
    ]
    for text in texts:
        world.record(text)

    (wrote,) = consolidate(world)

    assert wrote.times == len([edge for edge in wrote.edges if edge.edge == "refines"]) == 60
    assert 2_000 < len(wrote.quote) < 4_000
    whole = " ".join(texts)
    assert all(line.strip(" .") in whole for line in wrote.quote.splitlines())


def test_statements_that_differ_in_a_number_are_not_one_that_was_said_again() -> None:
    world = MemoryWorld()
    for n in range(5):
        world.record(f"Step {n} of the setup of the shop asks for a name and a colour")

    assert consolidate(world) == []


def test_undoing_the_newer_of_two_brings_the_older_back() -> None:
    world = MemoryWorld()
    for text in SAID:
        world.record(text)
    (first,) = consolidate(world)
    more = [world.record(f"{SAID[0]} {word}") for word in ("again", "anew", "finally")]
    (second,) = consolidate(world)

    world.ask(MemoryUndo(consolidation_id=second.consolidation_id))

    assert world.view().states([first.node_id])[first.node_id].current
    assert world.decider.state.is_current(first.node_id)
    assert consolidate(world) == []  # whoever took it back does not want it again
    assert all(map(world.decider.state.is_current, more))


def test_a_memory_that_cites_what_was_forgotten_says_it_no_longer() -> None:
    world = MemoryWorld()
    ids = [world.record(text) for text in SAID]
    (wrote,) = consolidate(world)

    world.ask(MemoryForget(node_id=ids[1], scope="user"))

    assert world.view().states([wrote.node_id])[wrote.node_id].gone == "forgotten"
    assert consolidate(world) == []  # two are no cluster


def test_it_is_as_certain_as_the_least_certain_that_it_cites() -> None:
    world = MemoryWorld()
    for text, confidence in zip(SAID, (1.0, 0.4, 0.9), strict=True):
        world.record(text, confidence=confidence)

    (wrote,) = consolidate(world)

    assert wrote.confidence == 0.4


def test_it_reads_no_memory_that_another_one_wrote() -> None:
    world = MemoryWorld()
    for n in range(3):
        for text in SAID:
            world.record(f"{text} {'again ' * n}of {n}{n}", scope="user")
    consolidate(world)

    assert consolidate(world) == []


def test_a_budget_beyond_what_one_event_can_hold_is_refused() -> None:
    for most in (0, -1, 5_001):
        (fact,) = MemoryWorld().ask(MemoryConsolidate(most=most))
        assert isinstance(fact, MemoryRefused)
        assert "from 1 to 5,000" in fact.reason


def test_undoing_it_leaves_what_it_read_as_it_was() -> None:
    world = MemoryWorld()
    ids = [world.record(text) for text in SAID]
    before = world.view().states(ids)
    (wrote,) = consolidate(world)

    world.ask(MemoryUndo(consolidation_id=wrote.consolidation_id))

    view = world.view()
    assert view.states([wrote.node_id])[wrote.node_id].gone == "undone"
    assert view.states(ids) == before
    assert view.chain(ids[0]).nodes[0].id == ids[0]
    assert view.edges(ids) == []


def test_statements_of_two_people_or_scopes_are_never_one_cluster() -> None:
    world = MemoryWorld()
    for text, subject, scope in zip(
        SAID, ("anna", "ben", ""), ("user", "user", "user"), strict=True
    ):
        world.record(text, subject=subject, scope=scope)
    for text, scope in zip(SAID, ("user", "project:x", "project:y"), strict=True):
        world.record(f"{text} today", scope=scope)

    assert consolidate(world) == []


def test_of_one_person_it_belongs_to_that_person() -> None:
    world = MemoryWorld()
    for text in SAID:
        world.record(text, subject="anna")

    (wrote,) = consolidate(world)

    assert wrote.subject == "anna"
    assert world.decider.state.nodes[wrote.node_id].subject == "anna"


def test_what_a_model_said_does_not_become_the_word_of_a_rule() -> None:
    world = MemoryWorld()
    for text in SAID:
        world.record(text, origin="model")

    assert consolidate(world) == []


def test_a_scope_that_is_none_is_refused() -> None:
    (fact,) = MemoryWorld().ask(MemoryConsolidate(scope="all"))

    assert isinstance(fact, MemoryRefused)


WORDS = st.sampled_from(["build", "shop", "linter", "test", "red", "green"])
TEXTS = st.lists(st.lists(WORDS, min_size=1, max_size=4).map(" ".join), max_size=20)


@settings(max_examples=100, deadline=None)
@given(TEXTS, st.integers(1, 20))
def test_equal_states_give_equal_nodes_and_nothing_leaves(texts: list[str], most: int) -> None:
    def facts() -> tuple[MemoryWorld, list[Event]]:
        world = MemoryWorld()
        for text in texts:
            world.record(text)
        before = set(world.decider.state.said)
        consolidate(world, most)
        assert before <= set(world.decider.state.said)
        return world, typed(world.records)

    (world, one), (_, other) = facts(), facts()
    folded = MemoryState()
    for record, event in zip(world.records, one, strict=True):
        if record.source == "MemoryChainEngine":
            folded.apply(event, position=record.position)

    assert one == other
    assert folded == world.decider.state
    wrote = [each for each in one if isinstance(each, MemoryRecorded) and each.consolidation_id]
    cited = [edge.to for each in wrote for edge in each.edges]
    assert len(cited) == len(set(cited))
    (end,) = [each for each in one if isinstance(each, MemoryConsolidated)]
    assert len(end.read) == len(set(end.read)) <= most
    assert all(len(each.edges) >= 3 for each in wrote)


LONG = "So much was found out about it, in a long night before the day of the release, that"
ACTS = st.lists(
    st.tuples(
        st.sampled_from(
            ["record", "record", "long", "forget", "restore", "correct", "consolidate", "undo"]
        ),
        st.integers(1, 30),
    ),
    max_size=60,
)


@settings(max_examples=200, deadline=None)
@given(ACTS)
def test_no_current_memory_of_a_consolidation_cites_what_is_not_current(
    acts: list[tuple[str, int]],
) -> None:
    world, ids = MemoryWorld(), ["none"]
    for at, (act, n) in enumerate(acts):
        node_id = ids[n % len(ids)]
        match act:
            case "record":
                ids.append(world.record(f"The build of the shop failed in the linter {n}"))
            case "long" if world.decider.state.is_live(ids[-1]) and ids[-1] != "none":
                said = f"{LONG} the {at}th cause was number {at * 7919}"
                ids.append(world.record(said, edges=(MemoryEdge("led_to", ids[-1]),)))
            case "consolidate":
                consolidate(world, most=n)
            case "undo" if world.decider.state.wrote:
                last = list(world.decider.state.wrote)[-1]
                world.ask(MemoryUndo(consolidation_id=last))
            case "restore":
                world.ask(MemoryRestore(node_id=node_id, scope="user"))
            case "forget":
                world.ask(MemoryForget(node_id=node_id, scope="user"))
            case "correct":
                world.ask(MemoryCorrect(node_id=node_id, scope="user", content=f"It was {n}"))
            case _:
                pass
        state, view = world.decider.state, world.view()
        written = [each for wrote in state.wrote.values() for each in wrote]
        current = set(filter(state.is_current, written))
        cited = {to for each in current for edge, to in state.edges[each] if edge == "refines"}
        assert all(map(state.is_current, cited))
        assert {each for each in written if view.states([each])[each].current} == current
    folded = MemoryState()
    for record, event in zip(world.records, typed(world.records), strict=True):
        if record.source == "MemoryChainEngine":
            folded.apply(event, position=record.position)
    assert folded == world.decider.state
