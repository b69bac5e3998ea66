"""A served hub on a log on disk that a test may restart, and a network as bad as it likes."""

import contextlib
import random
import shutil
import socket
import threading
import time
from pathlib import Path

from cortex.bus import (
    Client,
    Ephemeral,
    Event,
    Hub,
    HubServer,
    LocalHub,
    Query,
    ServerTls,
    SystemClock,
    connect,
    system_entropy,
)
from cortex.bus.events import VOCABULARY
from cortex.runtime.access import hub_certificate
from cortex.runtime.log import EventLog, MemoryBlobs

LONG_S = 120.0  # how long anything may take on a busy machine


class Noted(Event, frozen=True, kw_only=True, tag="x.promise.noted"):
    belongs = ("promise", "about")

    about: str = "all"
    number: int = 0


class Done(Event, frozen=True, kw_only=True, tag="x.promise.done"):
    belongs = ("promise", "about")

    about: str = "done"
    number: int = 0


class Hinted(Ephemeral, frozen=True, kw_only=True, tag="x.promise.hinted"):
    number: int = 0


class Sum(Query, frozen=True, kw_only=True, tag="x.promise.sum"):
    numbers: tuple[int, ...]


class Total(Query, frozen=True, kw_only=True, tag="x.promise.total"):
    total: int


WORDS = VOCABULARY.extended((Noted, Done, Hinted, Sum, Total))
NOTED, DONE, HINTED = [(c.topic_name(), None) for c in (Noted, Done, Hinted)]


class Served:
    """One hub, reached by one carrier; `restart` is a new hub on the same log and address."""

    def __init__(self, carrier: str, folder: Path) -> None:
        self.carrier, self.folder = carrier, folder
        self._keys = folder / "keys"
        self._keys.mkdir(mode=0o700)
        folder.chmod(0o700)
        self._clients: list[Client] = []
        self._network: BadNetwork | None = None
        self._url = {
            "inproc": f"inproc://{folder.name}",
            "ipc": f"ipc://{folder}/bus.sock",
        }.get(carrier, "tls+tcp://127.0.0.1:0")
        self._open()

    def _open(self) -> None:
        self.log = EventLog.open(self.folder / "log.db")
        self.hub = LocalHub(Hub(self.log, WORDS, system_entropy), SystemClock())
        self.blobs = MemoryBlobs()
        self.server = HubServer(self.hub, self.log, self.blobs)
        if self._url.startswith("tls"):
            shown = hub_certificate(self._keys)
            self._url = self.server.listen(self._url, tls=ServerTls(Path(shown.path)))
            self._pin = f"#{shown.sha256}"
        else:
            self._url, self._pin = self.server.listen(self._url), ""
        if self.carrier == "bad network" and self._network is None:
            self._network = BadNetwork(int(self._url.rpartition(":")[2]))

    @property
    def url(self) -> str:
        if self._network is not None:
            return f"tls+tcp://127.0.0.1:{self._network.port}{self._pin}"
        return self._url + self._pin

    def client(self, name: str) -> Client:
        made = connect(self.url, name=name, vocabulary=WORDS, away_s=LONG_S)
        self._clients.append(made)
        return made

    def restart(self) -> None:
        self.shut()
        self._open()

    def copy_of_log(self, name: str) -> EventLog:
        """The log as a machine that stopped at this moment would find it."""
        folder = self.folder / name
        folder.mkdir()
        for file in self.folder.glob("log.db*"):
            shutil.copy(file, folder)
        return EventLog.open(folder / "log.db", readonly=True)

    def shut(self) -> None:
        self.server.close()
        self.hub.close()
        self.log.close()

    def close(self) -> None:
        for client in self._clients:
            client.close()
        if self._network is not None:
            self._network.close()
        self.shut()


class BadNetwork:
    """Passes bytes on, late and in pieces, and cuts every connection after a while."""

    def __init__(self, port: int, seed: int = 7) -> None:
        self._to, self._random = port, random.Random(seed)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.cuts = 0
        self.bad = True
        self._open: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self.bad = False
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for sock in list(self._open):
            _shut(sock)

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self._to))
            except OSError:  # the hub is being started again
                near.close()
                continue
            self._open |= {near, far}
            left = [self._random.randrange(15_000, 250_000)]
            for pair in ((near, far), (far, near)):
                threading.Thread(target=self._pass, args=(*pair, left), daemon=True).start()

    def _pass(self, here: socket.socket, there: socket.socket, left: list[int]) -> None:
        with contextlib.suppress(OSError):
            while data := here.recv(4_096):
                if self.bad:
                    time.sleep(self._random.random() * 0.001)
                    left[0] -= len(data)
                    if left[0] < 0:
                        there.sendall(data[: len(data) // 2])
                        self.cuts += 1
                        break
                there.sendall(data)
        _shut(here)
        _shut(there)


def _shut(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
    sock.close()
