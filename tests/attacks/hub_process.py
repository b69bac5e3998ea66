"""A hub in a process of its own, on a log on disk, which a test may stop, let go on, or kill."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cortex.bus import Client, Event, Hub, HubServer, LocalHub, SystemClock, connect, system_entropy
from cortex.bus.events import VOCABULARY
from cortex.runtime.access import HubAccess
from cortex.runtime.log import BlobStore, EventLog


class Said(Event, frozen=True, kw_only=True, tag="x.attack.said"):
    number: int = 0
    text: str = ""


SAID = (Said.topic_name(), None)
WORDS = VOCABULARY.extended((Said,))


class HubProcess:
    """The process, and how to reach it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.chmod(0o700)
        self.url = f"ipc://{folder}/bus.sock"
        self.process = subprocess.Popen(
            [sys.executable, "-I", __file__, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        if not self.process.stdout or self.process.stdout.readline() != "ready\n":
            raise AssertionError("the hub did not come up")

    @property
    def owner_token(self) -> str:
        return (self.folder / "keys" / "owner.token").read_text().strip()

    def client(self, name: str = "", *, token: str | None = None, away_s: float = 60.0) -> Client:
        shown = self.owner_token if token is None else token
        return connect(self.url, token=shown, name=name, vocabulary=WORDS, away_s=away_s)

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """While the block runs the process does nothing, and its sockets take what comes."""
        os.kill(self.process.pid, signal.SIGSTOP)
        os.waitpid(self.process.pid, os.WUNTRACED)  # once every thread of it stands
        try:
            yield
        finally:
            os.kill(self.process.pid, signal.SIGCONT)

    def close(self) -> None:
        if self.process.stdin:
            self.process.stdin.close()
        self.process.wait(60)
        if self.process.stdout:
            self.process.stdout.close()


def main(folder: Path) -> None:
    keys = folder / "keys"
    log = EventLog.open(folder / "log.db")
    hub = LocalHub(Hub(log, WORDS, system_entropy), SystemClock())
    access = HubAccess(hub, log, WORDS, keys)
    server = HubServer(hub, log, BlobStore(folder / "blobs"), access)
    server.listen(f"ipc://{folder}/bus.sock")
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.read()
    server.close()
    access.close()
    hub.close()
    log.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
