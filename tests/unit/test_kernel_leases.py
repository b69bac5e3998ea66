"""Leases are renewed by the process that holds them, for as long as their event may take."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from cortex.bus import (
    Answer,
    Claim,
    Claimed,
    Clock,
    Draft,
    Event,
    Finish,
    HubClosedError,
    Publish,
    Renew,
    Request,
    Vocabulary,
)

from .bus_world import SECOND_NS, HubWorld, PlanWrite, draft, work
from .kernel_world import leases


class TimedWrite(Event, frozen=True, kw_only=True, tag="timed.write"):
    timeout_s: float


class Keeper:
    """A hub whose alarms the test sounds."""

    def __init__(self) -> None:
        self.world = HubWorld(Vocabulary((PlanWrite, TimedWrite)))
        self.world.one(work("w", "*"))
        self.alarms: list[tuple[int, Callable[[], None]]] = []
        self.renewals: list[Renew] = []
        self.closed = False

    @property
    def clock(self) -> Clock:
        return self

    def now_ns(self) -> int:
        return self.world.now_ns

    def monotonic_ns(self) -> int:
        return self.world.now_ns

    def alarm(self, at_ns: int, wake: Callable[[], None]) -> None:
        self.alarms.append((at_ns, wake))

    def submit(self, client: str, requests: Sequence[Request]) -> Sequence[Answer]:
        if self.closed:
            raise HubClosedError
        self.renewals += [r for r in requests if isinstance(r, Renew)]
        return self.world.ask(*requests, client=client)

    def take(self, shell: str, kept: Any, lease_s: float = 3) -> Claimed:
        claim = Claim("w", 9, int(lease_s * SECOND_NS))
        (claimed,) = self.world.ask(claim)
        assert isinstance(claimed, Claimed)
        kept.hold(shell, (claim,), claimed)
        return claimed

    def wait(self, seconds: int) -> None:
        """Let the time pass, second by second, sounding what is due."""
        for _ in range(seconds):
            self.world.later(1)
            due = [a for a in self.alarms if a[0] <= self.world.now_ns]
            self.alarms = [a for a in self.alarms if a[0] > self.world.now_ns]
            for _, wake in due:
                wake()
            self.world.hub.tick(self.world.now_ns)


@pytest.fixture
def keeper() -> Keeper:
    return Keeper()


@pytest.fixture
def kept(keeper: Keeper) -> Any:
    return leases.Leases(keeper)


def test_a_lease_is_renewed_while_its_event_is_handled(keeper: Keeper, kept: Any) -> None:
    keeper.world.publish_many(2)
    keeper.take("a", kept)
    keeper.wait(60)

    assert not keeper.world.claim("w")
    assert len(keeper.renewals) == 2 * 60


def test_what_is_finished_is_not_renewed(keeper: Keeper, kept: Any) -> None:
    keeper.world.publish_many(1)
    keeper.take("a", kept)
    finish = Finish("w", 1, 1)
    kept.let_go((finish,))
    keeper.world.one(finish)
    keeper.wait(10)

    assert not keeper.renewals
    assert not keeper.alarms


def test_the_leases_of_a_shell_that_is_gone_lapse(keeper: Keeper, kept: Any) -> None:
    keeper.world.publish_many(1)
    keeper.take("a", kept)
    kept.drop("a")
    keeper.wait(3)

    assert keeper.world.claim("w")


def test_an_event_is_held_no_longer_than_it_says(keeper: Keeper, kept: Any) -> None:
    keeper.world.one(Publish((Draft.of(TimedWrite(timeout_s=10)),)))
    keeper.take("a", kept)
    keeper.wait(14)
    assert not kept.overdue("a", keeper.now_ns())
    assert not keeper.world.claim("w")

    keeper.wait(5)

    assert kept.overdue("a", keeper.now_ns())
    assert not kept.overdue("b", keeper.now_ns())
    assert keeper.world.claim("w")


def test_a_slow_worker_does_not_end_the_renewal_of_the_next_one(keeper: Keeper, kept: Any) -> None:
    keeper.world.publish_many(1)
    keeper.take("slow", kept)
    keeper.closed = True
    keeper.wait(4)
    keeper.closed = False
    keeper.take("next", kept)
    kept.let_go((Finish("w", 1, 1),))  # the slow one, at last
    keeper.wait(30)

    assert not keeper.world.claim("w")


def test_a_lost_lease_is_not_renewed_again_but_its_shell_may_still_hang(
    keeper: Keeper, kept: Any
) -> None:
    keeper.world.one(Publish((Draft.of(TimedWrite(timeout_s=10)),)))
    keeper.take("a", kept)
    keeper.world.later(4)
    keeper.world.claim("w", lease_s=100)  # by another process
    keeper.wait(30)

    assert len(keeper.renewals) == 1
    assert kept.overdue("a", keeper.now_ns())


def test_a_shorter_lease_does_not_double_the_renewals(keeper: Keeper, kept: Any) -> None:
    keeper.world.publish_many(1)
    keeper.take("a", kept, lease_s=30)
    keeper.world.one(Publish((draft("b"),)))
    keeper.take("b", kept, lease_s=6)
    keeper.wait(60)

    assert len(keeper.alarms) <= 2
    assert len(keeper.renewals) <= 2 * 30
