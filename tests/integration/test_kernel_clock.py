"""Somebody sets the clock while a runtime runs: nothing stands still, nothing is tried too soon."""

from collections.abc import Iterator

import pytest

from cortex.bus import SystemClock
from cortex.runtime.kernel import Component, Delivery, Output, Runtime, on

from .kernel_staff import JobAsked, JobDone, Vocal, wait_for

HOUR_NS = 3_600_000_000_000


class WallClock(SystemClock):
    """A clock that the test sets."""

    ahead_ns = 0

    def now_ns(self) -> int:
        return super().now_ns() + self.ahead_ns


CLOCK = WallClock()


class Starter(Component):
    """Cannot start while the clock is right."""

    @on(JobAsked)
    def do(self, event: JobAsked, delivery: Delivery) -> None: ...

    def on_start(self) -> None:
        if not CLOCK.ahead_ns:
            CLOCK.ahead_ns = -HOUR_NS
            raise OSError("not yet")


class Doer(Component):
    """Cannot do a job while the clock is right."""

    @on(JobAsked)
    def do(self, event: JobAsked, delivery: Delivery) -> Iterator[Output]:
        if not CLOCK.ahead_ns:
            CLOCK.ahead_ns = -HOUR_NS
            raise OSError("not yet")
        yield JobDone(n=event.n)


class Crew(Doer):
    workers = 2


@pytest.fixture(autouse=True)
def right() -> None:
    CLOCK.ahead_ns = 0


def test_a_component_is_started_again_although_the_clock_was_set_back() -> None:
    with Runtime(components=[Vocal, Starter], clock=CLOCK) as runtime:
        me = runtime.client("me")

        assert wait_for(me, "component.restarted")


@pytest.mark.parametrize("doer", [Doer, Crew])
def test_an_event_is_tried_again_although_the_clock_was_set_back(doer: type[Component]) -> None:
    with Runtime(components=[Vocal, doer], clock=CLOCK) as runtime:
        me = runtime.client("me")
        me.publish(JobAsked(n=1))

        assert wait_for(me, "job.done")
