"""Several correct one memory at once: no correction is lost, and one belief is current."""

import threading
from pathlib import Path

import pytest

from cortex.bus import Client
from cortex.bus.events import MemoryCorrect, MemoryCorrected, MemoryLink, MemoryRefused
from cortex.runtime.admin import correct_memory, export_memory, import_memory
from cortex.runtime.kernel import Home, RefusedError, Runtime
from cortex.runtime.memory import HomeMemory

from ..staff_world import World
from .test_memory import COMPONENTS, found, record, told

WRITERS = 6
PATIENCE_S = 60.0


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.create(tmp_path / ".cortex")


def answer(client: Client, request: MemoryCorrect) -> MemoryCorrected | MemoryRefused:
    """What memory answers to *request*, while others ask, too."""
    feed = client.follow(("memory.*", None))
    asked = client.publish(request)
    while True:
        for said in feed.next(PATIENCE_S):
            event = client.vocabulary.read(said)
            if said.causation == asked and isinstance(event, MemoryCorrected | MemoryRefused):
                feed.close()
                return event


def test_one_of_several_corrections_is_taken_and_the_others_go_on_from_there(home: Home) -> None:
    refused: list[str] = []

    def correct(client: Client, content: str) -> None:
        node_id = first
        while True:
            said = answer(client, MemoryCorrect(node_id=node_id, content=content))
            if isinstance(said, MemoryCorrected):
                return
            refused.append(said.reason)
            node_id = said.reason.partition(": name ")[2].partition(" instead")[0]

    with Runtime(home, components=COMPONENTS) as runtime:
        first = record(World(runtime), "The limit is unknown")
        threads = [
            threading.Thread(target=correct, args=(runtime.client(f"w{n}"), f"The limit is {n}"))
            for n in range(WRITERS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_S)

    with HomeMemory.open(home) as memory:
        chain = memory.view.chain(first)
    assert len(chain.nodes) == 1 + WRITERS
    assert len(chain.current) == 1
    assert chain.contradictions == ()
    assert len(refused) >= WRITERS - 1
    assert all("was replaced already" in each and "\n" not in each for each in refused)


def test_a_person_who_corrects_what_was_corrected_is_told_what_is_current(home: Home) -> None:
    with Runtime(home, components=COMPONENTS) as runtime:
        first = record(World(runtime), "We use MySQL")
    new = correct_memory(home, first, "We use Postgres").id

    with pytest.raises(RefusedError, match=f"name {new} instead"):
        correct_memory(home, first, "We use Oracle")

    assert correct_memory(home, new, "We use Oracle").replaced == [new]


def test_what_two_homes_made_of_one_memory_is_shown_as_a_contradiction(
    home: Home, tmp_path: Path
) -> None:
    other = Home.create(tmp_path / "other" / ".cortex")
    with Runtime(home, components=COMPONENTS) as runtime:
        first = record(World(runtime), "Billing runs on MySQL")
    import_memory(other, export_memory(home)[1])
    ours = correct_memory(home, first, "Billing runs on Postgres").id
    theirs = correct_memory(other, first, "Billing runs on Oracle").id

    import_memory(home, export_memory(other)[1])

    with HomeMemory.open(home) as memory:
        chain = memory.view.chain(first)
        (hits,) = memory.find(("what does billing run on?",), ("user",))
    assert {node.id for node in chain.current} == {ours, theirs}
    assert {hit.node.id: hit.contradicted_by for hit in hits.hits} == {
        ours: (theirs,),
        theirs: (ours,),
    }
    import_memory(other, export_memory(home)[1])
    assert sorted(export_memory(other)[1]) == sorted(export_memory(home)[1])


def test_a_prompt_says_that_two_contradict_each_other_until_one_replaces_both(home: Home) -> None:
    with Runtime(home, components=COMPONENTS) as runtime:
        world = World(runtime)
        first = record(world, "Billing runs on MySQL")
        one = record(world, "Billing runs on Postgres")
        other = record(world, "Billing runs on Oracle")
        for each in (one, other):
            told(world, MemoryLink(node_id=each, edge="supersedes", to=first, origin="person"))
        before = found(world.client, "what does billing run on?")
        told(world, MemoryLink(node_id=other, edge="supersedes", to=one, origin="person"))
        after = found(world.client, "what does billing run on?")

    assert {hit["node"]["id"]: hit["contradicted_by"] for hit in before} == {
        one: [other],
        other: [one],
    }
    assert [(hit["node"]["id"], hit["contradicted_by"]) for hit in after] == [(other, [])]
