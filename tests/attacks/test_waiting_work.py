"""Work that nobody takes is bounded, refuses nobody, drops nothing, and is shown with its age."""

import random
import subprocess
import sys
import threading
import time
from collections import deque
from contextlib import closing
from pathlib import Path

import pytest

from cortex.bus import (
    Allowance,
    Claim,
    Claimed,
    Client,
    Draft,
    Finish,
    Hub,
    Limits,
    LocalHub,
    Publish,
    Release,
    Request,
    Subscribe,
    SystemClock,
    Unsubscribe,
    decode,
    system_entropy,
)
from cortex.runtime.kernel import Home
from cortex.runtime.log import EventLog, MemoryLog
from cortex.runtime.serving import subscriptions_of
from cortex.runtime.serving.doctor import checks_of

from . import waiting_worker
from .waiting_worker import WORDS, WORKER, Asked, Done

SECOND_NS = 1_000_000_000


ASKED, OTHER = Draft.of(Asked()), Draft.of(Done())


class World:
    """A hub on a log in memory, at a time that only moves when it is told to."""

    def __init__(self, ready: int) -> None:
        self.log, self.ready = MemoryLog(), ready
        self.now_ns = 1_000 * SECOND_NS
        self.open()

    def open(self) -> None:
        self.hub = Hub(self.log, WORDS, system_entropy)
        self.hub.ready = self.ready

    def ask(self, *requests: Request) -> list[object]:
        return list(self.hub.handle([("t", r) for r in requests], self.now_ns, self.now_ns))

    def claim(self, limit: int = 10) -> Claimed:
        (answer,) = self.ask(Claim("w", limit, SECOND_NS))
        assert isinstance(answer, Claimed)
        return answer

    def work_off(self, limit: int = 10) -> list[int]:
        """Work until nothing comes any more; positions, in order."""
        done: list[int] = []
        idle = 0
        while idle < 3:  # a claim that finds nothing may have had more routed
            leases = self.claim(limit).leases
            idle = 0 if leases else idle + 1
            for lease in leases:
                self.ask(Finish("w", lease.record.position, lease.epoch, ()))
                done.append(lease.record.position)
        return done


@pytest.mark.parametrize("ready", [1, 3, 64, 100])
def test_what_nobody_works_is_bounded_and_all_of_it_is_worked_later(ready: int) -> None:
    world = World(ready)
    world.ask(WORKER)
    for _ in range(500):
        answers = world.ask(Publish((OTHER, ASKED, ASKED)))
        assert "Refused" not in type(answers[0]).__name__
    asked = [p for p in range(1, 1_501) if p % 3 != 1]

    assert len(world.log.state().work) <= ready + 2, "one batch more at most"
    world.open()  # and it is no more after a restart
    assert len(world.log.state().work) <= ready + 2

    assert world.work_off() == asked
    world.ask(Publish((ASKED,)))
    assert world.work_off() == [1_501], "what comes then is routed as it comes"
    assert world.log.state().standings[0].cursor == world.log.state().standings[0].created


@pytest.mark.parametrize("seed", range(40))
def test_each_event_is_worked_once_and_in_order_whatever_happens(seed: int) -> None:
    chance = random.Random(seed)
    world = World(chance.choice([1, 2, 5, 80]))
    world.ask(WORKER)
    asked: list[int] = []
    done: list[int] = []
    held: deque[tuple[int, int]] = deque()
    for _ in range(300):
        match chance.choice("ppppcccfffrotws"):
            case "p":
                drafts = chance.choices([ASKED, OTHER], k=chance.randint(1, 9))
                head = world.hub.head
                asked += [head + n for n, d in enumerate(drafts, 1) if d is ASKED]
                world.ask(Publish(tuple(drafts)))
            case "c":
                leases = world.claim(chance.randint(1, 8)).leases
                held += [(lease.record.position, lease.epoch) for lease in leases]
            case "f" if held:
                position, epoch = held.popleft()
                answers = world.ask(Finish("w", position, epoch, ()))
                if "Refused" not in type(answers[0]).__name__:
                    done.append(position)
            case "r" if held:
                position, epoch = held.pop()
                world.ask(Release("w", position, epoch, 0))
            case "o":
                world.open()
                held.clear()
            case "t":
                world.now_ns += 2 * SECOND_NS
                world.hub.tick(world.now_ns, world.now_ns)
            case "w":
                world.ask(WORKER, Publish((OTHER,)))
            case _:
                pass
    world.now_ns += 2 * SECOND_NS
    done += world.work_off()

    assert sorted(done) == asked
    assert len(set(done)) == len(done)


