"""The webhook over HTTP, on a runtime: taken once, refused clearly, and never overwhelmed."""

import contextlib
import json
import socket
import time
from collections.abc import Iterator
from http import HTTPStatus
from http.client import HTTPConnection
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from cortex.bus import Client, Event
from cortex.bus.events import PluginDenied, TriggerReceived
from cortex.plugins import PluginRefusedError
from cortex.plugins.webhook import Webhook, signature_of
from cortex.runtime.kernel import Home, Runtime

_server: Any = import_module("cortex.plugins.webhook.server")
WebhookServer = _server.WebhookServer

KEY = "a secret of the test"
BODY = b'{"fields": {"source": "ci", "status": "failure"}}'
PATIENCE_S = 120.0


class World:
    """A webhook at work, and the log that it writes to."""

    def __init__(self, webhook: Webhook, client: Client) -> None:
        self.webhook, self.client = webhook, client

    def post(self, body: bytes, path: str = "/", **headers: str) -> tuple[int, dict[str, Any]]:
        signed = {"X-Cortex-Signature": signature_of(path, body, KEY, int(time.time()))}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection = HTTPConnection(*self.webhook.address, timeout=PATIENCE_S)
        connection.request("POST", path, body, {**signed, **named})
        answer = connection.getresponse()
        said = json.loads(answer.read())
        connection.close()
        return answer.status, said

    def recorded(self, kind: type[Event]) -> list[Any]:
        return [
            self.client.vocabulary.read(record)
            for record in self.client.read()
            if record.topic == kind.topic_name()
        ]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = Home.create(tmp_path_factory.mktemp("webhook") / ".cortex")
    folder = home.path / "keys" / "secrets"
    folder.mkdir()
    (folder / "CORTEX_WEBHOOK_SECRET").write_text(KEY + "\n")
    (folder / "CORTEX_WEBHOOK_SECRET").chmod(0o600)
    return home


@pytest.fixture(scope="module")
def world(home: Home) -> Iterator[World]:
    settings = {"listen": "127.0.0.1:0", "body_bytes": 1_000, "patience_s": PATIENCE_S}
    with Runtime(components=[]) as runtime:
        client = runtime.client("webhook")
        webhook = Webhook(home, settings, client.publish)
        webhook.on_start()
        yield World(webhook, client)
        webhook.on_stop()


def test_a_signed_post_is_recorded_once_however_often_it_comes(world: World) -> None:
    body = b'{"fields": {"source": "test", "n": 1}}'

    answers = [world.post(body, X_GitHub_Delivery=str(n)) for n in range(3)]

    assert [status for status, _ in answers] == [202, 202, 202]
    assert [said["said"] for _, said in answers] == ["received", *2 * ["it was received before"]]
    assert len({said["trigger"] for _, said in answers}) == 1
    received = [
        e for e in world.recorded(TriggerReceived) if e.fields == {"source": "test", "n": 1}
    ]
    assert len(received) == 1


def test_what_is_refused_has_a_clear_answer_and_a_record(world: World) -> None:
    answers = [
        world.post(BODY, X_Cortex_Signature="sha256=" + 64 * "0"),
        world.post(BODY, "/elsewhere"),
        world.post(b"not JSON"),
        world.post(1_001 * b" "),
    ]

    assert [status for status, _ in answers] == [401, 404, 400, 413]
    reasons = [said["error"] for _, said in answers]
    told = [event.reason for event in world.recorded(PluginDenied)]
    for reason in reasons:
        assert f"a post from 127.0.0.1: {reason}" in told


def test_a_workspace_whose_name_no_disk_can_hold_is_answered(home: Home, tmp_path: Path) -> None:
    hook = {"path": "/", "workspaces": [str(tmp_path)], "workspace_from": "workspace"}
    with Runtime(components=[]) as runtime:
        settings = {"listen": "127.0.0.1:0", "hooks": [hook]}
        webhook = Webhook(home, settings, runtime.client("webhook").publish)
        webhook.on_start()
        try:
            body = json.dumps({"fields": {"source": "ci"}, "workspace": "x" * 5_000}).encode()
            status, said = World(webhook, runtime.client("test")).post(body)
        finally:
            webhook.on_stop()

    assert status == 422
    assert "is not a folder here" in said["error"]


