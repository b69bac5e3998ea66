"""Memory in a running Cortex: written by people and steps, read by steps, gone when erased."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cortex.actors.accessors import MemoryAccessor
from cortex.actors.engines import MemoryChainEngine
from cortex.actors.managers import GCManager
from cortex.bus import (
    Client,
    Event,
    Hub,
    LocalHub,
    NotGrantedError,
    SystemClock,
    connect,
    system_entropy,
)
from cortex.bus.events import (
    VOCABULARY,
    ContextCompiled,
    GcCollect,
    GcCollected,
    MemoryAnswer,
    MemoryCollected,
    MemoryCorrect,
    MemoryCorrected,
    MemoryEdge,
    MemoryFind,
    MemoryForget,
    MemoryForgotten,
    MemoryGet,
    MemoryRecord,
    MemoryRecorded,
    MemoryRefused,
    MemoryRequested,
    PackageSuggest,
    RuntimeStarted,
)
from cortex.bus.wire import HubServer
from cortex.runtime.access import HubAccess, Terms, issue
from cortex.runtime.context import Manifest, prompt_text
from cortex.runtime.kernel import Config, Delivery, GcConfig, Home, Later, Runtime
from cortex.runtime.log import MemoryLog
from cortex.runtime.memory import HomeMemory

from ..staff_world import ANSWERING, World

HOUR_NS, SOON_NS = 3_600 * 10**9, 60 * 10**9
COMPONENTS = (*ANSWERING, MemoryAccessor, MemoryChainEngine, GCManager)
ASK = """\
process: ask_memory
version: 1
inputs: {question: string}
steps:
  - id: answer
    action: answer_question
    memory: "${inputs.question}"
    with: {question: "${inputs.question}"}
