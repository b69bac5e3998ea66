"""Who is let in over a real wire, and how far: each refusal is typed, and is an event."""

import contextlib
import datetime as dt
import re
import shutil
import socket
import ssl
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cortex.bus import (
    Claim,
    Client,
    ClientDeniedError,
    CortexError,
    Draft,
    Due,
    Fetch,
    Hub,
    HubAwayError,
    HubServer,
    HubUnverifiedError,
    LocalHub,
    NotGrantedError,
    OutcomeUnknownError,
    Page,
    Publish,
    Refused,
    ServerTls,
    Subscribe,
    SystemClock,
    VersionError,
    connect,
    system_entropy,
)
from cortex.bus.events import (
    VOCABULARY,
    ClientConnected,
    ClientDenied,
    ClientLeft,
    ComponentRetry,
    EffectUnknown,
    GrantGiven,
    RuntimeStarted,
    RuntimeStopped,
)
from cortex.runtime.access import (
    HubAccess,
    Terms,
    change,
    client_authority,
    client_certificate,
    hub_certificate,
    issue,
    new_token,
    owner_token,
    renew_hub_certificate,
    revoke,
)
from cortex.runtime.log import AgentWork, MemoryLog

SOON_S = 120.0
STARTED = RuntimeStarted(runtime="r", cortex_version="1")
STOPPED = RuntimeStopped(runtime="r")


class World:
    """A hub served on ipc and on TLS, and its owner inside."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.keys = folder, folder / "keys"
        self.log = MemoryLog()
        self.hub = LocalHub(
            Hub(self.log, VOCABULARY, system_entropy, policy=AgentWork()), SystemClock()
        )
        self.access = HubAccess(self.hub, self.log, VOCABULARY, self.keys)
        self.server = HubServer(self.hub, self.log, access=self.access)
        self.ipc = self.server.listen(f"ipc://{folder}/bus.sock")
        shown, self.authority = hub_certificate(self.keys), client_authority(self.keys)
        path = Path(shown.path)
        tls = ServerTls(path, path, clients=Path(self.authority.path))
        self.tls = self.server.listen("tls+tcp://127.0.0.1:0", tls=tls)
        self.pin = shown.sha256
        self.owner = Client("owner", self.hub, self.log, VOCABULARY)
        self._named = 0

    def client(self, **terms: Any) -> tuple[str, str]:
        """A new client's name and token."""
        self._named += 1
        name = f"client-{self._named}"
        return name, issue(self.owner, name, Terms(**terms))

    def denials(self, client: str) -> list[ClientDenied]:
        found = (VOCABULARY.read(r) for r in self.owner.read_stream(f"client/{client}"))
        return [event for event in found if isinstance(event, ClientDenied)]

    def until(self, kind: type, client: str) -> Any:
        """Wait for an event of *kind* about *client*."""
        feed = self.owner.follow((f"{kind.topic_name()}", None), after=0)  # type: ignore[attr-defined]
        try:
            for _ in range(600):
                for record in feed.next(SOON_S / 600):
                    event: Any = VOCABULARY.read(record)
                    if event.client == client:
                        return event
        finally:
            feed.close()
        raise AssertionError(f"no {kind.__name__} of {client}")

    def close(self) -> None:
        self.server.close()
        self.access.close()
        self.hub.close()


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    # Not pytest's own folder: the path of a socket is short.
    folder = Path(tempfile.mkdtemp(prefix="cortex-"))
    world = World(folder)
    yield world
    world.close()
    shutil.rmtree(folder)


def test_a_client_does_what_it_was_granted_under_its_own_name(world: World) -> None:
    name, token = world.client(publish=("runtime.started",), read=("*",), subscribe=("*",))

    with connect(world.ipc, token=token, name=f"{name}/one") as client:
        position = client.publish(STARTED)
        (record,) = [r for r in client.read(position - 1) if r.position == position]

    assert record.source == f"{name}/one"
    assert world.until(ClientConnected, f"{name}/one").carrier == "ipc"
    assert world.until(ClientLeft, f"{name}/one").client == f"{name}/one"


