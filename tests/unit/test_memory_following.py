"""A question that only several memories answer together is answered with the way, or not at all."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cortex.bus.events import MemoryCorrect, MemoryForget, MemoryLink
from cortex.runtime.memory import FactChain, MemoryFinder, MemoryResult, MemoryView, recalled

from .memory_world import MemoryWorld

ASKED = "What is the birthplace of the founder of Vikuri Group?"
FACTS = (
    "The founder of Vikuri Group is Tugoth Ruku.",
    "The birthplace of Tugoth Ruku is Diberal.",
    "The birthplace of Lumo Dalek is Kigil.",
    "The founder of Zepo Works is Lumo Dalek.",
)
Find = Callable[..., MemoryResult]


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld()


@pytest.fixture
def find(world: MemoryWorld, tmp_path: Path) -> Iterator[Find]:
    """What is found for a question."""
    finder = MemoryFinder.open(tmp_path, None)

    def found(question: str = ASKED, scopes: tuple[str, ...] = ("user",), **more: Any) -> Any:
        view = world.view()
        finder.update(view)
        return finder.find(question, view, scopes, **more)

    yield found
    finder.close()


def ids(chain: FactChain | None) -> list[str]:
    return [step.node.id for step in chain.steps] if chain else []


def test_two_facts_answer_what_neither_answers_alone(world: MemoryWorld, find: Find) -> None:
    first, second, *_ = (world.record(text) for text in FACTS)

    chain = find().chain

    assert chain is not None
    assert (chain.answer, ids(chain)) == ("Diberal", [first, second])
    assert [(step.thing, step.leads_to) for step in chain.steps] == [
        ("Vikuri Group", "Tugoth Ruku"),
        ("Tugoth Ruku", "Diberal"),
    ]
    assert chain.certainty >= 0.7


@pytest.mark.parametrize(
    "question",
    [
        "What is the shoe size of the founder of Vikuri Group?",
        "What is the birthplace of the gardener of Vikuri Group?",
        "What is the birthplace of the founder of Nobody Inc?",
        "Who is the founder of Vikuri Group?",  # one memory answers it
        "what is the birthplace of the founder?",
        "",
    ],
)
def test_it_says_nothing_where_it_is_not_sure(
    world: MemoryWorld, find: Find, question: str
) -> None:
    for text in FACTS:
        world.record(text)

    assert find(question).chain is None


def test_a_fact_that_was_corrected_leads_elsewhere(world: MemoryWorld, find: Find) -> None:
    first, *_ = [world.record(text) for text in FACTS]
    assert find().chain is not None
    correction = "The founder of Vikuri Group is Lumo Dalek."

    world.ask(MemoryCorrect(node_id=first, content=correction, scope="user"))

    chain = find().chain
    assert chain is not None
    assert chain.answer == "Kigil"


def test_an_edge_alone_that_replaces_a_fact_is_seen(world: MemoryWorld, find: Find) -> None:
    first, *_ = [world.record(text) for text in FACTS]
    assert ids(find().chain)[0] == first
    other = world.record("Nobody founded it.")

    world.ask(MemoryLink(node_id=other, edge="supersedes", to=first, origin="person"))

    assert find().chain is None


def test_an_erased_fact_leads_nowhere_for_a_reader_that_had_read_it(
    world: MemoryWorld, tmp_path: Path
) -> None:
    _, second, *_ = (world.record(text) for text in FACTS)
    finder = MemoryFinder.open(tmp_path, None)
    before = world.view()
    finder.update(before)
    known = finder.find(ASKED, before, ("user",)).chain
    erased = world.database()  # as it is made again: without what nobody can read any more
    erased.execute("delete from memory_nodes where id = ?", (second,))
    after = MemoryView(erased, before.position + 1, lambda _: None)

    chain = finder.find(ASKED, after, ("user",)).chain

    finder.close()
    assert known is not None
    assert chain is None


def test_what_was_forgotten_or_is_of_another_scope_leads_nowhere(
    world: MemoryWorld, find: Find
) -> None:
    first, *_ = [world.record(text) for text in FACTS]

    assert find(scopes=("project:x",)).chain is None
    world.ask(MemoryForget(node_id=first, scope="user"))

    assert find().chain is None


def test_no_word_of_a_model_is_a_fact_of_it(world: MemoryWorld, find: Find) -> None:
    world.record(FACTS[0], origin="model")
    world.record(FACTS[1])

    assert find().chain is None


def test_questions_plans_and_what_somebody_says_of_himself_are_no_facts(
    world: MemoryWorld, find: Find
) -> None:
    world.record("I think the founder of Vikuri Group is Tugoth Ruku.")
    world.record("Is the founder of Vikuri Group Tugoth Ruku?")
    world.record("Maybe the founder of Vikuri Group is Tugoth Ruku.")
    world.record(FACTS[1])

    assert find().chain is None


def test_the_history_and_a_question_for_the_past_have_no_chain(
    world: MemoryWorld, find: Find
) -> None:
    for text in FACTS:
        world.record(text)

    assert find(history=True).chain is None
    assert find("What was the birthplace of the former founder of Vikuri Group?").chain is None


def test_in_a_large_memory_what_is_near_the_question_is_read(
    world: MemoryWorld, find: Find, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in FACTS:
        world.record(text)
    for n in range(40):
        world.record(f"The birthplace of Person{n} Other is City{n}.")
    monkeypatch.setattr("cortex.runtime.memory.following.MOST_WHOLE", 20)

    chain = find().chain

    assert chain is not None
    assert chain.answer == "Diberal"
    assert find(thorough=False).chain is None  # a step does not wait for it


def test_a_step_is_given_the_facts_of_a_chain_first_and_in_order(
    world: MemoryWorld, find: Find
) -> None:
    second, first = world.record(FACTS[1]), world.record(FACTS[0])
    world.record("Vikuri Group has a founder and a birthplace of its own", update=False)

    found = recalled([find()], limit=20)

    assert [node.id for node in found.nodes][:2] == [first, second]
    assert [node.through for node in found.nodes][:2] == ["", first]
    assert found.nodes[0].why["chain"] == found.nodes[0].score
    assert len({node.id for node in found.nodes}) == len(found.nodes) == 3
