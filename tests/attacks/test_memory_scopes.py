"""A client of one project neither reads, writes nor learns of the memory of another one."""

import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from cortex.actors.accessors import MemoryAccessor
from cortex.actors.engines import MemoryChainEngine
from cortex.bus import Client, Draft, Due, Event, NotGrantedError, Publish, Subscribe, connect
from cortex.bus.events import (
    MemoryAnswer,
    MemoryConsolidate,
    MemoryCorrect,
    MemoryEdge,
    MemoryFind,
    MemoryForget,
    MemoryGet,
    MemoryLink,
    MemoryPin,
    MemoryRecord,
    MemoryRecorded,
    MemoryRefused,
    MemoryRestore,
    MemoryUndo,
)
from cortex.runtime.access import Terms, change, issue
from cortex.runtime.kernel import Home
from cortex.runtime.memory import EDGES
from cortex.runtime.serving import Service

from .clients_world import SOON_S, Served, served

FRAMES: Any = import_module("cortex.bus.wire.frames")
A, B = "project:a", "project:b"
NOWHERE = "0123456789abcdef"
SECRET = "The merger with Zeta is in May"
COMPONENTS = (MemoryAccessor, MemoryChainEngine)


class World(Served):
    """Two projects with their clients, and what the owner recorded in both."""

    def __init__(self, home: Home, service: Service) -> None:
        super().__init__(home, service)
        self.alice = self.member("alice", A)
        self.bob = self.member("bob", B)
        self.ours = self.node(self.owner, A, "The shop is built with make")
        self.theirs = self.node(self.owner, B, SECRET)

    def member(self, name: str, scope: str, **terms: Any) -> Client:
        """A client whose grant is for the memory of one project."""
        all_of_it = (f"memory.*={scope}",)
        return self.client(
            name, **{"publish": all_of_it, "read": all_of_it, "subscribe": all_of_it, **terms}
        )

    def facts(self, client: Client, request: Event) -> list[Event]:
        """What follows from a request, as its owner sees it."""
        asked = client.publish(request)
        ends = time.monotonic() + SOON_S
        while time.monotonic() < ends:
            found = [r for r in self.owner.read(asked) if r.causation == asked]
            if found:
                return [self.owner.vocabulary.read(record) for record in found]
            self.owner.follow(after=self.owner.head).next(0.1)
        raise AssertionError("no answer")

    def node(self, client: Client, scope: str, content: str, **fields: Any) -> str:
        """Record a node; its id."""
        fact, *_ = self.facts(
            client, MemoryRecord(kind="decision", content=content, scope=scope, **fields)
        )
        assert isinstance(fact, MemoryRecorded), fact
        return fact.node_id

    def refusal(self, client: Client, request: Event) -> str:
        """Why a request was refused."""
        (fact,) = self.facts(client, request)
        assert isinstance(fact, MemoryRefused), fact
        return fact.reason

    def version(self, client: Client, stream: str) -> int:
        """The version of a stream, as *client* is told it."""
        answer = client.hub.ask_one("", FRAMES.StreamVersion(stream))
        return int(getattr(answer, "value", -1))

    def chain(self, client: Client, node_id: str, scope: str) -> MemoryAnswer:
        answer = client.ask(MemoryGet(node_id=node_id, scope=scope), SOON_S)
        assert isinstance(answer, MemoryAnswer)
        return answer


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[World]:
    home = Home.create(tmp_path / ".cortex")
    home.require_trust()
    with served(tmp_path, COMPONENTS) as service:
        world = World(home, service)
        yield world
        world.close()


def test_who_is_granted_a_scope_writes_and_reads_there(hub: World) -> None:
    node = hub.node(hub.alice, A, "Tests run with pytest")
    refined = MemoryEdge("refines", hub.ours)
    more = hub.node(hub.alice, A, "make runs pytest", edges=(refined,))
    hub.facts(hub.alice, MemoryLink(node_id=node, edge="led_to", to=more, scope=A))
    hub.facts(hub.alice, MemoryPin(node_id=node, scope=A))

    answer = hub.alice.ask(MemoryFind(texts=("how do tests run?",), scope=A), SOON_S)
    chain = hub.chain(hub.alice, node, A).chain
    read = {record.topic for record in hub.alice.read()}

    assert isinstance(answer, MemoryAnswer)
    assert node in {hit["node"]["id"] for hit in answer.answers[0]["hits"]}
    assert {each["id"] for each in chain["nodes"]} == {node, more, hub.ours}
    assert read >= {"memory.record", "memory.recorded", "memory.linked", "memory.pinned"}


