"""Access over a hub: grants that follow the log, denials that are recorded, expiry, the owner."""

import threading
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import ClassVar

import pytest

from cortex.bus import (
    Batch,
    Client,
    ClientDeniedError,
    Draft,
    Event,
    Hub,
    LocalHub,
    LogError,
    NotGrantedError,
    Peer,
    Publish,
    Subscribe,
    Unsubscribe,
    Vocabulary,
    system_entropy,
)
from cortex.bus.events import VOCABULARY, ClientConnected, ClientDenied, ClientLeft, GrantGiven
from cortex.runtime.access import (
    GrantInvalidError,
    HubAccess,
    NoSuchClientError,
    Terms,
    change,
    digest_of,
    grants_of,
    issue,
    new_token,
    owner_token,
    revoke,
)
from cortex.runtime.kernel import Config
from cortex.runtime.log import AgentWork, MemoryLog

SECOND_NS = 1_000_000_000
HERE = Peer("ipc")
TLS = Peer("tls", "10.0.0.7:51234", certificate="alice")
SOON_S = 120.0


class Clock:
    now = 1_700_000_000 * SECOND_NS

    def now_ns(self) -> int:
        return self.now

    def monotonic_ns(self) -> int:
        return self.now


class BrittleLog(MemoryLog):
    """Cannot be read while it is broken."""

    broken = False

    def read_stream(self, stream: str, after: int, limit: int) -> list[bytes]:
        if self.broken:
            raise LogError("the disk fails")
        return list(super().read_stream(stream, after, limit))


class World:
    def __init__(self, keys: Path, vocabulary: Vocabulary) -> None:
        self.clock, self.log, self.keys = Clock(), BrittleLog(), keys
        self.hub = LocalHub(
            Hub(self.log, vocabulary, system_entropy, policy=AgentWork()), self.clock
        )
        self.owner = Client("owner", self.hub, self.log, vocabulary)
        self.changed: list[str] = []
        self.access = self.opened()

    def opened(self) -> HubAccess:
        access = HubAccess(self.hub, self.log, VOCABULARY, self.keys)
        access.watch(self.changed.append)
        return access

    def later(self, seconds: float) -> None:
        """Let time pass, and the clock's thread do what is due."""
        self.clock.now += int(seconds * SECOND_NS)
        rung = threading.Event()
        self.hub.alarm(self.clock.now, rung.set)  # after whatever was due before
        self.hub.alarm(0, lambda: None)  # it sleeps by another clock: only what is nearer wakes it
        assert rung.wait(SOON_S)

    def denied(self) -> list[ClientDenied]:
        return [e for e in self.events() if isinstance(e, ClientDenied)]

    def events(self) -> list[object]:
        return [VOCABULARY.read(record) for record in self.owner.read()]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path / "keys", VOCABULARY)
    yield world
    world.access.close()
    world.hub.close()


def refused(world: World, token: str, name: str, peer: Peer = HERE) -> str:
    with pytest.raises(ClientDeniedError) as caught:
        world.access.admit(token, name, peer)
    return caught.value.reason


def test_whoever_shows_its_token_comes_in_under_its_own_name(world: World) -> None:
    token = issue(world.owner, "alice", Terms(publish=("step.*",)))

    assert world.access.admit(token, "", HERE) == "alice"
    assert world.access.admit(token, "alice", HERE) == "alice"
    assert world.access.admit(token, "alice/worker-1", TLS) == "alice/worker-1"
    assert world.denied() == []


def test_everybody_else_is_refused_and_that_is_recorded(world: World) -> None:
    token = issue(world.owner, "alice", Terms())
    issue(world.owner, "bob", Terms())

    assert "unknown token" in refused(world, new_token(), "alice", TLS)
    assert "belongs to another" in refused(world, token, "bob")
    assert "unknown token" in refused(world, "", "")
    assert "name" in refused(world, token, "alice/../bob")

    first, *rest = world.denied()
    assert (first.client, first.verb, first.claimed) == ("?", "connect", "alice")
    assert (first.carrier, first.address) == ("tls", "10.0.0.7:51234")
    assert [each.client for each in rest] == ["alice", "?"]
    assert all(token not in repr(event) for event in world.events())


def test_the_refusals_of_a_guesser_are_counted(world: World) -> None:
    for _ in range(50):
        refused(world, new_token(), "alice")
    world.later(1.5)

    assert [event.times for event in world.denied()] == [1, 49]


def test_a_token_in_the_place_of_a_name_is_not_recorded(world: World) -> None:
    token = issue(world.owner, "alice", Terms())

    refused(world, "", token)
    world.access.deny("alice", "publish", f"x.{token}")

    assert all(token not in repr(event) for event in world.events())


