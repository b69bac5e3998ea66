"""How far subscribers are behind, and how fast a log grows, as the log alone tells it."""

import sys

import pytest

from cortex.bus import (
    Claim,
    Commit,
    Draft,
    Hub,
    Publish,
    Request,
    Subscribe,
    system_entropy,
)
from cortex.bus.events import VOCABULARY, RuntimeStarted, RuntimeStopped
from cortex.runtime.log import AgentWork, MemoryLog
from cortex.runtime.serving import SubscriptionRow, is_untaken, rates_of, subscriptions_of

SECOND_NS = 1_000_000_000
STARTED = RuntimeStarted(runtime="r", cortex_version="1")
STOPPED = RuntimeStopped(runtime="r")


class World:
    """A hub on a log in memory, at a time that only moves when told."""

    def __init__(self) -> None:
        self.log = MemoryLog()
        self.now_ns = 1_000 * SECOND_NS
        self.hub = Hub(self.log, VOCABULARY, system_entropy, policy=AgentWork())

    def do(self, *requests: Request) -> None:
        self.hub.handle([("t", r) for r in requests], self.now_ns, self.now_ns)

    def publish(self, *events: RuntimeStarted | RuntimeStopped) -> None:
        self.do(Publish(tuple(map(Draft.of, events))))

    def rows(self) -> list[SubscriptionRow]:
        return subscriptions_of(self.log, self.log.state(), self.now_ns)


@pytest.fixture
def world() -> World:
    return World()


def test_an_ordered_one_is_as_far_behind_as_events_of_its_own_wait(world: World) -> None:
    world.do(Subscribe("seen", "ordered", (("runtime.started", None),)))
    world.do(Subscribe("all", "ordered", (("*", None),)))
    world.publish(STARTED, STOPPED, STOPPED, STARTED)
    world.do(Commit("all", 0, 3))

    rows = world.rows()

    assert rows == [
        SubscriptionRow("all", "ordered", 3, lag=1),
        SubscriptionRow("seen", "ordered", 0, lag=2),
    ]


def test_work_is_behind_by_what_waits_and_what_is_held(world: World) -> None:
    world.do(Subscribe("work", "work", (("runtime.started", None),)))
    world.publish(STARTED, STOPPED, STARTED, STARTED)
    world.do(Claim("work", 1, SECOND_NS))

    (row,) = world.rows()

    assert (row.lag, row.held) == (3, 1)


def test_work_is_untaken_until_a_worker_has_it_and_again_once_its_lease_is_over(
    world: World,
) -> None:
    world.do(Subscribe("work", "work", (("runtime.started", None),)))
    world.publish(STARTED, STOPPED)

    def untaken() -> list[bool]:
        return [is_untaken(world.log.state(), at, world.now_ns) for at in (1, 2)]

    before = untaken()
    world.do(Claim("work", 1, SECOND_NS))
    held = untaken()
    world.now_ns += SECOND_NS
    lapsed = untaken()

    assert (before, held, lapsed) == ([True, False], [False, False], [True, False])


def test_one_that_is_very_far_behind_is_counted_roughly(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[subscriptions_of.__module__], "LOOKED_AT", 2)
    world.do(Subscribe("seen", "ordered", (("runtime.started", None),)))
    world.publish(STARTED, STOPPED, STOPPED, STOPPED)

    (row,) = world.rows()

    assert (row.lag, row.exact) == (4, False)


def test_rates_are_those_of_the_last_ten_seconds_minute_and_quarter(world: World) -> None:
    world.publish(*[STARTED] * 90)
    world.now_ns += 30 * SECOND_NS
    world.publish(*[STARTED] * 30)

    rates = rates_of(world.log, 120, world.now_ns)

    assert [(r.over_s, r.events_per_s) for r in rates] == [
        (10, 3.0),
        (60, 2.0),
        (900, pytest.approx(120 / 900)),
    ]
    assert [r.events_per_s for r in rates_of(MemoryLog(), 0, world.now_ns)] == [0.0, 0.0, 0.0]