@pytest.mark.parametrize(
    "request_",
    [
        MemoryRecord(kind="decision", content="ours now", scope=B),
        MemoryRecord(kind="decision", content="ours now"),  # of the user: everybody sees it
        MemoryRecord(kind="decision", content="ours now", scope="project:ab"),
        MemoryCorrect(node_id=NOWHERE, content="no", scope=B),
        MemoryLink(node_id=NOWHERE, edge="refines", to=NOWHERE, scope=B),
        MemoryPin(node_id=NOWHERE, scope=B),
        MemoryForget(node_id=NOWHERE, scope=B),
        MemoryRestore(node_id=NOWHERE, scope=B),
        MemoryConsolidate(scope=B),
        MemoryConsolidate(),  # all scopes
        MemoryUndo(consolidation_id=NOWHERE),  # it names no scope
    ],
)
def test_a_request_beyond_the_scope_is_denied_and_on_record(hub: World, request_: Event) -> None:
    before = hub.version(hub.owner, "memory")

    with pytest.raises(NotGrantedError) as denied:
        hub.alice.publish(request_)

    assert hub.version(hub.owner, "memory") == before
    (noted,) = hub.denials("alice")
    assert noted.verb == "publish"
    assert noted.about.startswith(request_.topic_name())
    assert f"cortex client grant alice --publish {noted.about}" in str(denied.value)


@pytest.mark.parametrize("scope", [B, "user", "project:ab", "execution:e1"])
def test_queries_of_another_scope_are_denied(hub: World, scope: str) -> None:
    for query in (MemoryFind(texts=("merger",), scope=scope), MemoryGet(node_id="0", scope=scope)):
        with pytest.raises(NotGrantedError, match=f"read {query.topic_name()}={scope}"):
            hub.alice.ask(query, SOON_S)

    assert {each.about for each in hub.denials("alice")} == {
        f"memory.find={scope}",
        f"memory.get={scope}",
    }


def test_a_guessed_id_reads_as_one_that_does_not_exist(hub: World) -> None:
    guessed = hub.chain(hub.alice, hub.theirs, A)
    missing = hub.chain(hub.alice, NOWHERE, A)

    assert guessed.chain == missing.chain == {}
    assert guessed.problem.replace(hub.theirs, NOWHERE) == missing.problem


def guesses(ours: str, other: str) -> Iterator[Event]:
    """Every request that can name the id of another memory."""
    yield MemoryCorrect(node_id=other, content="no", scope=A)
    yield MemoryForget(node_id=other, scope=A)
    yield MemoryPin(node_id=other, scope=A)
    yield MemoryRestore(node_id=other, scope=A)
    yield MemoryLink(node_id=other, edge="refines", to=ours, scope=A)
    said: dict[str, Any] = {"kind": "decision", "content": "No merger", "scope": A}
    for edge in EDGES:
        yield MemoryLink(node_id=ours, edge=edge, to=other, scope=A)
        yield MemoryRecord(**said, edges=(MemoryEdge(edge, other),))
    yield MemoryRecord(**said, node_id=other)


def test_a_guessed_id_is_refused_in_the_words_for_none(hub: World) -> None:
    before = hub.chain(hub.bob, hub.theirs, B).chain

    for one, other in zip(guesses(hub.ours, hub.theirs), guesses(hub.ours, NOWHERE), strict=True):
        guessed, missing = hub.refusal(hub.alice, one), hub.refusal(hub.alice, other)
        assert guessed.replace(hub.theirs, NOWHERE) == missing
        assert "\n" not in missing

    assert hub.chain(hub.bob, hub.theirs, B).chain == before


