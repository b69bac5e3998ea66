"""A hub that publishes and works in turn until it is killed; few events are kept ready in it."""

import random
import sys
from pathlib import Path

from cortex.bus import (
    Claim,
    Claimed,
    Draft,
    Event,
    Finish,
    Hub,
    LocalHub,
    Publish,
    Subscribe,
    SystemClock,
    system_entropy,
)
from cortex.bus.events import VOCABULARY
from cortex.runtime.log import EventLog

READY = 7
LEASE_NS = 60_000_000_000


class Asked(Event, frozen=True, kw_only=True, tag="x.waiting.asked"):
    belongs = ("thing", "about")

    about: str = "a"


class Done(Event, frozen=True, kw_only=True, tag="x.waiting.done"):
    belongs = ("thing", "about")

    about: str = "a"


WORDS = VOCABULARY.extended((Asked, Done))
WORKER = Subscribe("w", "work", ((Asked.topic_name(), None),))


def serving(log: EventLog) -> LocalHub:
    """The hub of a log, with the worker's subscription."""
    state = Hub(log, WORDS, system_entropy)
    state.ready = READY
    hub = LocalHub(state, SystemClock())
    hub.ask_one("w", WORKER)
    return hub


def work(hub: LocalHub, limit: int) -> int:
    """Claim and finish; how many."""
    claimed = hub.ask_one("w", Claim("w", limit, LEASE_NS))
    if not isinstance(claimed, Claimed):
        raise TypeError(claimed)
    for lease in claimed.leases:
        done = Draft.of(Done(), causation=lease.record.position)
        hub.ask_one("w", Finish("w", lease.record.position, lease.epoch, (done,)))
    return len(claimed.leases)


def main(path: Path, seed: int) -> None:
    chance, hub = random.Random(seed), serving(EventLog.open(path))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        hub.ask_one("t", Publish((Draft.of(Asked()),) * chance.randint(1, 9)))
        for _ in range(chance.randint(0, 3)):
            work(hub, chance.randint(1, 4))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
