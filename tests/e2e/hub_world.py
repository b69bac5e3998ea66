"""A hub in a process of its own: `python hub_world.py FOLDER`. It ends in good order on SIGTERM."""

import signal
import sys
import threading
from pathlib import Path

from cortex.bus import Event, Hub, HubServer, LocalHub, Query, SystemClock, system_entropy
from cortex.bus.events import VOCABULARY
from cortex.runtime.log import EventLog


class Said(Event, frozen=True, kw_only=True, tag="x.ends.said"):
    """What a client publishes."""

    number: int


class Twice(Query, frozen=True, kw_only=True, tag="x.ends.twice"):
    """What a client asks another."""

    number: int


class Doubled(Query, frozen=True, kw_only=True, tag="x.ends.doubled"):
    """Its answer."""

    number: int


WORDS = VOCABULARY.extended((Said, Twice, Doubled))


def url_in(folder: Path) -> str:
    """Where the hub of *folder* listens."""
    return f"ipc://{folder}/bus.sock"


def main(folder: Path) -> None:
    """Serve until SIGTERM."""
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    log = EventLog.open(folder / "log.db")
    hub = LocalHub(Hub(log, WORDS, system_entropy), SystemClock())
    server = HubServer(hub, log)
    server.listen(url_in(folder))
    sys.stdout.write("listening\n")
    sys.stdout.flush()
    while not ended.wait(0.05):
        pass
    server.close()
    hub.close()
    log.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
