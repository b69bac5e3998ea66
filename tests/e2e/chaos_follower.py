"""Follows a whole log through every end of its hub: `python chaos_follower.py HOME FILE`.

In a process of its own it keeps in FILE what it saw, so that it goes on there when it was killed.
"""

import os
import sys
import threading
import time
from pathlib import Path

import msgspec

from cortex.bus import CortexError, Epoch, Epochs, Recorded, TailLostError
from cortex.runtime.kernel import Home
from cortex.runtime.serving import connected

LOOK_S = 0.2
AWAY_S = 0.05  # before a hub that is away is looked for again


class Seen(msgspec.Struct, frozen=True):
    """One thing that a follower took note of."""

    epochs: tuple[tuple[int, int], ...]  # of the log then
    events: tuple[tuple[int, str], ...] = ()  # position and id
    lost: tuple[int, int] | None = None  # what it had seen, and up to where that is still so


class Followed:
    """What a follower holds: the id of each event by its position."""

    def __init__(self) -> None:
        self.held: dict[int, str] = {}
        self.lost: list[tuple[int, int]] = []
        self.mixed: list[int] = []  # positions at which a second event came, or a gap was
        self.epochs: Epochs = ()

    @property
    def after(self) -> int:
        """The newest position that it holds."""
        return max(self.held, default=0)

    def take(self, seen: Seen) -> None:
        """Take note of it."""
        self.epochs = tuple(Epoch(*each) for each in seen.epochs)
        if seen.lost is not None:
            self.lost.append(seen.lost)
            self.held = {p: i for p, i in self.held.items() if p <= seen.lost[1]}
        after = self.after
        for position, event_id in seen.events:
            if position != after + 1:
                self.mixed.append(position)
            self.held[position], after = event_id, position


class Follower:
    """Follows until it is told to end, in a thread or as a process."""

    def __init__(self, home: Home, file: Path | None = None) -> None:
        self._home, self._file = home, file
        self._ended = threading.Event()
        self.followed = read(file) if file else Followed()
        self._thread = threading.Thread(target=self.run, daemon=True)

    def start(self) -> None:
        """Follow in a thread."""
        self._thread.start()

    def end(self) -> None:
        """Follow no more."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(60)

    def run(self) -> None:
        """Follow until `end`."""
        followed = self.followed
        while not self._ended.is_set():
            try:
                with connected(self._home, "follower") as client:
                    feed = client.follow(after=followed.after, epochs=followed.epochs)
                    while not self._ended.is_set():
                        try:
                            records = feed.next(LOOK_S)
                            self._note(client.epochs, records)  # which are of the newest of them
                        except TailLostError as lost:
                            self._drop(client.epochs, lost)
            except TailLostError as lost:  # before it followed: it was away when that happened
                self._drop(client.epochs, lost)
            except CortexError:
                time.sleep(AWAY_S)

    def _note(self, epochs: Epochs, records: list[Recorded]) -> None:
        events = tuple((r.position, r.id.hex()) for r in records if r.position)
        if events:
            self._keep(Seen(_plain(epochs), events))

    def _drop(self, epochs: Epochs, lost: TailLostError) -> None:
        self._keep(Seen(_plain(epochs), lost=(lost.seen, lost.common)))

    def _keep(self, seen: Seen) -> None:
        if self._file:  # with one write, so that a kill leaves all of it or nothing
            file = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            os.write(file, msgspec.json.encode(seen) + b"\n")
            os.close(file)
        self.followed.take(seen)


def _plain(epochs: Epochs) -> tuple[tuple[int, int], ...]:
    return tuple((epoch.id, epoch.start) for epoch in epochs)


def read(file: Path) -> Followed:
    """What stands in the file of a follower."""
    followed = Followed()
    if file.exists():
        for line in file.read_bytes().splitlines():
            followed.take(msgspec.json.decode(line, type=Seen))
    return followed


if __name__ == "__main__":
    Follower(Home(Path(sys.argv[1])), Path(sys.argv[2])).run()
