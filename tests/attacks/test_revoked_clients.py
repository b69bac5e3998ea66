"""Whoever is let in no more acts no more, by nothing that it left: revoked, or expired."""

import contextlib
import itertools
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cortex.bus import (
    Claim,
    Claimed,
    Client,
    CortexError,
    Draft,
    Due,
    Publish,
    Subscribe,
    decode,
)
from cortex.bus.events import (
    VOCABULARY,
    ComponentAnnounced,
    ComponentWithdrawn,
    GrantRevoked,
    RuntimeAnswer,
    RuntimeGet,
    RuntimeStopped,
    StepExecute,
)
from cortex.runtime.access import Holdings, change, holdings_of, revoke
from cortex.runtime.cli import main
from cortex.runtime.kernel import Home
from cortex.runtime.log import EventLog

from ..waiting import until
from .clients_world import SOON_S, Served, served
from .hub_process import MovedClock

STOPPED = RuntimeStopped(runtime="left behind")
MAY: dict[str, Any] = {
    "publish": ("runtime.stopped", "component.*", "step.*"),
    "work": ("step.execute",),
    "subscribe": ("*",),
    "read": ("*",),
    "names": ("Doer",),
}
HOUR_NS = 3_600_000_000_000
COUNTED = ("subscriptions", "filters", "deadlines", "receipts", "waiting")
NOTHING = Holdings(counts=dict.fromkeys(COUNTED, 0))


@pytest.fixture
def folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="cx"))  # short: a socket's path has a bound
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def clock() -> MovedClock:
    return MovedClock()


@pytest.fixture
def hub(folder: Path, clock: MovedClock) -> Iterator[Served]:
    with served(folder, (), clock) as service:
        world = Served(Home(folder / ".cortex"), service)
        yield world
        world.close()


def left_behind(client: Client, due_ns: int) -> None:
    """All that a client can leave at a hub."""
    name = client.name
    later = Publish((), due=(Due(f"{name}/later", due_ns, Draft.of(STOPPED)),))
    as_component = Publish((), due=(Due(f"{name}/as-doer", due_ns, Draft.of(STOPPED)),))
    client.hub.ask_one(name, later)
    client.hub.ask_one("Doer", as_component)
    client.hub.ask_one(name, Subscribe(f"{name}/ordered", "ordered", (("step.*", None),)))
    client.hub.ask_one(name, Subscribe(f"{name}/work", "work", (("step.execute", None),)))
    client.publish(ComponentAnnounced(component="Doer", kind="action", name=f"does-{name}"))


def held(folder: Path, client: str) -> Holdings:
    log = EventLog.open(Home(folder / ".cortex").log_path, readonly=True)
    try:
        return holdings_of(client, log, VOCABULARY)
    finally:
        log.close()


def in_force(world: Served) -> int:
    """How many of the deadlines above were recorded."""
    return len(recorded(world))


def recorded(world: Served) -> list[str]:
    """Sources of the deadlines above that were recorded."""
    records = (r for r in world.owner.read() if r.topic == STOPPED.topic_name())
    return [r.source for r in records if world.owner.vocabulary.read(r) == STOPPED]


def test_a_revocation_takes_all_that_was_left_in_its_own_transaction(
    folder: Path, hub: Served
) -> None:
    alice = hub.client("alice", hub.tls, **MAY)
    bob = hub.client("bob", **MAY)
    hour_ns = time.time_ns() + HOUR_NS
    left_behind(alice, hour_ns)
    left_behind(bob, hour_ns)
    before = held(folder, "alice")

    revoke(hub.owner, "alice", "it left")

    # Before anything else is asked of the hub: it is done once the revocation is acknowledged.
    assert (len(before.deadlines), len(before.subscriptions), len(before.announced)) == (2, 2, 1)
    assert held(folder, "alice") == NOTHING
    assert len(held(folder, "bob").deadlines) == 2
    topics = [r.topic for r in hub.owner.read() if r.topic.startswith(("grant", "component"))]
    assert topics[-2:] == ["grant.revoked", "component.withdrawn"]


def test_a_deadline_goes_off_by_what_its_owner_may_do_then(
    folder: Path, hub: Served, clock: MovedClock
) -> None:
    alice, bob, carol = (hub.client(name, **MAY) for name in ("alice", "bob", "carol"))
    for client in (alice, bob, carol):
        left_behind(client, clock.now_ns() + HOUR_NS)

    revoke(hub.owner, "alice")
    change(hub.owner, "bob", lambda terms: msgspec.structs.replace(terms, publish=("step.*",)))
    change(hub.owner, "carol", lambda terms: msgspec.structs.replace(terms, work=()))
    hub.let_pass(clock, 3_601)
    until(lambda: in_force(hub) == 2)

    assert sorted(recorded(hub)) == ["Doer", "carol"]
    (denied,) = [each for each in hub.denials("bob") if each.about == "runtime.stopped"]
    assert (denied.verb, denied.times) == ("publish", 2)
    assert held(folder, "bob").deadlines == ()


