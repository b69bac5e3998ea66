"""Directives in a running Cortex: laid down by people, kept, and never by a component."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from cortex.actors.accessors import DirectiveAccessor
from cortex.actors.engines import DirectiveEngine
from cortex.bus import NotGrantedError, Recorded, connect
from cortex.bus.events import (
    VOCABULARY,
    DirectiveAnswer,
    DirectiveApplied,
    DirectiveBranch,
    DirectiveBranched,
    DirectiveClarificationAsked,
    DirectiveGet,
    DirectiveMerge,
    DirectiveMerged,
    DirectivePassed,
    DirectiveRedo,
    DirectiveRedone,
    DirectiveRefused,
    DirectiveSubmit,
    DirectiveUndo,
    DirectiveUndone,
)
from cortex.bus.wire import HubServer
from cortex.runtime.access import HubAccess, Terms, issue
from cortex.runtime.directives import (
    LARGEST_STATE_BYTES,
    HomeDirectives,
    NoSuchBranchError,
    RecentLedgers,
)
from cortex.runtime.kernel import Delivery, Home, Runtime
from cortex.runtime.log import BlobError, MemoryBlobs
from cortex.runtime.memory import MemoryInvalidError

from ..staff_world import QUICK, World

COMPONENTS = (*QUICK, DirectiveEngine, DirectiveAccessor)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.create(tmp_path / ".cortex")


@pytest.fixture
def world(home: Home) -> Iterator[World]:
    with Runtime(home, components=COMPONENTS) as runtime:
        yield owned(runtime)


def owned(runtime: Runtime) -> World:
    """A world whose client is the person at this home."""
    world = World(runtime)
    world.client = runtime.client("cli")
    return world


def told(world: World, request: Any) -> Any:
    """The fact that follows from *request*."""
    asked = world.client.publish(request)
    return world.wait(lambda said: said.record.causation == asked, asked).event


def state(world: World, scope: str = "user", **fields: Any) -> dict[str, str]:
    answer = world.client.ask(DirectiveGet(scope=scope, **fields), 60.0)
    assert isinstance(answer, DirectiveAnswer)
    assert not answer.problem
    return {each["name"]: each["value"] for each in answer.state["directives"]}


def test_each_request_is_answered_by_one_fact(world: World) -> None:
    applied = told(world, DirectiveSubmit(text="prohibit Docker"))
    assert isinstance(applied, DirectiveApplied)
    assert (applied.by, applied.changed, applied.profile) == ("owner", True, "dialogue")
    assert isinstance(told(world, DirectiveSubmit(text="how are you?")), DirectivePassed)
    asked = told(world, DirectiveSubmit(text="use podman instead of lxc"))
    assert isinstance(asked, DirectiveClarificationAsked)
    assert asked.waits
    assert isinstance(told(world, DirectiveSubmit(text="yes")), DirectiveApplied)
    assert isinstance(told(world, DirectiveUndo()), DirectiveUndone)
    assert isinstance(told(world, DirectiveBranch(name="try")), DirectiveBranched)
    assert isinstance(told(world, DirectiveMerge(source="try")), DirectiveMerged)
    assert isinstance(told(world, DirectiveMerge(source="none")), DirectiveRefused)

    assert state(world) == {"docker": "prohibit"}


def test_scopes_do_not_leak_into_each_other(world: World) -> None:
    told(world, DirectiveSubmit(scope="project:site", text="use vim"))
    told(world, DirectiveSubmit(scope="project:site:2", text="use nano"))

    assert state(world) == {}
    assert state(world, "project:site") == {"vim": "use"}
    assert state(world, "project:site:2") == {"nano": "use"}


def test_what_is_no_scope_is_refused(world: World) -> None:
    for scope in ("", "users", "user:me", "project:", "project: x", "execution:a\nb"):
        refused = told(world, DirectiveSubmit(scope=scope, text="use vim"))

        assert isinstance(refused, DirectiveRefused)
        assert "no scope" in refused.reason or "not printable" in refused.reason


def test_an_answer_holds_for_an_earlier_position_and_shows_what_a_text_would_do(
    world: World,
) -> None:
    told(world, DirectiveSubmit(text="use vim"))
    answer = world.client.ask(DirectiveGet(text="remove policy vim"), 60.0)
    assert isinstance(answer, DirectiveAnswer)
    told(world, DirectiveSubmit(text="use nano"))

    assert answer.preview["changed"] == [["vim", "use", ""]]
    assert state(world) == {"nano": "use", "vim": "use"}
    assert state(world, at=answer.position) == {"vim": "use"}
    before = world.client.ask(DirectiveGet(at=-1), 60.0)
    assert isinstance(before, DirectiveAnswer)
    assert "-1 is no position" in before.problem
    missing = world.client.ask(DirectiveGet(branch="none"), 60.0)
    assert isinstance(missing, DirectiveAnswer)
    assert "no branch" in missing.problem


def test_a_ledger_is_read_again_only_after_a_further_record(world: World) -> None:
    told(world, DirectiveSubmit(text="use vim"))
    read: list[int] = []

    def history(stream: str) -> Iterator[Recorded]:
        records = list(world.client.read_stream(stream))
        read.append(len(records))
        return iter(records)

    ledgers = RecentLedgers(history, world.blobs)
    before, position = ledgers.at("user")

    assert ledgers.at("user")[0] is before
    told(world, DirectiveSubmit(text="use nano"))
    after, _ = ledgers.at("user")
    assert len(after.branches["main"].content.state.policies) == 2
    assert ledgers.at("user", position) == (before, position)
    assert len(read) == 4


def test_many_clients_lose_no_update(world: World) -> None:
    requests = [DirectiveSubmit(text=f"use item {n}") for n in range(100)]
    asked = world.client.publish(*requests)

    world.wait(lambda said: said.record.causation == asked, asked - 100)
    assert len(state(world)) == 100


def test_what_is_laid_down_is_there_after_a_restart(home: Home) -> None:
    with Runtime(home, components=COMPONENTS) as runtime:
        told(owned(runtime), DirectiveSubmit(text="use vim"))
        told(owned(runtime), DirectiveSubmit(text="use nano instead of lxc"))
    with Runtime(home, components=COMPONENTS) as runtime:
        told(owned(runtime), DirectiveSubmit(text="no"))
        told(owned(runtime), DirectiveSubmit(text="set premise short"))

    with HomeDirectives.open(home) as directives:
        found = directives.state("user")
        assert [(each.name, each.value) for each in found.directives] == [
            ("premise", "short"),
            ("vim", "use"),
        ]
        assert directives.scopes() == ["user"]
        assert [row.topic for row in directives.history("user")] == [
            "directive.applied",
            "directive.clarification_asked",
            "directive.applied",
            "directive.applied",
        ]
        assert directives.export("user") == (
            '{"policies":{"vim":"use"},"premise":"short","version":2}'
        )
        assert directives.preview("use nano", "user").changed == [["nano", "", "use"]]
        with pytest.raises(NoSuchBranchError, match="no branch 'x'"):
            directives.state("user", "x")
        with pytest.raises(MemoryInvalidError, match="no scope"):
            directives.state("x")


def test_fifty_thousand_policies_are_one_fact_that_is_undone_and_kept(home: Home) -> None:
    policies = ",".join(f'"item {n}":"use"' for n in range(50_000))
    whole = f'{{"policies":{{{policies}}},"premise":null,"version":2}}'
    with Runtime(home, components=COMPONENTS) as runtime:
        world = owned(runtime)
        told(world, DirectiveSubmit(text="use vim"))
        blob = runtime.blobs.put(whole.encode())
        applied = told(world, DirectiveSubmit(state_blob=blob))
        assert isinstance(applied, DirectiveApplied)
        assert (applied.changes, applied.changes_stored) == ((), 50_001)
        assert told(world, DirectiveUndo()).changes_stored == 50_001
    with Runtime(home, components=COMPONENTS) as runtime:
        assert isinstance(told(owned(runtime), DirectiveRedo()), DirectiveRedone)

    with HomeDirectives.open(home) as directives:
        found = directives.branch("user").content.state
        assert len(found.policies) == 50_000
        assert found.digest == applied.digest
    for path in home.blobs.glob("??/*"):
        path.unlink()
    with HomeDirectives.open(home) as directives, pytest.raises(BlobError, match="blob"):
        directives.state("user")
    with Runtime(home, components=COMPONENTS) as runtime:
        world = owned(runtime)
        refused = told(world, DirectiveSubmit(text="use vim"))
        assert isinstance(refused, DirectiveRefused)
        assert "what is laid down cannot be read" in refused.reason
        answer = world.client.ask(DirectiveGet(), 60.0)
        assert isinstance(answer, DirectiveAnswer)
        assert "cannot be read" in answer.problem
        assert isinstance(
            told(world, DirectiveSubmit(scope="project:a", text="use vim")), DirectiveApplied
        )


def test_a_blob_that_holds_no_state_is_refused_in_one_line(world: World) -> None:
    put = world.runtime.blobs.put
    for blob, says in (
        ("0" * 64, "cannot be read"),
        ("../../log.db", "cannot be read"),
        (put(b"\xff"), "not UTF-8 at byte 1"),
        (put(b"[]"), "not a state of directives"),
        (put(b" " * (LARGEST_STATE_BYTES + 1)), "larger than 16,777,216 bytes"),
    ):
        refused = told(world, DirectiveSubmit(state_blob=blob))

        assert isinstance(refused, DirectiveRefused)
        assert says in refused.reason
        assert "\n" not in refused.reason
    both = told(world, DirectiveSubmit(state="{}", state_blob=put(b"{}")))
    assert "give one of them" in both.reason
    assert isinstance(told(world, DirectiveSubmit(text="use vim")), DirectiveApplied)


def test_a_client_lays_down_what_its_grant_names_and_a_component_nothing(home: Home) -> None:
    folder = tempfile.mkdtemp(prefix="cortex-")
    url = f"ipc://{folder}/bus.sock"
    with Runtime(home, components=COMPONENTS) as runtime:
        world = owned(runtime)
        submits = Terms(publish=("directive.submit",), subscribe=("directive.*",))
        may = issue(world.client, "may", replace(submits, directives=("project:site",)))
        merging = replace(submits, publish=("directive.merge",), directives=("project:site",))
        merges = issue(world.client, "merges", merging)
        plugin = issue(world.client, "plugin", replace(submits, names=("Hosted",)))
        any_topic = issue(world.client, "any", Terms(publish=("directive.undo",)))
        access = HubAccess(runtime.hub, runtime.log, VOCABULARY, home.path / "keys")
        server = HubServer(runtime.hub, runtime.log, access=access)
        try:
            server.listen(url)
            with connect(url, token=may) as client:
                client.publish(DirectiveSubmit(scope="project:site", text="use vim"))
                asked = client.publish(DirectiveSubmit(scope="user", text="use vim"))
            refused = world.wait(lambda said: said.record.causation == asked, asked).event
            assert isinstance(refused, DirectiveRefused)
            assert refused.failure == "not_granted"
            assert refused.by == "may"
            with connect(url, token=plugin) as client:
                asked = client.publish(DirectiveSubmit(scope="project:site", text="use nano"))
            refused = world.wait(lambda said: said.record.causation == asked, asked).event
            assert isinstance(refused, DirectiveRefused)
            with connect(url, token=any_topic) as client, pytest.raises(NotGrantedError):
                client.publish(DirectiveSubmit(scope="project:site", text="use nano"))
            # What it may not lay down, it cannot read by way of a recall either.
            told(world, DirectiveSubmit(scope="user", text="use emacs"))
            with connect(url, token=merges) as client:
                asked = client.publish(DirectiveMerge(scope="project:site", source_scope="user"))
            refused = world.wait(lambda said: said.record.causation == asked, asked).event
            assert isinstance(refused, DirectiveRefused)
            assert refused.failure == "not_granted"
            assert "the scope user" in refused.reason
            assert state(world, "project:site") == {"vim": "use"}
            assert state(world) == {"emacs": "use"}
        finally:
            server.close()
            access.close()
            shutil.rmtree(folder)


def test_a_decision_that_was_not_recorded_is_forgotten() -> None:
    engine = DirectiveEngine(lambda _stream: iter(()), MemoryBlobs(), VOCABULARY)
    asked = DirectiveSubmit(text="use vim")

    def delivery(position: int) -> Delivery:
        return Delivery(position, 1, "DirectiveEngine", "cli")

    list(engine.decide(asked, delivery(1)))
    list(engine.decide(asked, delivery(1)))  # not recorded, so that it is delivered again
    (fact,) = engine.decide(asked, delivery(2))  # nor was it then: it was given up

    assert isinstance(fact, DirectiveApplied)
    assert fact.changed