def test_a_number_that_no_event_can_hold_is_refused_like_any_wrong_body(world: World) -> None:
    answers = [
        world.post(b'{"fields": {"n": %d}}' % 10**30),
        world.post(b'{"fields": {}, "inputs": {"n": [%d]}}' % -(10**30)),
    ]

    assert [status for status, _ in answers] == [400, 400]
    told = [event.reason for event in world.recorded(PluginDenied)]
    for _, said in answers:
        assert f"a post from 127.0.0.1: {said['error']}" in told


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", 405),
        (b"one two three four\r\n", 400),
        (65_537 * b"x", 414),
        (b"POST / HTTP/1.1\r\n" + 101 * b"a: b\r\n", 431),
    ],
    ids=["405", "400", "414", "431"],
)
def test_what_never_becomes_a_post_is_answered_and_told_in_few_words(
    sent: bytes, status: int
) -> None:
    told: list[tuple[str, str]] = []
    server = WebhookServer(
        ("127.0.0.1", 0),
        lambda *_: {},
        lambda *words: told.append(words),
        body_bytes=1,
        patience_s=PATIENCE_S,
    )

    with socket.create_connection(server.server_address[:2], PATIENCE_S) as connection:
        connection.sendall(sent)
        answer = connection.makefile("rb").read()
    server.close()

    assert answer.startswith(b"HTTP/1.0 %d " % status)
    assert told == [(HTTPStatus(status).phrase.lower(), "127.0.0.1")]


def test_a_flood_of_wrong_posts_is_no_flood_of_events(world: World) -> None:
    before = len(world.recorded(PluginDenied))
    started = world.webhook._steady_ns()

    for _ in range(50):
        world.post(BODY, "/flood", X_Cortex_Signature="wrong")

    took_s = (world.webhook._steady_ns() - started) / 1e9
    assert len(world.recorded(PluginDenied)) - before <= took_s + 2


def test_what_is_no_post_is_told_so(world: World) -> None:
    connection = HTTPConnection(*world.webhook.address, timeout=PATIENCE_S)
    connection.request("GET", "/")
    answer = connection.getresponse()

    assert answer.status == 405
    assert json.loads(answer.read()) == {"error": "only POST is answered here"}
    connection.close()


def test_a_request_that_does_not_come_is_cut_and_makes_room(world: World, home: Home) -> None:
    settings = {"listen": "127.0.0.1:0", "patience_s": 0.2}
    webhook = Webhook(home, settings, world.client.publish)
    webhook.on_start()

    slow = [socket.create_connection(webhook.address, PATIENCE_S) for _ in range(40)]
    for each in slow:
        with contextlib.suppress(ConnectionError):  # more than there is room for are closed at once
            each.sendall(b"POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\n{")

    for each in slow:
        with contextlib.suppress(ConnectionError):
            while each.recv(4_096):
                pass  # it is cut, with or without an answer
        each.close()
    webhook.on_stop()


def test_a_port_in_use_and_a_missing_secret_are_one_clear_line(world: World, home: Home) -> None:
    host, port = world.webhook.address
    taken = Webhook(home, {"listen": f"{host}:{port}"}, world.client.publish)
    without = Webhook(home, {"hooks": [{"secret": "NO_SUCH"}]}, world.client.publish)

    with pytest.raises(PluginRefusedError, match=r"cannot listen on .* set another `listen`"):
        taken.on_start()
    with pytest.raises(PluginRefusedError, match="there is no secret NO_SUCH: set the variable"):
        without.on_start()


def test_a_secret_that_others_may_read_is_refused(home: Home, world: World) -> None:
    path: Path = home.path / "keys" / "secrets" / "OPEN_SECRET"
    path.write_text("x")
    path.chmod(0o644)

    with pytest.raises(PluginRefusedError, match="others may read the secret"):
        Webhook(home, {"hooks": [{"secret": "OPEN_SECRET"}]}, world.client.publish).on_start()
