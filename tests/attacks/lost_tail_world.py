"""A hub in a process of its own that is killed, and whose log is then what it was before."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from cortex.bus import Client, Event, Recorded, TailLostError, connect
from cortex.bus.events import VOCABULARY

LONG_S = 120.0
PROGRAM = Path(__file__).with_name("lost_tail_hub.py")


class Said(Event, frozen=True, kw_only=True, tag="x.tail.said"):
    belongs = ("tail", "about")

    about: str = "all"
    text: str = ""


WORDS = VOCABULARY.extended((Said,))
SAID = (Said.topic_name(), None)


class Machine:
    """One hub and its disk."""

    def __init__(self, carrier: str, folder: Path) -> None:
        folder.chmod(0o700)
        self.folder = folder
        self._clients: list[Client] = []
        self._wanted = f"ipc://{folder}/bus.sock" if carrier == "ipc" else "tls+tcp://127.0.0.1:0"
        self.start()

    def start(self) -> None:
        """Start the hub; it comes to the same address each time."""
        command = [sys.executable, str(PROGRAM), str(self.folder), self._wanted]
        self._hub = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._hub.stdout is not None
        self.url = self._hub.stdout.readline().strip()
        assert self.url, "the hub did not start"
        self._wanted = self.url.partition("#")[0]

    def kill(self) -> None:
        """End the hub at this very moment."""
        self._hub.kill()
        self._hub.wait()
        assert self._hub.stdout is not None
        self._hub.stdout.close()

    def save(self) -> None:
        """Keep what is on the disk now: nothing is being written."""
        saved = self.folder / "saved"
        shutil.rmtree(saved, ignore_errors=True)
        saved.mkdir()
        for name in ("log.db", "log.db-wal"):
            shutil.copy(self.folder / name, saved)

    def lose_tail(self) -> None:
        """Kill the hub, and take from the disk what came after `save`; nobody serves it yet."""
        self.kill()
        for path in self.folder.glob("log.db*"):
            path.unlink()
        for path in (self.folder / "saved").iterdir():
            shutil.copy(path, self.folder)

    def client(self, name: str) -> Client:
        made = connect(self.url, name=name, vocabulary=WORDS, away_s=LONG_S)
        # By chance, one in a thousand pairs of processes of one client would share receipts.
        hub: Any = made._hub
        hub._command._tag = len(self._clients)
        self._clients.append(made)
        return made

    def close(self) -> None:
        for client in self._clients:
            client.close()
        self.kill()


class Mirror:
    """What a follower holds: each event by its position, and what it was told was lost."""

    def __init__(self) -> None:
        self.held: dict[int, Recorded] = {}
        self.lost: list[tuple[int, int]] = []

    def take(self, records: list[Recorded]) -> None:
        """Hold *records*."""
        for record in records:
            assert self.held.setdefault(record.position, record) == record, "a mixture"

    def drop(self, lost: TailLostError) -> None:
        """Let go of what is not in the log any more."""
        self.lost.append((lost.seen, lost.common))
        self.held = {p: r for p, r in self.held.items() if p <= lost.common}