def test_a_revoked_client_has_no_standing_when_the_revocation_is_acknowledged(
    world: World,
) -> None:
    token = issue(world.owner, "alice", Terms(publish=("*",)))
    client = world.access.admit(token, "alice", HERE)
    world.changed.clear()

    revoke(world.owner, "alice", "it left")

    assert not world.access.standing(client)
    assert not world.access.allows(client, "publish", "step.completed")
    assert world.changed == ["alice"]
    assert "revoked" in refused(world, token, "alice")


def test_changed_terms_hold_at_once_and_keep_the_token(world: World) -> None:
    token = issue(world.owner, "alice", Terms(publish=("step.*",)))

    change(world.owner, "alice", lambda _: Terms(read=("gate.*",)))

    assert world.access.admit(token, "alice", HERE) == "alice"
    assert not world.access.allows("alice", "publish", "step.completed")
    assert world.access.allows("alice", "read", "gate.evaluated")


def test_a_grant_ends_by_itself_and_whoever_serves_the_client_is_told(world: World) -> None:
    ends_ns = world.clock.now + 10 * SECOND_NS
    token = issue(world.owner, "alice", Terms(publish=("*",), expires_ns=ends_ns))
    world.changed.clear()

    world.later(9)
    assert world.access.standing("alice")
    assert world.changed == []

    world.later(2)
    assert not world.access.standing("alice")
    assert world.changed == ["alice"]
    assert "expired" in refused(world, token, "alice")


def test_a_grant_that_is_bound_to_a_certificate_needs_it(world: World) -> None:
    token = issue(world.owner, "alice", Terms(certificate="c" * 64))

    assert world.access.admit(token, "alice", TLS) == "alice"
    assert "certificate" in refused(world, token, "alice", HERE)
    expired = Peer("tls", "10.0.0.7:1", problem="certificate has expired")
    assert "certificate has expired" in refused(world, token, "alice", expired)


def test_the_owner_may_do_everything_and_is_always_called_owner(world: World) -> None:
    token = owner_token(world.keys)
    issue(world.owner, "alice", Terms())

    assert world.access.admit(token, "", HERE) == "owner"
    assert world.access.admit(token, "alice", HERE) == "owner/alice"
    assert world.access.admit(token, "owner/cli", HERE) == "owner/cli"
    assert world.access.allows("owner/cli", "publish", "grant.given")
    assert world.access.holds("owner/cli", "ProcessManager")
    assert world.access.standing("owner")


def test_what_was_granted_is_known_again_after_a_restart(world: World) -> None:
    token = issue(world.owner, "alice", Terms(publish=("step.*",)))
    issue(world.owner, "bob", Terms())
    revoke(world.owner, "bob")
    world.access.close()

    world.access = world.opened()

    assert world.access.admit(token, "alice", HERE) == "alice"
    assert [g.given.client for g in world.access.grants.clients()] == ["alice"]


def test_while_the_grants_cannot_be_read_nobody_may_do_anything(world: World) -> None:
    token = issue(world.owner, "alice", Terms(publish=("*",)))
    world.log.broken = True
    world.owner.publish_drafts(
        [Draft.of(ClientConnected(client="alice", carrier="ipc"))]
    )  # no grant: nothing is read again
    assert world.access.allows("alice", "publish", "step.completed")

    given = world.access.grants.clients()[0].given
    world.owner.publish(given)

    assert not world.access.allows("alice", "publish", "step.completed")
    assert not world.access.standing("alice")
    with pytest.raises(ClientDeniedError, match="cannot be read now"):
        world.access.admit(token, "alice", HERE)
    world.log.broken = False
    assert world.access.allows("alice", "publish", "step.completed")


def test_a_denial_that_cannot_be_recorded_is_a_denial_all_the_same(world: World) -> None:
    class Full(MemoryLog):
        def write(self, batch: Batch) -> None:
            raise LogError("the disk is full")

    world.log.write = Full().write  # type: ignore[method-assign]

    error = world.access.deny("alice", "publish", "step.completed")

    assert isinstance(error, NotGrantedError)
    assert "--publish step.completed" in str(error)


def test_who_came_and_who_left_is_recorded_by_the_hub(world: World) -> None:
    issue(world.owner, "alice", Terms(certificate="c" * 64))

    world.access.connected("alice", TLS)
    world.access.left("alice", TLS, "closed\x1b[2J")

    came, left = (e for e in world.events() if isinstance(e, ClientConnected | ClientLeft))
    assert came == ClientConnected(
        client="alice", carrier="tls", address=TLS.address, certificate="c" * 64
    )
    assert isinstance(left, ClientLeft)
    assert "\x1b" not in left.reason
    told = [r for r in world.owner.read() if r.topic.startswith("client.")]
    assert {record.source for record in told} == {"hub"}


def test_closing_it_leaves_no_subscription_and_counts_what_is_left(world: World) -> None:
    for _ in range(3):
        world.access.deny("alice", "publish", "step.completed")

    world.access.close()

    world.access.close()
    assert [event.times for event in world.denied()] == [1, 2]
    world.hub.ask_one("hub", Subscribe("hub/access", "work", (("x.a", None),)))  # the name is free
    world.hub.ask_one("hub", Unsubscribe("hub/access"))