"""
WITH_HISTORY = ASK.replace("ask_memory", "ask_history").replace(
    'memory: "${inputs.question}"',
    'memory: {text: "${inputs.question}", history: true, nodes: 5}',
)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.create(tmp_path / ".cortex")


@pytest.fixture
def socket() -> Iterator[str]:
    # Not pytest's own folder: the path of a socket is short.
    folder = tempfile.mkdtemp(prefix="cortex-")
    yield f"ipc://{folder}/bus.sock"
    shutil.rmtree(folder)


@pytest.fixture(params=["home", "memory"])
def world(request: pytest.FixtureRequest, home: Home) -> Iterator[World]:
    """With a home, where memory is in processes of its own, and in memory alone."""
    given = home if request.param == "home" else None
    with Runtime(given, components=COMPONENTS) as runtime:
        yield World(runtime)


def told(world: World, request: Event) -> list[Event]:
    """The facts that follow from *request*."""
    asked = world.client.publish(request)
    first = world.wait(lambda said: said.record.causation == asked, asked)
    end = first.record.position
    return [each.event for each in world.said(end - 1) if each.record.causation == asked]


def record(world: World, content: str, **fields: Any) -> str:
    given: dict[str, Any] = {"kind": "decision", "origin": "person", **fields}
    (fact, *_) = told(world, MemoryRecord(content=content, **given))
    assert isinstance(fact, MemoryRecorded), fact
    return fact.node_id


def found(client: Client, text: str, scope: str = "user", **fields: Any) -> list[dict[str, Any]]:
    answer = client.ask(MemoryFind(texts=(text,), scope=scope, **fields), 60.0)
    assert isinstance(answer, MemoryAnswer)
    assert not answer.problem
    hits: list[dict[str, Any]] = answer.answers[0]["hits"]
    return hits


def test_what_replaced_comes_back_and_what_was_replaced_only_as_history(world: World) -> None:
    old = record(world, "Billing runs on MySQL")
    facts = told(world, MemoryCorrect(node_id=old, content="Billing runs on Postgres"))
    assert [type(fact) for fact in facts] == [MemoryRecorded, MemoryCorrected]

    now = found(world.client, "what does billing run on?")
    history = found(world.client, "what does billing run on?", history=True)

    assert [hit["node"]["content"] for hit in now] == ["Billing runs on Postgres"]
    assert [hit["node"]["content"] for hit in history] == [
        "Billing runs on Postgres",
        "Billing runs on MySQL",
    ]
    assert history[0]["why"]["words"] > 0


def test_a_chain_is_asked_for_by_the_beginning_of_an_id(world: World) -> None:
    cause = record(world, "Rows were lost", kind="observation")
    node = record(world, "Use Postgres", edges=(MemoryEdge("caused_by", cause),))

    answer = world.client.ask(MemoryGet(node_id=node[:6]), 60.0)

    assert isinstance(answer, MemoryAnswer)
    assert [each["id"] for each in answer.chain["nodes"]] == [cause, node]


def test_a_step_is_given_what_holds_and_the_prompt_says_which_memories(world: World) -> None:
    old = record(world, "The garage closes at nine")
    (new, _) = told(world, MemoryCorrect(node_id=old, content="The garage closes at ten"))
    assert isinstance(new, MemoryRecorded)
    record(world, "The garage of another project closes at six", scope="project:elsewhere")
    world.compiled(ASK)

    run = world.run("ask_memory", {"question": "when does the garage close?"})

    requested, compiled = run.last(MemoryRequested), run.last(ContextCompiled)
    prompt = prompt_text(world.blobs.get(compiled.prompt))
    manifest = msgspec.json.decode(world.blobs.get(compiled.manifest), type=Manifest)
    assert run.outcome == "completed", run.end
    assert requested.nodes == compiled.memories == (new.node_id,)
    assert f"[{new.node_id}, " in prompt
    assert "closes at ten" in prompt
    assert "nine" not in prompt
    assert "six" not in prompt
    assert {e.id for e in manifest.items if e.section == "memory"} == {new.node_id}


def test_a_step_that_asks_for_history_is_told_what_was_replaced(world: World) -> None:
    old = record(world, "The garage closes at nine")
    told(world, MemoryCorrect(node_id=old, content="The garage closes at ten"))
    world.compiled(WITH_HISTORY)

    run = world.run("ask_history", {"question": "when does the garage close?"})

    prompt = prompt_text(world.blobs.get(run.last(ContextCompiled).prompt))
    (before,) = (line for line in prompt.splitlines() if "closes at nine" in line)
    assert "closes at ten" in prompt
    assert "replaced since" in before


def test_a_step_without_anything_to_remember_is_told_so_in_one_line(world: World) -> None:
    world.compiled(ASK)

    run = world.run("ask_memory", {"question": "when does the garage close?"})

    compiled = run.last(ContextCompiled)
    assert compiled.memories == ()
    assert "memory: nothing was found" in compiled.notes


def test_what_is_forgotten_is_not_found(world: World) -> None:
    node = record(world, "The code is 4711")
    assert found(world.client, "what is the code?")

    assert [type(f) for f in told(world, MemoryForget(node_id=node))] == [MemoryForgotten]

    assert not found(world.client, "what is the code?")


def test_the_fold_is_the_same_after_a_restart(home: Home) -> None:
    with Runtime(home, components=COMPONENTS) as runtime:
        world = World(runtime)
        node = record(world, "one")
    with Runtime(home, components=COMPONENTS) as runtime:
        world = World(runtime)

        (again,) = told(world, MemoryRecord(kind="decision", content="one"))
        (refused,) = told(world, MemoryForget(node_id="nowhere"))

    assert isinstance(again, MemoryRecorded)
    assert (again.node_id, again.again) == (node, True)
    assert isinstance(refused, MemoryRefused)


def test_a_client_records_and_asks_by_its_grants_and_states_no_fact(
    home: Home, socket: str
) -> None:
    with Runtime(home, components=COMPONENTS) as runtime:
        world = World(runtime)
        record(world, "The door is open")
        access = HubAccess(runtime.hub, runtime.log, VOCABULARY, home.path / "keys")
        server = HubServer(runtime.hub, runtime.log, access=access)
        try:
            url = server.listen(socket)
            owner = runtime.client("owner")
            terms = Terms(read=("memory.find",), publish=("memory.*",))
            may, may_not = issue(owner, "may", terms), issue(owner, "not", Terms(read=("step.*",)))
            with connect(url, token=may) as client:
                assert found(client, "what is the door?")
                client.publish(MemoryRecord(kind="observation", content="It rains"))
                with pytest.raises(NotGrantedError):
                    client.publish(MemoryForgotten(node_id="m", scope="user", by="may"))
            with connect(url, token=may_not) as client, pytest.raises(NotGrantedError):
                found(client, "what is the door?")
        finally:
            server.close()
            access.close()


def test_a_home_is_read_without_a_runtime_and_as_it_was(home: Home) -> None:
    with Runtime(home, components=COMPONENTS) as runtime:
        world = World(runtime)
        old = record(world, "Billing runs on MySQL")
        then = world.client.head
        told(world, MemoryCorrect(node_id=old, content="Billing runs on Postgres"))

    with HomeMemory.open(home) as memory:
        (now,) = memory.find(("billing",), ("user",))
    with HomeMemory.open(home.at(then)) as memory:
        (before,) = memory.find(("billing",), ("user",))

    assert [hit.node.content for hit in now.hits] == ["Billing runs on Postgres"]
    assert [hit.node.content for hit in before.hits] == ["Billing runs on MySQL"]


def test_a_collection_lets_go_what_faded_and_memory_follows(world: World) -> None:
    node = record(world, "It rained", kind="observation")
    asked = world.client.publish(GcCollect())

    ended = world.wait(lambda said: isinstance(said.event, MemoryCollected), asked)

    assert isinstance(ended.event, MemoryCollected)
    assert ended.event.nodes == ()
    assert found(world.client, "did it rain?")[0]["node"]["id"] == node


def test_the_next_collection_is_a_day_after_the_last_or_a_minute_after_a_start() -> None:
    log = MemoryLog()
    client = Client(
        "GCManager", LocalHub(Hub(log, VOCABULARY, system_entropy), SystemClock()), log, VOCABULARY
    )
    manager = GCManager(log, client.read_stream, Config())
    client.publish(GcCollected(number=1, generation=2, collected=()))
    (last,) = client.read_stream("gc")

    start = RuntimeStarted(runtime="r", cortex_version="1")
    soon, late = (
        next(iter(manager.started(start, delivery(last.time_ns + after_ns))))
        for after_ns in (HOUR_NS, 30 * HOUR_NS)
    )
    never = GCManager(log, client.read_stream, Config(gc=GcConfig(every_hours=0)))

    assert isinstance(soon, Later)
    assert isinstance(late, Later)
    assert soon.at_ns == last.time_ns + 24 * HOUR_NS
    assert late.at_ns == last.time_ns + 30 * HOUR_NS + SOON_NS
    left = [
        each for each in never.started(start, delivery(last.time_ns)) if isinstance(each, Later)
    ]
    assert [each.name for each in left] == ["consolidation", "package_suggestions"]


def test_suggestions_of_packages_are_a_day_apart_unless_they_are_turned_off() -> None:
    log = MemoryLog()
    hub = LocalHub(Hub(log, VOCABULARY, system_entropy), SystemClock())
    client = Client("GCManager", hub, log, VOCABULARY)
    off = msgspec.convert({"memory": {"packages_hours": 0}}, Config)
    asked = PackageSuggest()

    (following,) = GCManager(log, client.read_stream).suggested(asked, delivery(SOON_NS))
    never = list(GCManager(log, client.read_stream, off).suggested(asked, delivery(SOON_NS)))

    assert following == Later("package_suggestions", SOON_NS + 24 * HOUR_NS, asked)
    assert never == []


def delivery(time_ns: int) -> Delivery:
    return Delivery(2, time_ns, "GCManager")


def test_the_newer_of_two_statements_comes_first_without_an_edge(world: World) -> None:
    old = record(world, "The stand-up meeting is at nine", update=False)
    new = record(world, "The stand-up meeting is at ten", update=False)

    hits = found(world.client, "when is the stand-up meeting?")

    assert [hit["node"]["id"] for hit in hits] == [new, old]
    assert hits[0]["score"] >= hits[1]["score"]
