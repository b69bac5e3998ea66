"""Feed programs driven by hand: one step after the other, with a crash between any two."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from cortex.bus import Claim, Event, Filter, Recorded, Request, decode
from cortex.bus.events import VOCABULARY
from cortex.runtime.kernel import Component

from .bus_world import WORDS, HubWorld

# Inner parts of the kernel: they are not shown at its front door.
feed: Any = import_module("cortex.runtime.kernel.shells.feed")
host: Any = import_module("cortex.runtime.kernel.hosts.host")
recall: Any = import_module("cortex.runtime.kernel.shells.recall")
leases: Any = import_module("cortex.runtime.kernel.shells.leases")
ordered: Any = import_module("cortex.runtime.kernel.shells.ordered")
retries: Any = import_module("cortex.runtime.kernel.shells.retries")
supervision: Any = import_module("cortex.runtime.kernel.shells.supervision")
workers: Any = import_module("cortex.runtime.kernel.shells.workers")

PAIRS = (("plan.write", None),)
PLANS = WORDS.extended(VOCABULARY)


class Fed:
    """A component, its feed and a hub; `run` goes on until there is nothing to do."""

    def __init__(self, world: HubWorld, make: Callable[[], Component], attempts: int = 3) -> None:
        self.world, self.make = world, make
        self.feeding = feed.Feeding("c", PAIRS, "now", attempts, 1_000_000_000)
        self.snapshots = recall.MemorySnapshots()
        self.emitted: list[object] = []
        self.sent: list[Request] = []
        self.version = 0  # of the fold
        self.folded: tuple[str, ...] = ()  # topics that the fold has at once
        self.took_ns = 0  # what each look at the clock takes
        self.recall: Any = None

    def ordered(self) -> Any:
        """The program of an ordered feed; as after a restart when called again."""
        made = self._host()
        log, seen = self.world.log, Filter(self.feeding.filter)
        self.recall = recall.Recall(
            "c", self.version, seen, made, log, self.snapshots, results=self.folded
        )
        return ordered.OrderedFeed(self.feeding, made, self.recall).run()

    def work(self) -> Any:
        """The program of one worker."""
        return workers.work(self.feeding, self._host(), self._clock)

    def run(self, program: Any, most: int = 1_000) -> int:
        """Drive *program* until it rests or took *most* steps; backoffs and quiet pass at once."""
        step = next(program)
        for count in range(most):
            if isinstance(step, feed.Idle):
                if step.quiet_ns is None:
                    return count
                self.world.now_ns += step.quiet_ns
                step = program.throw(feed.Quiet)
                continue
            if isinstance(step, feed.Pause):
                self.world.now_ns += step.for_ns
                step = program.send(())
                continue
            self.sent += step
            step = program.send(self.world.ask(*step, client="c"))
        return most

    def records(self) -> list[Recorded]:
        """Everything in the log."""
        return [decode(data) for data in self.world.log.read(0, 9_999, 1 << 30)]

    def results(self) -> list[tuple[str, int]]:
        """Topic and cause of what the component committed."""
        return [(r.topic, r.causation or 0) for r in self.records() if r.source == "c"]

    def failures(self) -> list[Event]:
        """The `component.failed` of the log."""
        return [VOCABULARY.read(r) for r in self.records() if r.topic == "component.failed"]

    def claims(self) -> list[int]:
        """How many events each claim asked for."""
        return [request.limit for request in self.sent if isinstance(request, Claim)]

    def _clock(self) -> int:
        self.world.now_ns += self.took_ns
        return self.world.now_ns

    def _host(self) -> Any:
        made = host.LocalHost(self.make, PLANS, self.emitted.append)
        made.start()
        return made


def fed(make: Callable[[], Component], attempts: int = 3) -> Fed:
    """A world with a hub that knows the events of components too."""
    world = HubWorld(PLANS)
    return Fed(world, make, attempts)
