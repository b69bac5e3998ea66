"""A thousand idle connections from the address that known clients come from: those come in."""

import contextlib
import socket
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from importlib import import_module
from pathlib import Path

import pytest

from cortex.bus import (
    Client,
    Hub,
    HubServer,
    LocalHub,
    ServerTls,
    SystemClock,
    connect,
    system_entropy,
)
from cortex.bus.events import TriggerReceived
from cortex.plugins.webhook import Webhook, signature_of
from cortex.runtime.access import hub_certificate
from cortex.runtime.kernel import Home, Runtime
from cortex.runtime.log import MemoryLog

from .hub_process import WORDS, Said

IDLE, KNOWN = 1_000, 20
LONG_S = 120.0
KEY = "a secret of the test"


@contextlib.contextmanager
def strangers(address: tuple[str, int], count: int = IDLE) -> Iterator[list[socket.socket]]:
    """That many connections to an address which say nothing; those that are closed stay closed."""
    with contextlib.ExitStack() as opened:
        yield [
            opened.enter_context(socket.create_connection(address, LONG_S)) for _ in range(count)
        ]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[HubServer, str]]:
    hub = LocalHub(Hub(MemoryLog(), WORDS, system_entropy), SystemClock())
    server = HubServer(hub, MemoryLog())
    tmp_path.chmod(0o700)
    shown = hub_certificate(tmp_path)
    url = server.listen("tls+tcp://127.0.0.1:0", tls=ServerTls(Path(shown.path)))
    yield server, f"{url}#{shown.sha256}"
    server.close()
    hub.close()


def port_of(url: str) -> int:
    return int(url.partition("#")[0].rpartition(":")[2])


def test_known_clients_come_in_over_tls_though_a_thousand_strangers_wait(
    served: tuple[HubServer, str],
) -> None:
    _, url = served

    def publish(number: int) -> int:
        with connect(url, name=f"known-{number}", vocabulary=WORDS, away_s=LONG_S) as client:
            return client.publish(Said(number=number))

    with strangers(("127.0.0.1", port_of(url))), ThreadPoolExecutor(4) as pool:
        positions = list(pool.map(publish, range(KNOWN)))

    assert sorted(positions) == list(range(1, KNOWN + 1))


def test_who_was_let_in_stays_however_many_strangers_come(served: tuple[HubServer, str]) -> None:
    server, url = served
    with connect(url, name="known", vocabulary=WORDS, away_s=0.0) as client:
        client.publish(Said(number=1))

        with strangers(("127.0.0.1", port_of(url))):
            client.publish(Said(number=2))

            assert [each.connections for each in server.clients()] == [1]


@pytest.mark.skipif(sys.platform != "linux", reason="connections have other times elsewhere")
def test_a_network_that_dies_is_noticed_soon(served: tuple[HubServer, str]) -> None:
    _, url = served
    port = port_of(url)
    unopened = import_module("cortex.bus.wire.server.unopened")
    with connect(url, name="known", vocabulary=WORDS, away_s=0.0) as client:
        client.publish(Said(number=1))

        times = [
            (sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE), keeps_alive(sock))
            for _, sock in unopened._connections({port})
        ]

    assert times
    assert set(times) == {(20, True)}


def keeps_alive(sock: socket.socket) -> bool:
    return sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) != 0


def test_a_handshake_that_drips_is_over_in_time(
    served: tuple[HubServer, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, url = served
    server.unopened.strangers.patience_ns = 300_000_000
    with socket.create_connection(("127.0.0.1", port_of(url)), LONG_S) as slow:
        # A record of TLS that is longer than what will ever come of it.
        for byte in b"\x16\x03\x01\x40\x00\x01\x00\x3f\xfc" + bytes(1_000):
            try:
                slow.send(bytes((byte,)))
            except OSError:
                break
            threading.Event().wait(0.01)
        else:
            raise AssertionError("it could drip for as long as it liked")


@pytest.fixture
def webhook(tmp_path: Path) -> Iterator[tuple[Webhook, Client]]:
    home = Home.create(tmp_path / ".cortex")
    folder = home.path / "keys" / "secrets"
    folder.mkdir()
    (folder / "CORTEX_WEBHOOK_SECRET").write_text(KEY + "\n")
    (folder / "CORTEX_WEBHOOK_SECRET").chmod(0o600)
    with Runtime(components=[]) as runtime:
        client = runtime.client("webhook")
        settings = {"listen": "127.0.0.1:0", "patience_s": LONG_S}
        made = Webhook(home, settings, client.publish)
        made.on_start()
        yield made, client
        made.on_stop()


def test_signed_posts_come_in_though_a_thousand_strangers_wait(
    webhook: tuple[Webhook, Client],
) -> None:
    hook, client = webhook

    def post(number: int) -> int:
        body = b'{"fields": {"source": "ci", "n": %d}}' % number
        connection = HTTPConnection(*hook.address, timeout=LONG_S)
        signed = {"X-Cortex-Signature": signature_of("/", body, KEY, int(time.time()))}
        connection.request("POST", "/", body, signed)
        status = connection.getresponse().status
        connection.close()
        return status

    with strangers(hook.address), ThreadPoolExecutor(4) as pool:
        statuses = list(pool.map(post, range(KNOWN)))

    assert statuses == [202] * KNOWN
    taken = [r for r in client.read() if r.topic == TriggerReceived.topic_name()]
    assert len(taken) == KNOWN
