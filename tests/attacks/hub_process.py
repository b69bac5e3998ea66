"""A hub in a process of its own, on a log on disk, which a test may stop, let go on, or kill."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cortex.bus import Client, Event, Hub, HubServer, LocalHub, connect, system_entropy
from cortex.bus.events import VOCABULARY
from cortex.runtime.access import HubAccess
from cortex.runtime.log import AgentWork, BlobStore, EventLog


class Said(Event, frozen=True, kw_only=True, tag="x.attack.said"):
    number: int = 0
    text: str = ""


SAID = (Said.topic_name(), None)
WORDS = VOCABULARY.extended((Said,))


class MovedClock:
    """A clock that goes on by itself, and that a test moves on: then so much time has passed.

    What is to come after a while comes when the test says so, however slow the machine is.
    """

    def __init__(self, by_s: float = 0.0) -> None:
        self._by_ns = int(by_s * 1e9)

    def now_ns(self) -> int:
        return time.time_ns() + self._by_ns

    def monotonic_ns(self) -> int:
        return self.now_ns()

    def move(self, by_s: float, hub: LocalHub) -> None:
        """Let *by_s* seconds pass at once; what is due at *hub* then comes."""
        self._by_ns += int(by_s * 1e9)
        hub.alarm(0, lambda: None)  # its thread sleeps until what is next by the clock before


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

    def let_pass(self, seconds: int) -> None:
        """Move the clock of the hub on."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "passed\n"

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
        self.process.wait(120)
        if self.process.stdout:
            self.process.stdout.close()


def main(folder: Path) -> None:
    keys = folder / "keys"
    log = EventLog.open(folder / "log.db")
    clock = MovedClock()
    hub = LocalHub(Hub(log, WORDS, system_entropy, policy=AgentWork()), clock)
    access = HubAccess(hub, log, WORDS, keys)
    server = HubServer(hub, log, BlobStore(folder / "blobs"), access)
    server.listen(f"ipc://{folder}/bus.sock")
    _say("ready")
    for line in sys.stdin:
        clock.move(int(line), hub)
        _say("passed")
    server.close()
    access.close()
    hub.close()
    log.close()


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