def test_an_unknown_client_and_a_wrong_token_are_refused(world: World) -> None:
    name, _ = world.client(publish=("*",))

    for claimed in ("stranger", name, ""):
        with pytest.raises(ClientDeniedError, match="unknown token"):
            connect(world.ipc, token=new_token(), name=claimed)

    assert "connect" in {event.verb for event in world.denials("?")}


def test_a_client_cannot_take_anothers_name(world: World) -> None:
    (one, _), (two, token) = world.client(), world.client()

    with pytest.raises(ClientDeniedError, match="belongs to another"):
        connect(world.ipc, token=token, name=one)

    (event,) = world.denials(two)
    assert (event.claimed, event.carrier) == (one, "ipc")


def test_a_client_cannot_speak_as_another(world: World) -> None:
    name, token = world.client(publish=("*",), names=("Doer",))

    with connect(world.ipc, token=token) as client:
        hub: Any = client._hub
        for source in ("owner", "ProcessManager", "hub", "runtime"):
            with pytest.raises(NotGrantedError):
                hub.ask_one(source, Publish((Draft.of(STARTED),)))
        hub.ask_one("Doer", Publish((Draft.of(STARTED),)))

    assert {event.about for event in world.denials(name)} >= {"owner", "ProcessManager"}
    assert all(r.source not in ("ProcessManager", "runtime") for r in world.owner.read())


@pytest.mark.parametrize(
    "draft",
    [
        Draft.of(STOPPED),
        Draft.of(GrantGiven(client="eve", token_sha256="0" * 64, publish=("*",))),
        Draft.of(ClientLeft(client="alice", carrier="ipc")),
    ],
    ids=lambda draft: draft.topic,
)
def test_what_was_not_granted_is_not_published_not_even_later(world: World, draft: Draft) -> None:
    granted = ("runtime.started",) if draft.topic == "runtime.stopped" else ("*",)
    name, token = world.client(publish=granted)
    head = world.hub.head

    with connect(world.ipc, token=token) as client:
        hub: Any = client._hub
        due = (Due(f"{name}/later", 0, draft),)
        for request in (Publish((draft,)), Publish((), due=due)):
            with pytest.raises(NotGrantedError, match=draft.topic):
                hub.ask_one(name, request)

    assert world.denials(name)[0].about == draft.topic
    after = [r.topic for r in world.owner.read(head) if r.source != "hub"]
    assert draft.topic not in after


def test_a_client_is_sent_only_what_it_may_see(world: World) -> None:
    _, token = world.client(subscribe=("runtime.started",), read=("runtime.started",))

    with connect(world.ipc, token=token) as client:
        feed = client.follow(("runtime.*", None))
        world.owner.publish(STOPPED, STARTED, STOPPED)
        seen: list[str] = []
        for _ in range(600):
            seen += [record.topic for record in feed.next(SOON_S / 600)]
            if seen:
                break
        feed.close()
        with pytest.raises(NotGrantedError):
            client.follow(("runtime.stopped", None))
        read = {record.topic for record in client.read()}

    assert seen == ["runtime.started"]
    assert read <= {"runtime.started"}


def test_work_and_names_of_others_are_out_of_reach(world: World) -> None:
    name, token = world.client(subscribe=("*",), work=("runtime.started",))
    pairs = (("runtime.started", None),)
    world.hub.ask_one("owner", Subscribe("TheirWork", "work", pairs))

    with connect(world.ipc, token=token) as client:
        hub: Any = client._hub
        for request in (
            Subscribe("TheirWork", "work", pairs),
            Subscribe(f"{name}/work", "work", (("runtime.*", None),)),
            Claim("TheirWork", 1, 1_000),
        ):
            with pytest.raises(NotGrantedError):
                hub.ask_one(name, request)
        hub.ask_one(name, Subscribe(f"{name}/work", "work", pairs))