def test_two_who_change_grants_at_once_both_succeed(world: World) -> None:
    raced = world.owner.publish

    def late(*args: object, **options: object) -> int:
        world.owner.publish = raced  # type: ignore[method-assign]
        issue(world.owner, "bob", Terms())
        return raced(*args, **options)  # type: ignore[arg-type]

    world.owner.publish = late  # type: ignore[method-assign]
    issue(world.owner, "alice", Terms())

    assert {g.given.client for g in grants_of(world.owner).clients()} == {"alice", "bob"}


def test_what_cannot_be_given_is_refused_before_anything_is_recorded(world: World) -> None:
    issue(world.owner, "alice", Terms())
    head = world.hub.head

    with pytest.raises(GrantInvalidError, match="is there already"):
        issue(world.owner, "alice", Terms())
    with pytest.raises(GrantInvalidError, match="--read"):
        issue(world.owner, "bob", Terms(read=("st*p",)))
    with pytest.raises(NoSuchClientError, match="there are alice"):
        revoke(world.owner, "bob")
    with pytest.raises(NoSuchClientError):
        change(world.owner, "alice/part", lambda terms: terms)

    assert world.hub.head == head


def test_a_grant_published_straight_by_the_runtime_holds_too(world: World) -> None:
    token = new_token()
    given = GrantGiven(client="ticker", token_sha256=digest_of(token))

    world.hub.ask_one("runtime", Publish((Draft.of(given),)))

    assert world.access.admit(token, "ticker", HERE) == "ticker"


class Stray(Event, frozen=True, kw_only=True, tag="x.stray.said"):
    belongs: ClassVar[tuple[str, str]] = ("grants", "")


class Lost(Event, frozen=True, kw_only=True, tag="x.stray.lost"):
    belongs: ClassVar[tuple[str, str]] = ("registry", "")


def test_a_log_with_events_of_strangers_among_the_grants_still_opens(tmp_path: Path) -> None:
    world = World(tmp_path / "keys", VOCABULARY.extended((Stray, Lost)))
    reader = Client("owner", world.hub, world.log, VOCABULARY)
    world.owner.publish(Stray(), Lost())

    token = issue(reader, "alice", Terms(publish=("step.*",)))
    world.access.close()
    world.access = world.opened()

    assert world.access.admit(token, "", HERE) == "alice"
    revoke(reader, "alice")
    assert not world.access.standing("alice")
    import_module("cortex.runtime.kernel.components.announcements").announce(
        reader, (), Config(), alone=True
    )
    world.access.close()
    world.hub.close()


def test_whether_a_client_may_say_anything_at_all_follows_its_grant(world: World) -> None:
    issue(world.owner, "alice", Terms(read=("step.*",)))
    issue(world.owner, "bob", Terms(work=("step.*",)))

    assert [world.access.allows_some(c, "work") for c in ("alice", "bob", "eve", "owner")] == [
        False,
        True,
        False,
        True,
    ]


def pairs(world: World) -> list[tuple[str, str, int]]:
    found = (e for e in world.events() if isinstance(e, ClientConnected | ClientLeft))
    return [(type(e).__name__.removeprefix("Client"), e.client, e.times) for e in found]


def test_a_client_that_comes_and_goes_all_the_time_is_told_as_one_pair_a_minute(
    world: World,
) -> None:
    for _ in range(1_000):
        world.access.connected("alice", HERE)
        world.access.left("alice", HERE, "closed")
    first = pairs(world)
    world.later(61)
    for _ in range(5):
        world.access.connected("alice", HERE)
        world.access.left("alice", HERE, "closed")
    world.access.connected("alice", HERE)
    world.later(61)
    world.later(61)  # nothing happened: it is told anew, at once
    world.access.left("alice", HERE, "closed")

    assert first == [("Connected", "alice", 1), ("Left", "alice", 1)]
    assert pairs(world)[2:] == [
        ("Connected", "alice", 999),
        ("Left", "alice", 999),
        ("Left", "alice", 5),
        ("Connected", "alice", 6),  # it is there now, so that this comes last
        ("Left", "alice", 1),
    ]


def test_a_client_that_comes_from_elsewhere_is_told_at_once_and_not_without_bound(
    world: World,
) -> None:
    for port in range(100):
        world.access.connected("alice", Peer("tls", f"10.0.0.7:{port}"))
    world.access.connected("alice", Peer("tls", "10.0.0.8:1"))
    for host in range(100):
        world.access.connected("bob", Peer("tls", f"10.1.0.{host}:1"))

    told = pairs(world)
    assert [who for _, who, _ in told].count("alice") == 2
    assert [who for _, who, _ in told].count("bob") == 17
    world.access.close()  # what was counted is not lost
    assert [times for _, who, times in pairs(world)[len(told) :] if who == "alice"] == [99]
    assert sum(times for _, who, times in pairs(world) if who == "bob") == 100
