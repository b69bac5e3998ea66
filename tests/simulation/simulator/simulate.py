"""One schedule: build the world from a seed, let faults strike, let it calm down, check."""

import random
from collections.abc import Callable

import msgspec

from cortex.bus import CortexError, decode

from . import promises
from .errors import PromiseBrokenError, insist
from .faults import Faults
from .follower import Follower
from .kernel import ClosableHistory, Leases, MemorySnapshots
from .link import Renewals, SimulatedConnection
from .member import Member
from .publisher import Publisher
from .scenario import Run, Scenario
from .timeline import SECOND_NS, Timeline
from .weather import Weather
from .wire import Wire

MOST_ACTS = 60_000  # a schedule that does not come to rest within this never will


def simulate(scenario: Scenario, seed: int, faults: Faults | None = None) -> Run:
    """Run *scenario* under the faults that *seed* draws, and check every promise.

    Raises:
        PromiseBrokenError: With the seed, which makes it happen again, and what led to it.
    """
    chance = random.Random(seed)  # a schedule, not a secret
    time = Timeline()
    drawn = faults or msgspec.structs.replace(Faults.drawn(chance), lasting_s=scenario.lasting_s)
    weather = Weather(drawn, chance, time)
    try:
        return _Schedule(scenario, seed, time, weather).play()
    except (AssertionError, CortexError) as error:
        raise PromiseBrokenError(str(error), seed, time.trace()) from error


class _Schedule:
    def __init__(self, scenario: Scenario, seed: int, time: Timeline, weather: Weather) -> None:
        self._time, self._weather = time, weather
        self._wire = Wire(scenario, time, weather)
        self._run = Run(scenario, seed, self._wire.log, ClosableHistory(self._wire.stream))
        self._members = self._staffed()
        self._publishers = {
            name: Publisher(name, script, self._link(name), self._wire, time, weather)
            for name, script in scenario.scripts.items()
        }
        self._followers = {
            name: Follower(name, pairs, self._link(name), self._wire, time, weather)
            for name, pairs in scenario.followers.items()
        }
        self._clients: tuple[Member | Publisher | Follower, ...] = (
            *self._members,
            *self._publishers.values(),
            *self._followers.values(),
        )

    def play(self) -> Run:
        """Run until nothing happens any more."""
        time, faults = self._time, self._weather.faults
        time.note("weather", "is", faults)
        for member in self._members:
            member.open()
        for member in self._members:
            member.begin()
        for publisher in self._publishers.values():
            time.after(self._weather.up_to(3 * SECOND_NS), publisher.begin)
        for follower in self._followers.values():
            follower.begin()
        self._strike_again(faults.crash_s, self._crash_one)
        self._strike_again(faults.partition_s, self._cut_one)
        self._strike_again(faults.stall_s, self._weather.stall)
        self._strike_again(faults.hub_crash_s, self._wire.crash)
        self._strike_again(1.0, self._save_one)
        insist(time.run(MOST_ACTS), "it does not come to rest")
        return self._finish()

    def _staffed(self) -> list[Member]:
        members: list[Member] = []
        snapshots = MemorySnapshots()
        for role in self._run.scenario.roles:
            workers = role.component.workers
            labels = [f"{role.name}/{n}" for n in range(1, workers + 1)] or [role.name]
            for label in labels:
                leases = Leases(Renewals(self._wire, label))
                made = Member(
                    label,
                    role,
                    self._run,
                    self._wire,
                    self._time,
                    self._weather,
                    snapshots,
                    leases,
                )
                members.append(made)
        return members

    def _strike_again(self, mean_s: float, strike: Callable[[], None]) -> None:
        if not mean_s or self._weather.calm():
            return

        def struck() -> None:
            if not self._weather.calm():
                strike()
                self._strike_again(mean_s, strike)

        self._time.after(self._weather.wait_ns(mean_s), struck)

    def _crash_one(self) -> None:
        self._weather.chance.choice(self._clients).crash("killed")

    def _cut_one(self) -> None:
        self._wire.cut(self._weather.chance.choice(self._clients).label)

    def _link(self, client: str) -> SimulatedConnection:
        return SimulatedConnection(client, self._wire, self._time, remote=self._run.scenario.remote)

    def _save_one(self) -> None:
        self._weather.chance.choice(self._members).save()

    def _finish(self) -> Run:
        run = self._run
        self._wire.examine()
        run.records = [decode(data) for data in run.log.read(0, 1 << 30, 1 << 40)]
        run.acknowledged = {name: p.acknowledged for name, p in self._publishers.items()}
        run.followed = {name: f.held for name, f in self._followers.items()}
        run.losses = sum(follower.lost for follower in self._followers.values())
        for role in run.scenario.roles:
            standing = next(s for s in run.log.state().standings if s.name == role.name)
            run.created[role.name] = 0 if role.component.start == "beginning" else standing.created
        promises.check(run)
        run.scenario.finish(run)
        return run