def test_a_grant_that_expires_leaves_as_little(
    folder: Path, hub: Served, clock: MovedClock
) -> None:
    alice = hub.client("alice", **MAY)
    left_behind(alice, clock.now_ns() + 2 * HOUR_NS)
    ends_ns = clock.now_ns() + HOUR_NS

    change(hub.owner, "alice", lambda terms: msgspec.structs.replace(terms, expires_ns=ends_ns))
    before = held(folder, "alice")
    hub.let_pass(clock, 3_601)

    until(lambda: held(folder, "alice") == NOTHING)
    assert len(before.deadlines) == 2
    assert [e.name for e in withdrawn(hub)] == ["does-alice"]


def test_work_that_a_revoked_client_held_goes_to_another_at_once(hub: Served) -> None:
    alice, bob = (hub.client(name, **MAY) for name in ("alice", "bob"))
    bob.hub.ask_one("Doer", Subscribe("Doer", "work", (("step.execute", None),)))
    asked = StepExecute(execution_id="e1", step_id="s", action="do")
    position = hub.owner.publish(asked)
    claim = Claim("Doer", 1, HOUR_NS)
    taken = alice.hub.ask_one("Doer", claim)
    nothing = bob.hub.ask_one("Doer", claim)

    revoke(hub.owner, "alice")
    found: list[int] = []

    def claimed() -> bool:
        answer = bob.hub.ask_one("Doer", claim)
        assert isinstance(answer, Claimed)
        found.extend(lease.record.position for lease in answer.leases)
        return bool(found)

    until(claimed)
    assert isinstance(taken, Claimed)
    assert [lease.record.position for lease in taken.leases] == [position]
    assert isinstance(nothing, Claimed)
    assert nothing.leases == ()
    assert found == [position]


def test_the_hub_says_what_a_connected_client_holds(hub: Served) -> None:
    alice = hub.client("alice", **MAY)
    alice.hub.ask_one("Doer", Subscribe("Doer", "work", (("step.execute", None),)))
    position = hub.owner.publish(StepExecute(execution_id="e1", step_id="s", action="do"))
    alice.hub.ask_one("Doer", Claim("Doer", 1, HOUR_NS))

    answer = hub.owner.ask(RuntimeGet(), SOON_S)

    assert isinstance(answer, RuntimeAnswer)
    (mine,) = [each for each in answer.clients if each["name"] == "alice"]
    assert [tuple(lease) for lease in mine["leases"]] == [("Doer", position)]


def test_what_is_kept_for_whoever_comes_back_acts_by_the_grant_that_it_had(
    folder: Path, hub: Served, clock: MovedClock
) -> None:
    alice = hub.client("alice", **MAY)
    left_behind(alice, clock.now_ns() + HOUR_NS)

    kept = ("deadlines", "subscriptions", "announcements")
    revoke(hub.owner, "alice", "it comes back", keeps=kept)
    hub.let_pass(clock, 3_601)
    until(lambda: in_force(hub) == 2)

    assert len(held(folder, "alice").subscriptions) == 2
    hub.owner.publish(GrantRevoked(client="alice", reason="it does not"))
    assert held(folder, "alice") == NOTHING


def test_a_client_that_was_let_in_by_another_hub_leaves_nothing_for_the_next(folder: Path) -> None:
    """What an older hub let stay goes when the home is opened; no deadline fires before."""
    clock = MovedClock()
    with served(folder, (), clock) as service:
        world = Served(Home(folder / ".cortex"), service)
        alice = world.client("alice", **MAY)
        ends_ns = clock.now_ns() + HOUR_NS
        left_behind(alice, ends_ns)
        change(world.owner, "alice", lambda t: msgspec.structs.replace(t, expires_ns=ends_ns - 1))
        world.close()

    with served(folder, (), MovedClock(3_601)) as service:  # it expired while no hub was up
        world = Served(Home(folder / ".cortex"), service)
        assert held(folder, "alice") == NOTHING
        assert in_force(world) == 0
        world.close()


KILLED = """
import os, signal, sys
from cortex.bus import Draft, Due, Hub, LocalHub, Publish, Subscribe, SystemClock, system_entropy
from cortex.bus.events import VOCABULARY, GrantGiven, GrantRevoked, RuntimeStopped
from cortex.runtime.access import RecordedOwners
from cortex.runtime.log import EventLog

path, step = sys.argv[1], int(sys.argv[2])
log = EventLog.open(path)
writes = 0

class Dying:
    def __getattr__(self, name):
        return getattr(log._writer_before, name)
    def execute(self, *said):
        global writes
        writes += armed
        if writes == step:
            os.kill(os.getpid(), signal.SIGKILL)
        return log._writer_before.execute(*said)

armed = 0
log._writer_before, log._writer = log._writer, Dying()
hub = LocalHub(Hub(log, VOCABULARY, system_entropy, RecordedOwners(log, VOCABULARY)), SystemClock())
given = GrantGiven(client="alice", token_sha256="0" * 64, publish=("runtime.*",))
hub.ask_one("owner", Publish((Draft.of(given),)))
stopped = Draft.of(RuntimeStopped(runtime="x"))
hub.ask_one("alice", Publish((), due=(Due("alice/later", 1 << 62, stopped),)))
hub.ask_one("alice", Subscribe("alice/feed", "ordered", (("*", None),)))
armed = 1
hub.ask_one("owner", Publish((Draft.of(GrantRevoked(client="alice")),)))
print("done")
"""