def test_new_terms_hold_for_a_client_that_is_connected(world: World) -> None:
    name, token = world.client()

    with connect(world.ipc, token=token) as client:
        with pytest.raises(NotGrantedError):
            client.publish(STARTED)
        change(world.owner, name, lambda _: Terms(publish=("runtime.*",)))
        client.publish(STARTED)
        change(world.owner, name, lambda _: Terms())
        with pytest.raises(NotGrantedError):
            client.publish(STARTED)


@pytest.mark.parametrize("carrier", ["ipc", "tls"])
def test_a_revoked_client_is_cut_off_at_once(world: World, carrier: str) -> None:
    name, token = world.client(publish=("*",), subscribe=("*",))
    url = world.ipc if carrier == "ipc" else world.tls
    ended: list[BaseException] = []

    with connect(url, token=token, fingerprint=world.pin, away_s=SOON_S) as client:
        feed = client.follow(("runtime.started", None))

        def wait() -> None:
            try:
                while True:
                    feed.next(SOON_S)
            except CortexError as error:
                ended.append(error)

        waiting = threading.Thread(target=wait)
        waiting.start()
        revoke(world.owner, name)
        revoked_at = world.hub.head
        # Unknown where its frame went out by the connection that was being cut.
        with pytest.raises((ClientDeniedError, OutcomeUnknownError)):
            client.publish(STARTED)
        waiting.join(SOON_S)
        assert not waiting.is_alive()

    assert isinstance(ended[0], ClientDeniedError)
    assert all(r.source != name for r in world.owner.read(revoked_at))
    with pytest.raises(ClientDeniedError, match="revoked"):
        connect(url, token=token, fingerprint=world.pin)
    assert world.denials(name)[-1].reason == "its grant was revoked"


def test_what_a_revoked_client_asks_before_it_is_cut_off_is_refused_as_a_strangers(
    world: World,
) -> None:
    name, _ = world.client(publish=("*",))
    granted = world.access.deny(name, "read", "step.completed")
    revoke(world.owner, name)

    revoked = world.access.deny(name, "publish", "runtime.started")

    assert isinstance(granted, NotGrantedError)
    assert isinstance(revoked, ClientDeniedError)


def test_the_owner_may_do_everything_over_the_wire(world: World) -> None:
    with connect(world.ipc, token=owner_token(world.keys), name="cli") as client:
        assert client.name == "owner/cli"
        token = issue(client, "made-by-owner", Terms(publish=("runtime.*",)))
        with connect(world.ipc, token=token) as made:
            made.publish(STARTED)
        revoke(client, "made-by-owner")


def test_certificates_prove_both_sides(world: World, tmp_path: Path) -> None:
    name, _ = world.client()
    made = client_certificate(world.keys, name, tmp_path)
    revoke(world.owner, name)
    token = issue(world.owner, name, Terms(publish=("*",), certificate=made.sha256))

    with connect(
        world.tls, token=token, fingerprint=world.pin, certificate=made.path, key=made.path
    ) as client:
        client.publish(STARTED)
    for url, pin in ((world.ipc, ""), (world.tls, world.pin)):
        with pytest.raises(ClientDeniedError, match="certificate that it was granted with"):
            connect(url, token=token, fingerprint=pin)

    assert world.until(ClientConnected, name).certificate == made.sha256
    assert {event.carrier for event in world.denials(name)} >= {"ipc"}


def test_an_expired_certificate_gets_a_typed_refusal_and_an_event(
    world: World, tmp_path: Path
) -> None:
    name, token = world.client(publish=("*",))
    long_ago = dt.datetime.now(dt.UTC) - dt.timedelta(days=30)
    old = client_certificate(world.keys, name, tmp_path, days=1, now=long_ago)

    with pytest.raises(ClientDeniedError, match="it has expired"):
        connect(world.tls, token=token, fingerprint=world.pin, certificate=old.path, key=old.path)

    told = [e for e in world.denials("?") if "certificate" in e.reason]
    assert [(e.claimed, e.carrier) for e in told] == [("", "tls")]


