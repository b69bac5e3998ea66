"""Somebody sets the clock: what is recorded follows it, what only has to last does not."""

import threading
from collections.abc import Iterator
from importlib import import_module

import pytest

from cortex.bus import (
    Claim,
    Claimed,
    Client,
    Due,
    Fetch,
    Hub,
    LocalHub,
    Publish,
    Release,
    SystemClock,
    system_entropy,
)

from .bus_world import SECOND_NS, WORDS, FailingLog, draft, ordered, work, written

PATIENCE_S = 120.0  # no test takes as long; a lost wake-up does
HOUR_NS = 3_600 * SECOND_NS
BACKOFF_NS = 20_000_000


class WallClock(SystemClock):
    """A clock that the test sets."""

    ahead_ns = 0

    def now_ns(self) -> int:
        return super().now_ns() + self.ahead_ns


@pytest.fixture
def clock() -> WallClock:
    return WallClock()


@pytest.fixture
def hub(clock: WallClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHub]:
    # The clock's thread looks this often whether the clock was set.
    monkeypatch.setattr(import_module("cortex.bus.alarms"), "LONGEST_S", 0.05)
    made = LocalHub(Hub(FailingLog(), WORDS, system_entropy), clock)
    made.ask_one("me", work("w"))
    yield made
    made.close()


def claim(hub: LocalHub, lease_ns: int = 60 * SECOND_NS) -> Claimed:
    answer = hub.ask_one("me", Claim("w", 1, lease_ns))
    assert isinstance(answer, Claimed)
    return answer


@pytest.mark.parametrize("ahead_ns", [-HOUR_NS, HOUR_NS])
def test_a_backoff_takes_its_time_however_the_clock_is_set(
    hub: LocalHub, clock: WallClock, ahead_ns: int
) -> None:
    hub.ask_one("me", Publish((draft(),)))
    (lease,) = claim(hub).leases
    woken = threading.Event()
    hub.ask_one("me", Release("w", 1, lease.epoch, BACKOFF_NS))
    hub.watch("w", woken.set)
    clock.ahead_ns = ahead_ns

    assert woken.wait(PATIENCE_S)
    assert claim(hub).leases


def test_no_lease_lapses_because_the_clock_was_set_forward(hub: LocalHub, clock: WallClock) -> None:
    hub.ask_one("me", Publish((draft(),)))
    claim(hub)
    clock.ahead_ns = HOUR_NS

    assert not claim(hub).leases


def test_a_waiting_fetch_comes_back_although_the_clock_was_set_back(
    hub: LocalHub, clock: WallClock
) -> None:
    hub.ask_one("me", ordered("s"))
    back = threading.Event()

    def fetch() -> None:
        hub.fetch(Fetch("s", 0), 0.05)
        back.set()

    waiting = threading.Thread(target=fetch)
    waiting.start()
    while "s" not in hub._wakes:
        pass
    clock.ahead_ns = -HOUR_NS
    for wake in hub._wakes.get("s", ()):
        wake()  # it looks at the time again

    waiting.join(PATIENCE_S)
    assert back.is_set()


def test_a_recorded_deadline_comes_by_the_clock_on_the_wall(
    hub: LocalHub, clock: WallClock
) -> None:
    client = Client("me", hub, FailingLog(), WORDS)
    feed = client.follow(("plan.written", None))
    due = Due("d", clock.now_ns() + HOUR_NS, written())
    hub.ask_one("me", Publish((), due=(due,)))

    clock.ahead_ns = HOUR_NS

    assert [r.topic for r in feed.next(PATIENCE_S)] == ["plan.written"]


def test_the_steady_clock_of_the_system_is_not_the_one_on_the_wall() -> None:
    clock = WallClock()

    before_ns = clock.monotonic_ns()
    clock.ahead_ns = -HOUR_NS

    assert 0 <= clock.monotonic_ns() - before_ns < HOUR_NS
