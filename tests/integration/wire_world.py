"""A hub in memory that is served, whom a test may speak to in bytes."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cortex.bus import (
    Access,
    ClientDeniedError,
    CortexError,
    Event,
    Hub,
    HubServer,
    LocalHub,
    NotGrantedError,
    Open,
    Peer,
    Query,
    SystemClock,
    system_entropy,
)
from cortex.bus.events import VOCABULARY
from cortex.runtime.log import MemoryBlobs, MemoryLog

LONG_S = 120.0
GREETING = b"\0SP\0\x00\x30\0\0"


class Said(Event, frozen=True, kw_only=True, tag="x.wire.said"):
    number: int = 0
    text: str = ""


class Kept(Event, frozen=True, kw_only=True, tag="x.secret.kept"):
    number: int = 0


class Twice(Query, frozen=True, kw_only=True, tag="x.wire.twice"):
    number: int


class Doubled(Query, frozen=True, kw_only=True, tag="x.wire.doubled"):
    number: int


WORDS = VOCABULARY.extended((Said, Kept, Twice, Doubled))
SAID = (Said.topic_name(), None)


class Noting(Open):
    """Lets everybody in but who is denied, and notes what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, ...]] = []
        self.refused: set[str] = set()
        self.forbidden: set[tuple[str, str]] = set()
        self.changed: Any = None

    def admit(self, token: str, name: str, peer: Peer) -> str:
        if peer.problem or name in self.refused:
            raise ClientDeniedError(name, peer.problem or "it was revoked")
        return name

    def allows(self, client: str, verb: str, topic: str) -> bool:
        if topic == "*":
            return not self.forbidden
        return (verb, topic) not in self.forbidden

    def holds(self, client: str, subscription: str) -> bool:
        return subscription.partition("/")[0] == client

    def deny(self, client: str, verb: str, topic: str) -> CortexError:
        self.told.append(("denied", client, verb, topic))
        return NotGrantedError(client, verb, topic)

    def watch(self, changed: Any) -> None:
        self.changed = changed

    def standing(self, client: str) -> bool:
        return client not in self.refused

    def left(self, client: str, peer: Peer, reason: str) -> None:
        self.told.append(("left", client, reason))


class Wired:
    """The server, and its address on ipc."""

    def __init__(self, folder: Path, access: Access | None = None) -> None:
        folder.chmod(0o700)
        self.log = MemoryLog()
        self.hub = LocalHub(Hub(self.log, WORDS, system_entropy), SystemClock())
        self.server = HubServer(self.hub, self.log, MemoryBlobs(), access)
        self.path = f"{folder}/bus.sock"
        self.url = self.server.listen(f"ipc://{self.path}")

    def close(self) -> None:
        self.server.close()
        self.hub.close()


def ended(sock: socket.socket) -> bool:
    """Wait until the other end has closed *sock*, whatever it still says."""
    try:
        while sock.recv(1 << 16):
            pass
    except ConnectionError:  # it left unread what was sent
        pass
    return True


class Raw:
    """A client of bytes."""

    def __init__(self, path: str) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(LONG_S)
        self.sock.connect(path)

    def greet(self, greeting: bytes = GREETING) -> None:
        self.sock.sendall(greeting)
        assert self.exactly(8) == b"\0SP\0\x00\x31\0\0"

    def hello(self, name: str = "raw") -> list[Any]:
        self.greet()
        return self.ask(["hello", [2], "", name])

    def send(self, payload: bytes, number: int = 1 << 31) -> None:
        self.sock.sendall(struct.pack(">BQI", 1, len(payload) + 4, number) + payload)

    def frame(self, *requests: Sequence[Any]) -> None:
        self.send(msgspec.msgpack.encode([0, False, [["", list(requests)]]]))

    def ask(self, *requests: Sequence[Any]) -> list[Any]:
        self.frame(*requests)
        answer: list[Any] = self.answers()[0]
        return answer

    def answers(self) -> list[Any]:
        _, length, _ = struct.unpack(">BQI", self.exactly(13))
        return list(msgspec.msgpack.decode(self.exactly(length - 4)))

    def exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self.sock.recv(size - len(data))
            if not more:
                raise EOFError(data)
            data += more
        return data

    def ended(self) -> bool:
        """Wait until the hub has closed the connection, whatever it still says."""
        return ended(self.sock)

    def close(self) -> None:
        self.sock.close()


@pytest.fixture
def access() -> Noting:
    return Noting()


@pytest.fixture
def wired(tmp_path: Path, access: Noting) -> Iterator[Wired]:
    made = Wired(tmp_path, access)
    yield made
    made.close()


@pytest.fixture
def raw(wired: Wired) -> Iterator[Raw]:
    made = Raw(wired.path)
    yield made
    made.close()


def until(met: Callable[[], object], *about: object) -> None:
    """Wait for something that another thread does."""
    for _ in range(int(LONG_S * 100)):
        if met():
            return
        threading.Event().wait(0.01)
    raise AssertionError(about)