def test_a_chain_shows_nothing_of_another_scope_and_leads_through_none(hub: World) -> None:
    more = hub.node(hub.owner, A, "The shop is deployed on Fridays")
    for edge in (
        MemoryLink(node_id=hub.ours, edge="led_to", to=hub.theirs, scope=A),
        MemoryLink(node_id=hub.theirs, edge="led_to", to=more, scope=B),
        MemoryLink(node_id=hub.theirs, edge="contradicts", to=hub.ours, scope=B),
    ):
        hub.facts(hub.owner, edge)

    answer = hub.alice.ask(MemoryFind(texts=("shop", "merger Zeta"), scope=A), SOON_S)
    chain = hub.chain(hub.alice, hub.ours, A).chain

    assert isinstance(answer, MemoryAnswer)
    assert [each["id"] for each in chain["nodes"]] == [hub.ours]
    assert chain["edges"] == []
    for said in (answer.answers, chain):
        assert hub.theirs not in repr(said)
        assert "Zeta" not in repr(said)


def test_the_log_and_the_feed_have_nothing_of_another_scope(hub: World) -> None:
    hub.node(hub.bob, B, "Zeta has 40 people")
    hub.refusal(hub.bob, MemoryForget(node_id="1" * 16, scope=B))
    hub.node(hub.alice, A, "The last one")
    feed = hub.alice.follow(("memory.*", None), after=0)
    seen = [*hub.alice.read(), *hub.alice.read_stream("memory")]
    while page := feed.next(0.5):
        seen += page

    assert seen
    assert {record.key for record in seen} == {A}
    assert not any(b"Zeta" in record.body for record in seen)
    assert hub.version(hub.owner, f"memory/{hub.theirs}") == 1
    assert hub.version(hub.alice, f"memory/{hub.theirs}") == 0
    assert hub.version(hub.alice, f"memory/{hub.ours}") == 1
    assert list(hub.alice.read_stream(f"memory/{hub.theirs}")) == []


def test_a_subscription_names_the_granted_key(hub: World) -> None:
    def subscribing(key: str | None) -> object:
        pairs = (("memory.recorded", key),)
        return hub.alice.subscribe(f"alice/{key}".replace(":", "_"), *pairs)

    subscribing(A)
    for key in (B, None):
        with pytest.raises(NotGrantedError):
            subscribing(key)
    with pytest.raises(NotGrantedError):
        hub.alice.hub.ask_one("", Subscribe("alice/w", "work", (("memory.record", A),)))


def test_a_deadline_is_checked_by_its_key_when_it_is_set(hub: World) -> None:
    def due(scope: str) -> Publish:
        record = MemoryRecord(kind="decision", content="later", scope=scope)
        return Publish((), due=(Due(f"alice/{scope}", 1, Draft.of(record)),))

    hub.alice.hub.ask_one("", due(A))
    with pytest.raises(NotGrantedError):
        hub.alice.hub.ask_one("", due(B))


def test_a_narrower_grant_holds_at_once_also_for_edges(hub: World) -> None:
    wide = hub.client("carol", publish=("memory.record", "memory.link"))
    edge = MemoryEdge("refines", hub.theirs)
    hub.node(wide, A, "Before the merger", edges=(edge,))

    change(hub.owner, "carol", lambda terms: replace_publish(terms, "memory.record=project:a"))
    after = MemoryRecord(kind="decision", content="After it", scope=A, edges=(edge,))

    assert "there is no memory" in hub.refusal(wide, after)
    with pytest.raises(NotGrantedError):
        wide.publish(MemoryRecord(kind="decision", content="no", scope=B))


def replace_publish(terms: Any, *patterns: str) -> Any:
    return replace(terms, publish=patterns)


def test_what_limits_a_writer_survives_a_restart(tmp_path: Path) -> None:
    home = Home.create(tmp_path / ".cortex")
    home.require_trust()
    with served(tmp_path, COMPONENTS) as service:
        world = World(home, service)
        theirs = world.theirs
        token_file = tmp_path / "carol.token"
        token_file.write_text(issue_for(world))
        world.close()
    with served(tmp_path, COMPONENTS) as service:
        again = Served(home, service)
        carol = connect(again.ipc, token=token_file.read_text(), name="carol")
        edge = MemoryEdge("contradicts", theirs)
        position = carol.publish(
            MemoryRecord(kind="decision", content="No", scope=A, edges=(edge,))
        )
        said = again.until(lambda event, _: isinstance(event, MemoryRefused), position)
        carol.close()
        again.close()

    assert isinstance(said, MemoryRefused)
    assert "there is no memory" in said.reason


def issue_for(world: World) -> str:
    return issue(world.owner, "carol", Terms(publish=("memory.record=project:a",)))