def test_kills_neither_lose_nor_double_what_waits_in_the_log(tmp_path: Path) -> None:
    path, chance = tmp_path / "log.db", random.Random(7)
    for seed in range(6):
        command = [sys.executable, "-I", waiting_worker.__file__, str(path), str(seed)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            time.sleep(chance.uniform(0.05, 0.4))
            process.kill()

    with closing(EventLog.open(path)) as log, closing(waiting_worker.serving(log)) as hub:
        idle = 0
        while idle < 3:
            idle = 0 if waiting_worker.work(hub, 10) else idle + 1

    with closing(EventLog.open(path, readonly=True)) as log:
        records = [decode(data) for data in log.read(0, 1 << 20, 1 << 30)]
    asked = [r.position for r in records if r.topic == waiting_worker.Asked.topic_name()]
    done = [r.causation for r in records if r.topic == waiting_worker.Done.topic_name()]
    assert len(asked) > 10 * waiting_worker.READY
    assert sorted(position or 0 for position in done) == asked


def test_a_subscription_that_is_removed_and_made_again_begins_anew() -> None:
    world = World(2)
    world.ask(WORKER, Publish((ASKED,) * 5))
    world.ask(Publish((ASKED,) * 5))

    world.ask(Unsubscribe("w"), WORKER, Publish((ASKED, ASKED)))

    assert world.work_off() == [11, 12]


def test_a_page_of_the_log_that_holds_nothing_for_it_stops_nobody() -> None:
    world = World(2)
    world.ask(WORKER, Publish((ASKED,) * 3))
    world.ask(Publish((ASKED,)))
    for _ in range(6):
        world.ask(Publish((OTHER,) * 500))
    world.ask(Publish((ASKED,)))

    done: list[int] = []
    while True:  # as a worker does: it claims again when it is woken
        world.hub.take_woken()
        leases = world.claim().leases
        for lease in leases:
            world.ask(Finish("w", lease.record.position, lease.epoch, ()))
            done.append(lease.record.position)
        if not leases and "w" not in world.hub.take_woken():
            break

    assert done == [1, 2, 3, 4, 3_005]


def test_a_limited_client_shares_one_bound_among_its_subscriptions() -> None:
    world = World(1_000)
    limits = Limits(waiting=100)
    world.hub.allowed = lambda root: Allowance("c", limits, ("c",)) if root == "c" else None
    pairs = ((Asked.topic_name(), None),)
    world.ask(*(Subscribe(f"c/{n}", "work", pairs) for n in range(10)), WORKER)

    for _ in range(300):
        world.ask(Publish((ASKED,)))

    rows = [work.subscription for work in world.log.state().work]
    assert len(rows) - rows.count("w") <= 10 * 64, "64 are always allowed"
    assert rows.count("w") == 300


def test_a_worker_that_waits_is_woken_until_the_last_of_them(tmp_path: Path) -> None:
    state = Hub(MemoryLog(), WORDS, system_entropy)
    state.ready = 2
    with closing(LocalHub(state, SystemClock())) as hub:
        client = Client("w", hub, MemoryLog(), WORDS)
        work = client.work("w", (Asked.topic_name(), None))
        hub.ask_one("t", Publish((ASKED,) * 200))
        hub.ask_one("t", Publish((ASKED,) * 200))
        done: list[int] = []

        def run() -> None:
            while len(done) < 400:
                for lease in work.claim(1, wait_s=20.0):
                    work.finish(lease)
                    done.append(lease.record.position)

        worker = threading.Thread(target=run, daemon=True)
        worker.start()
        worker.join(60)

        assert done == list(range(1, 401))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.create(tmp_path / ".cortex")


def test_what_waits_is_shown_with_its_age(home: Home) -> None:
    with closing(EventLog.open(home.log_path)) as log:
        hub = Hub(log, WORDS, system_entropy)
        hub.ready = 10
        hub.handle([("t", WORKER)], SECOND_NS)
        for _ in range(40):
            hub.handle([("t", Publish((ASKED,)))], SECOND_NS)

    with closing(EventLog.open(home.log_path, readonly=True)) as log:
        (row,) = subscriptions_of(log, log.state(), 0)
    (check,) = [each for each in checks_of(home, deep=False) if each.name == "work"]

    assert (row.lag, row.ready) == (40, 10)
    assert row.oldest_s is not None
    assert row.oldest_s > 1e9, "it was recorded in 1970"
    assert check.state == "warn"
    assert "40 events wait for w, the oldest for" in check.found