def test_a_certificate_of_a_stranger_is_not_taken(world: World, tmp_path: Path) -> None:
    name, token = world.client(publish=("*",))
    other = client_certificate(tmp_path / "other", name, tmp_path)

    with pytest.raises((HubAwayError, ssl.SSLError, OSError, CortexError)) as refused:
        connect(
            world.tls, token=token, fingerprint=world.pin, certificate=other.path, key=other.path,
            away_s=1.0,
        )  # fmt: skip

    assert not isinstance(refused.value, AssertionError)
    assert all(c.name != name for c in world.server.clients())


def test_a_hub_that_is_not_the_pinned_one_is_told_nothing(world: World, tmp_path: Path) -> None:
    _, token = world.client(publish=("*",))
    other = renew_hub_certificate(tmp_path)

    with pytest.raises(HubUnverifiedError, match="not the pinned"):
        connect(world.tls, token=token, fingerprint=other.sha256)


def test_a_client_of_another_version_is_told_what_to_do_and_it_is_recorded(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, token = world.client(publish=("*",))
    monkeypatch.setattr("cortex.bus.wire.client.channel.VERSIONS", (99,))

    with pytest.raises(VersionError, match="99"):
        connect(world.ipc, token=token)

    monkeypatch.undo()
    sent = [event.about for event in world.denials("?") if event.verb == "send"]
    assert "VersionError" in sent


def test_no_token_is_in_any_event(world: World) -> None:
    _, token = world.client(publish=("*",))
    for name in (token, f"x/{token}"):
        with pytest.raises(ClientDeniedError):
            connect(world.ipc, token="", name=name)

    assert all(token.encode() not in record.body for record in world.owner.read())
    assert not any(re.search(rb"cortex_[\w-]{40}", r.body) for r in world.owner.read())


def test_whoever_talks_garbage_before_hello_is_let_go(world: World) -> None:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(SOON_S)
        sock.connect(world.ipc.removeprefix("ipc://"))
        with contextlib.suppress(ConnectionError):  # it was cut before all of it was read
            sock.sendall(b"GET / HTTP/1.1\r\n\r\n" * 100)
            while sock.recv(4_096):
                pass


def test_a_refusal_can_be_read_as_the_error_it_is() -> None:
    for error in (
        ClientDeniedError("alice", "its grant was revoked"),
        NotGrantedError("alice", "publish", "step.completed"),
    ):
        again = Refused.of(error).error()
        assert (type(again), again.args) == (type(error), error.args)


def test_a_client_hears_requests_for_its_own_components_alone(world: World) -> None:
    name, token = world.client(subscribe=("runtime.started",), names=("Own",))

    def pairs(key: str | None) -> Subscribe:
        return Subscribe("Own", "ordered", (("runtime.started", None), ("component.retry", key)))

    with connect(world.ipc, token=token, name=name) as client:
        answers = client.hub.submit("Own", (pairs("Another"), pairs(None), pairs("Own")))
        world.owner.publish(
            ComponentRetry(component="Another", position=1),
            ComponentRetry(component="Own", position=1),
        )
        client.hub.submit("Own", (Subscribe("Own", "ordered", (("component.*", None),)),))
        page = client.hub.submit("Own", (Fetch("Own", 0),))[0]

    assert [isinstance(each, Refused) for each in answers] == [True, True, False]
    assert isinstance(page, Page)
    assert [(each.topic, each.key) for each in page.records] == [("component.retry", "Own")]


def test_behind_what_its_own_component_began_nothing_is_said_of_another(world: World) -> None:
    name, token = world.client(work=("step.execute",), names=("Doer",))

    def unknown(component: str) -> Draft:
        return Draft.of(
            EffectUnknown(
                execution_id="1",
                step_id="a",
                effect_key="k",
                component=component,
                kind="action",
                name="act",
                reason="it ended",
            )
        )

    with connect(world.ipc, token=token) as client:
        hub: Any = client._hub
        hub.ask_one("Doer", Publish((unknown("Doer"), unknown("Doer"))))
        with pytest.raises(NotGrantedError):
            hub.ask_one("Doer", Publish((unknown("Doer"), unknown("Shell"))))

    assert [event.about for event in world.denials(name)] == ["effect.unknown"]