def test_a_kill_in_a_revocation_leaves_all_or_nothing(tmp_path: Path) -> None:
    whole: list[bool] = []

    for step in range(1, 40):
        path = tmp_path / f"{step}.db"
        ran = subprocess.run(
            [sys.executable, "-I", "-c", KILLED, path, str(step)],
            capture_output=True,
            check=False,
            timeout=SOON_S,
        )
        log = EventLog.open(path, readonly=True)
        state = log.state()
        topics = [topic for topic in topics_of(log) if topic == "grant.revoked"]
        log.close()
        left = (bool(state.deadlines), bool(state.standings))
        assert left == ((False, False) if topics else (True, True))
        whole.append(bool(topics))
        if ran.returncode == 0:
            break
        assert ran.returncode == -signal.SIGKILL, ran.stderr

    assert (whole[0], whole[-1]) == (False, True)


def topics_of(log: EventLog) -> list[str]:
    return [decode(data).topic for data in log.read(0, 1_000, 1 << 20)]


def withdrawn(world: Served) -> list[ComponentWithdrawn]:
    events = (world.owner.vocabulary.read(r) for r in world.owner.read_stream("registry"))
    return [event for event in events if isinstance(event, ComponentWithdrawn)]


def test_nothing_stays_of_what_came_in_the_moment_of_a_revocation(
    folder: Path, hub: Served
) -> None:
    alice = hub.client("alice", **MAY)
    under_way = threading.Event()

    def leave_more() -> None:
        with contextlib.suppress(CortexError):
            for number in itertools.count():
                alice.hub.ask_one("alice", Subscribe(f"alice/{number}", "ordered", (("*", None),)))
                due = Due(f"alice/{number}", 1 << 62, Draft.of(STOPPED))
                alice.hub.ask_one("alice", Publish((), due=(due,)))
                under_way.set()

    thread = threading.Thread(target=leave_more)
    thread.start()
    assert under_way.wait(SOON_S)
    revoke(hub.owner, "alice")
    thread.join(SOON_S)

    until(lambda: held(folder, "alice") == NOTHING)


def test_client_show_lists_all_that_a_client_holds(
    folder: Path, hub: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    alice = hub.client("alice", **MAY)
    left_behind(alice, time.time_ns() + HOUR_NS)
    alice.hub.ask_one("Doer", Subscribe("Doer", "work", (("step.execute", None),)))
    hub.owner.publish(StepExecute(execution_id="e1", step_id="s", action="do"))
    alice.hub.ask_one("Doer", Claim("Doer", 1, HOUR_NS))
    at = ["--home", str(folder / ".cortex")]

    main(["client", "show", "alice", "--json", *at])
    holds = json.loads(capsys.readouterr().out)["holds"]
    main(["client", "show", "alice", *at])
    shown = capsys.readouterr().out
    main(["client", "revoke", "alice", "--json", *at])
    gone = json.loads(capsys.readouterr().out)

    assert {d["name"]: d["source"] for d in holds["deadlines"]} == {
        "alice/later": "alice",
        "alice/as-doer": "Doer",
    }
    lags = {s["name"]: (s["kind"], s["lag"]) for s in holds["subscriptions"]}
    assert lags["alice/work"] == ("work", 1)
    assert lags["alice/ordered"][0] == "ordered"
    assert [a["name"] for a in holds["announcements"]] == ["does-alice"]
    assert [lease["subscription"] for lease in holds["leases"]] == ["Doer"]
    assert [c["carrier"] for c in holds["connections"]] == ["ipc"]
    assert "alice/as-doer: runtime.stopped" in shown
    assert set(gone["removed"]) == {"alice/work", "alice/ordered"}
    assert set(gone["deadlines"]) == {"alice/later", "alice/as-doer"}
    assert gone["withdrawn"] == ["action does-alice"]


def test_what_a_revocation_took_stays_away_when_the_hub_is_started_again(folder: Path) -> None:
    clock = MovedClock()
    with served(folder, (), clock) as service:
        world = Served(Home(folder / ".cortex"), service)
        alice, bob = (world.client(name, **MAY) for name in ("alice", "bob"))
        due_ns = clock.now_ns() + HOUR_NS
        left_behind(alice, due_ns)
        left_behind(bob, due_ns)
        revoke(world.owner, "alice")
        world.close()

    with served(folder, (), MovedClock(3_601)) as service:
        world = Served(Home(folder / ".cortex"), service)
        until(lambda: in_force(world) == 2)
        sources, subscriptions = recorded(world), held(folder, "alice").subscriptions
        world.close()

    assert sorted(sources) == ["Doer", "bob"]
    assert subscriptions == ()
