"""A client that is bound to folders has nothing done in any other, wherever a link leads."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from cortex.bus import Client, Draft, Due, Event, LocalHub, NotGrantedError, Publish
from cortex.bus.events import ExecutionRequest, StepExecute, ToolCall, TriggerReceived
from cortex.runtime.access import change
from cortex.runtime.kernel import Home

from .clients_world import Served, served

ASKS = ("execution.request", "trigger.received", "step.execute", "tool.call")


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Served]:
    home = Home.create(tmp_path / ".cortex")
    home.require_trust()
    for name in ("theirs/engine", "others"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "theirs" / "link").symlink_to(tmp_path / "others")
    with served(tmp_path, None) as service:
        world = Served(home, service)
        yield world
        world.close()


def asked_in(workspace: Path | str) -> list[Event]:
    here: dict[str, Any] = {"execution_id": "e1", "step_id": "one", "workspace": str(workspace)}
    return [
        ExecutionRequest(execution_id="e1", process="p", workspace=str(workspace)),
        TriggerReceived(trigger_id="t1", fields={"source": "ci"}, workspace=str(workspace)),
        StepExecute(**here, action="shell"),
        ToolCall(**here, turn=1, call_id="c", tool="apply_patch", provider="PatchTools"),
    ]


def denied(client: Client, event: Event) -> str:
    with pytest.raises(NotGrantedError) as refused:
        client.publish(event)
    return str(refused.value)


@pytest.mark.parametrize("carrier", ["ipc", "tls"])
def test_work_is_asked_for_in_the_granted_folders_alone(
    carrier: str, hub: Served, tmp_path: Path
) -> None:
    theirs = tmp_path / "theirs"
    mallory = hub.client(
        "mallory", getattr(hub, carrier), publish=ASKS, workspaces=(str(theirs),)
    )  # fmt: skip

    beyond = (tmp_path / "others", "/", theirs / ".." / "others", theirs / "link", "theirs")
    refusals = [denied(mallory, each) for place in beyond for each in asked_in(place)]
    for each in (*asked_in(theirs / "engine")[1:2], *asked_in("")[:1]):
        mallory.publish(each)

    assert all("mallory may not have work done in" in each for each in refusals)
    assert "`cortex client grant mallory --workspace" in refusals[0]


def test_an_ask_behind_a_harmless_one_and_a_deadline_are_looked_at_too(
    hub: Served, tmp_path: Path
) -> None:
    theirs = tmp_path / "theirs"
    mallory = hub.client("mallory", publish=ASKS, workspaces=(str(theirs),))
    good, bad = asked_in(theirs)[1], asked_in(tmp_path)[1]
    before = hub.owner.head

    with pytest.raises(NotGrantedError):
        mallory.publish(good, bad)
    due = (Due("mallory/later", 1, Draft.of(bad)),)
    with pytest.raises(NotGrantedError):
        mallory.hub.ask_one("mallory", Publish((), due=due))

    assert "trigger.received" not in [record.topic for record in hub.owner.read(before)]


def test_a_bound_holds_at_once_although_nobody_was_woken_yet(
    hub: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread may have written the grant: it wakes after its publisher is answered."""
    client = hub.client("alice", publish=("trigger.received",))
    client.publish(asked_in(tmp_path)[1])
    monkeypatch.setattr(LocalHub, "_wake", lambda *_: None)

    change(hub.owner, "alice", lambda t: replace(t, workspaces=(str(tmp_path / "theirs"),)))

    denied(client, TriggerReceived(trigger_id="t2", fields={}, workspace=str(tmp_path)))


def test_a_bound_that_is_given_or_taken_away_holds_at_once(hub: Served, tmp_path: Path) -> None:
    client = hub.client("alice", publish=("trigger.received",))
    client.publish(asked_in(tmp_path)[1])

    given = change(hub.owner, "alice", lambda t: replace(t, workspaces=(str(tmp_path / "theirs"),)))
    denied(client, TriggerReceived(trigger_id="t2", fields={}, workspace=str(tmp_path)))
    change(hub.owner, "alice", lambda t: replace(t, workspaces=("*",)))

    client.publish(TriggerReceived(trigger_id="t3", fields={}, workspace=str(tmp_path)))
    assert given.workspaces == (str(tmp_path / "theirs"),)
