"""The accessor of the knowledge store: what steps, clients and programs find by it."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cortex.actors.accessors import KnowledgeStoreAccessor
from cortex.bus import Event, HubServer, NotGrantedError, connect
from cortex.bus.events import (
    VOCABULARY,
    ClientDenied,
    ComponentFailed,
    ContextCompiled,
    KnowledgeAnswer,
    KnowledgeFind,
    KnowledgeIndex,
    KnowledgeIndexed,
    KnowledgeRemoved,
    KnowledgeRequest,
    KnowledgeRequested,
)
from cortex.runtime.access import HubAccess, Terms, issue
from cortex.runtime.context import (
    Manifest,
    prompt_text,
)
from cortex.runtime.kernel import Config, Delivery, Home, Runtime
from cortex.runtime.log import MemoryBlobs
from cortex.runtime.retrieval import SearchResult

from ..staff_world import ANSWERING, World

GIVEN = Delivery(1, 1_700_000_000_000_000_001, "Tested", "tester", "e1", 1, 1)
ASK = """\
process: ask_store
version: 1
inputs: {question: string}
steps:
  - id: answer
    action: answer_question
    find: {text: "${inputs.question}", under: parking, passages: 1}
    with: {question: "${inputs.question}"}
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home.create(tmp_path / ".cortex")
    (made.knowledge / "parking.md").write_text("# Parking\n\nThe garage closes at nine.\n")
    (made.knowledge / "lunch.md").write_text("# Lunch\n\nThe soup is hot at noon.\n")
    return made


def request(*texts: str, **fields: Any) -> KnowledgeRequest:
    return KnowledgeRequest(execution_id="e1", step_id="s1", texts=texts, **fields)


def test_passages_that_are_on_record_are_given_without_a_search(home: Home) -> None:
    blobs = MemoryBlobs()
    accessor = KnowledgeStoreAccessor(blobs, Config(), home)

    (said,) = accessor.request(request("when does it close?", found="d1"), GIVEN)
    accessor.on_stop()

    assert isinstance(said, KnowledgeRequested)
    assert (said.found, said.topics, said.query) == ("d1", (), "when does it close?")


def events(told: Any) -> list[Event]:
    return [each for each in told if isinstance(each, Event)]


def test_a_step_gets_the_best_passages_of_all_its_questions(home: Home) -> None:
    blobs = MemoryBlobs()
    accessor = KnowledgeStoreAccessor(blobs, Config(), home)
    assert not (home.path / "vectors").exists(), "nothing is made before the first question"

    asked = request("when does the garage close?", "hot soup", limit=2)
    indexed, answer = events(accessor.request(asked, GIVEN))

    assert isinstance(indexed, KnowledgeIndexed)
    assert isinstance(answer, KnowledgeRequested)
    assert set(answer.topics) == {"parking", "lunch"}
    assert (answer.call_id, answer.turn, answer.problem) == ("", 0, "")
    found = msgspec.json.decode(blobs.get(answer.found), type=SearchResult)
    assert [passage.score >= 1 for passage in found.passages] == [True, True]
    accessor.on_stop()


def test_only_what_stands_under_the_topics_is_found(home: Home) -> None:
    accessor = KnowledgeStoreAccessor(MemoryBlobs(), Config(), home)

    *_, answer = events(accessor.request(request("the garage", under=("lunch",)), GIVEN))

    assert isinstance(answer, KnowledgeRequested)
    assert answer.topics == ()
    *_, odd = events(accessor.request(request("x" * 1_001, under=("nosuch",)), GIVEN))
    assert isinstance(odd, KnowledgeRequested)
    assert odd.notes == (
        "a text of 1,001 characters was asked by its first 1,000",
        "there is no knowledge under nosuch",
    )
    accessor.on_stop()


