"""Nothing lost, nothing twice, nothing out of order, whoever is killed when.

A hub, four producers, three subscribers (one of them slow) and two workers, each a process. One of
them at a time is killed, again and again, while events pass; in the end the log is compared event
by event. `CORTEX_CHAOS_EVENTS` and `CORTEX_CHAOS_KILLS` make it longer.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

from cortex.bus import LogError, decode
from cortex.runtime.kernel import Home
from cortex.runtime.log import EventLog

from .chaos_roles import EVENTS, JOB_EVERY, Done, Made, Saw

ROLES = Path(__file__).with_name("chaos_roles.py")
TOTAL = int(os.environ.get("CORTEX_CHAOS_EVENTS", "4000"))
KILLS = int(os.environ.get("CORTEX_CHAOS_KILLS", "8"))
SEED = int(os.environ.get("CORTEX_CHAOS_SEED", "4"))
STUCK_S = 120.0  # without a single new event
PRODUCERS = ("p1", "p2", "p3", "p4")
SUBSCRIBERS = {"s1": 0.0, "s2": 0.0, "slow": 0.005}  # seconds that each takes for a page
WORKERS = ("w1", "w2")
EACH = TOTAL // len(PRODUCERS)
PAGE = 1_024


class Company:
    """The processes, by name; one that ends before its time is started again."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.killed: dict[str, int] = defaultdict(int)
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._arguments: dict[str, tuple[str, ...]] = {"hub": ("hub", str(home.path))}
        for name in PRODUCERS:
            self._arguments[name] = ("producer", str(home.path), name, str(EACH))
        for name, slow_s in SUBSCRIBERS.items():
            total = str(EACH * len(PRODUCERS))
            self._arguments[name] = ("subscriber", str(home.path), name, total, str(slow_s))
        for name in WORKERS:
            self._arguments[name] = ("worker", str(home.path))

    def start(self, *names: str) -> None:
        for name in names:
            self._start(name)

    def kill_one(self, chance: random.Random) -> None:
        """Kill somebody who is at work, every third time the hub, and start the same again."""
        at_work = sorted(n for n, p in self._running.items() if p.poll() is None and n != "hub")
        hubs_turn = (sum(self.killed.values()) + 1) % 3 == 0
        name = "hub" if hubs_turn else chance.choice(at_work)
        self._running[name].kill()
        self._running[name].wait()
        self.killed[name.rstrip("1234")] += 1
        self._start(name)

    def failed(self) -> dict[str, int]:
        """Exit codes of those who ended badly by themselves."""
        codes = {name: process.poll() for name, process in self._running.items()}
        return {name: code for name, code in codes.items() if code}

    def over(self) -> bool:
        """Whether all producers and subscribers are done."""
        return all(self._running[n].poll() == 0 for n in (*PRODUCERS, *SUBSCRIBERS))

    def end(self) -> dict[str, int]:
        """Tell workers and hub to end in good order; their exit codes."""
        ended = {}
        for name in (*WORKERS, "hub"):
            self._running[name].send_signal(signal.SIGTERM)
            ended[name] = self._running[name].wait(STUCK_S)
        return ended

    def kill_all(self) -> None:
        for process in self._running.values():
            process.kill()
            process.wait()

    def _start(self, name: str) -> None:
        command = [sys.executable, str(ROLES), *self._arguments[name]]
        self._running[name] = subprocess.Popen(command)


@contextmanager
def company(home: Home) -> Iterator[Company]:
    at_work = Company(home)
    try:
        yield at_work
    finally:
        at_work.kill_all()


class Watch:
    """The head of the log, as its file tells it; it has to move as long as there is work."""

    def __init__(self, home: Home) -> None:
        self._path = home.log_path
        self._moved_s = time.monotonic()
        self.head = 0
        self.subscriptions: set[str] = set()

    def look(self, company: Company) -> None:
        assert not company.failed()
        try:
            with closing(EventLog.open(self._path, readonly=True)) as log:
                state = log.state()
        except LogError:
            return  # the hub is just making it
        head = state.head
        self.subscriptions = {standing.name for standing in state.standings}
        if head != self.head:
            self.head, self._moved_s = head, time.monotonic()
        assert time.monotonic() - self._moved_s < STUCK_S, f"nothing comes after {head}"

    def past(self, position: int, company: Company) -> bool:
        """Whether so much came, or nothing more comes."""
        return self.head >= position or company.over()

    def until(self, done: Callable[[], bool], company: Company) -> None:
        while not done():
            self.look(company)
            time.sleep(0.02)


def test_nothing_is_lost_or_twice_or_out_of_order_whoever_is_killed(home: Home) -> None:
    chance = random.Random(SEED)
    every = TOTAL // (KILLS + 1)  # made, seen and done: more than one event follows from each
    with company(home) as at_work:
        watch = Watch(home)
        at_work.start("hub", *WORKERS)
        # What comes before the first worker has subscribed is no work.
        watch.until(lambda: "Job" in watch.subscriptions, at_work)
        at_work.start(*PRODUCERS, *SUBSCRIBERS)
        for kill in range(1, KILLS + 1):
            watch.until(partial(watch.past, kill * every, at_work), at_work)
            at_work.kill_one(chance)
        watch.until(at_work.over, at_work)
        watch.until(lambda: all_jobs_done(home), at_work)
        ended = at_work.end()

    # One that was started last may be told before it listens to signals.
    assert set(ended.values()) <= {0, -signal.SIGTERM}
    assert (sum(at_work.killed.values()), at_work.killed["hub"]) == (KILLS, KILLS // 3)
    compare(home)


def all_jobs_done(home: Home) -> bool:
    with closing(EventLog.open(home.log_path, readonly=True)) as log:
        done = sum(log.stream_version(f"chaos-done/{name}") for name in PRODUCERS)
    return done >= EACH // JOB_EVERY * len(PRODUCERS)


def compare(home: Home) -> None:
    """Event by event: what was made, what each subscriber saw of it, what was done."""
    made: dict[str, list[int]] = defaultdict(list)
    done: dict[str, list[int]] = defaultdict(list)
    saw: dict[str, list[int]] = defaultdict(list)
    positions: list[int] = []
    after = 0
    with closing(EventLog.open(home.log_path, readonly=True)) as log:
        assert log.verify() == log.state().head
        while page := log.read(after, PAGE, 4 << 20):
            for record in map(decode, page):
                assert record.position == after + 1
                after = record.position
                event = EVENTS.read(record)
                if isinstance(event, Made):
                    made[event.producer].append(event.n)
                    positions.append(record.position)
                elif isinstance(event, Saw):
                    saw[event.subscriber] += event.positions
                elif isinstance(event, Done):
                    done[event.producer].append(event.n)

    assert made == {name: list(range(1, EACH + 1)) for name in PRODUCERS}
    assert saw == dict.fromkeys(SUBSCRIBERS, positions)
    jobs = list(range(JOB_EVERY, EACH + 1, JOB_EVERY))
    assert {name: sorted(numbers) for name, numbers in done.items()} == dict.fromkeys(
        PRODUCERS, jobs
    )