def test_a_store_that_cannot_be_made_is_the_answer(home: Home) -> None:
    (home.path / "vectors").write_text("no folder")
    accessor = KnowledgeStoreAccessor(MemoryBlobs(), Config(), home)

    (answer,) = events(accessor.request(request("the garage"), GIVEN))
    (told,) = events(accessor.find(KnowledgeFind(text="the garage"), GIVEN))

    assert isinstance(answer, KnowledgeRequested)
    assert isinstance(told, KnowledgeAnswer)
    assert "knowledge.db cannot be used" in answer.problem
    assert answer.problem == told.problem


def test_whoever_asks_for_an_indexing_is_answered(home: Home) -> None:
    accessor = KnowledgeStoreAccessor(MemoryBlobs(), Config(), home)

    first = events(accessor.index(KnowledgeIndex(), GIVEN))
    (again,) = events(accessor.index(KnowledgeIndex(), GIVEN))
    (home.knowledge / "lunch.md").unlink()
    (gone,) = events(accessor.index(KnowledgeIndex(), GIVEN))

    assert any(isinstance(each, KnowledgeIndexed) and each.files for each in first)
    assert again == KnowledgeIndexed(blob="", files=(), chunks=0)
    assert gone == KnowledgeRemoved(paths=(str(home.knowledge / "lunch.md"),))
    accessor.on_stop()


def test_a_text_without_a_word_finds_nothing_and_says_so(home: Home) -> None:
    accessor = KnowledgeStoreAccessor(MemoryBlobs(), Config(), home)

    (answer,) = events(accessor.find(KnowledgeFind(text="  "), GIVEN))

    assert answer == KnowledgeAnswer(
        passages=(), problem="an empty text finds nothing: say what to find"
    )


@pytest.fixture
def socket() -> Iterator[str]:
    # Not pytest's own folder: the path of a socket is short.
    folder = tempfile.mkdtemp(prefix="cortex-")
    yield f"ipc://{folder}/bus.sock"
    shutil.rmtree(folder)


def test_a_run_finds_for_its_prompt_and_clients_find_by_their_grants(
    home: Home, socket: str
) -> None:
    """The store is in a process of its own, the clients come over a socket."""
    components = (*ANSWERING, KnowledgeStoreAccessor)
    with Runtime(home, components=components) as runtime:
        world = World(runtime)
        access = HubAccess(runtime.hub, runtime.log, VOCABULARY, home.path / "keys")
        server = HubServer(runtime.hub, runtime.log, access=access)
        try:
            url = server.listen(socket)
            owner = runtime.client("owner")
            may = issue(owner, "may", Terms(read=("knowledge.find",)))
            may_not = issue(owner, "may-not", Terms(read=("execution.*",)))

            world.compiled(ASK)
            run = world.run("ask_store", {"question": "when does the garage close?"})
            with connect(url, token=may) as client:
                answer = client.ask(KnowledgeFind(text="hot soup", limit=1), 60.0)
            with connect(url, token=may_not) as client, pytest.raises(NotGrantedError) as refused:
                client.ask(KnowledgeFind(text="hot soup"))
            denials = [VOCABULARY.read(r) for r in owner.read_stream("client/may-not")]
        finally:
            server.close()
            access.close()
        compiled = run.last(ContextCompiled)
        manifest = msgspec.json.decode(runtime.blobs.get(compiled.manifest), type=Manifest)
        prompt = prompt_text(runtime.blobs.get(compiled.prompt))

    assert run.outcome == "completed"
    assert run.topics().index("knowledge.requested") < run.topics().index("context.compiled")
    assert [e.id for e in manifest.items if e.kind == "passage"] == ["parking:1"]
    assert "The garage closes at nine." in prompt
    assert isinstance(answer, KnowledgeAnswer)
    assert [passage["topic"] for passage in answer.passages] == ["lunch"]
    assert "knowledge.find" in str(refused.value)
    assert any(isinstance(each, ClientDenied) and each.verb == "read" for each in denials)
    assert not any(isinstance(each.event, ComponentFailed) for each in run.said)
