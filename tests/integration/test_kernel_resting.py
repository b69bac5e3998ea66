"""What rests has no thread while it has no work, and loses none for it."""

import threading
from collections.abc import Iterator

import pytest

from cortex.runtime.kernel import Component, Delivery, NotReadyError, Output, Runtime, on
from cortex.runtime.testing import VirtualClock

from .kernel_staff import PATIENCE_S, JobAsked, JobDone, Vocal, wait_for

MINUTES_S = 120.0
ROUNDS = 200
TRIES = 1_000
ENDED = threading.Condition()
DONE: set[int] = set()
LIVES: list[str] = []  # "begun" and "ended", as they come


class Doer(Component):
    workers = 1
    rests = True

    @on(JobAsked)
    def do(self, event: JobAsked, delivery: Delivery) -> Iterator[Output]:
        yield JobDone(n=event.n)

    def on_start(self) -> None:
        with ENDED:
            LIVES.append("begun")

    def on_stop(self) -> None:
        with ENDED:
            LIVES.append("ended")
            ENDED.notify_all()


class Hearer(Component):
    """Hears what was done."""

    @on(JobDone)
    def done(self, event: JobDone, delivery: Delivery) -> None:
        with ENDED:
            DONE.add(event.n)
            ENDED.notify_all()


class Unmade(Doer):
    def __init__(self) -> None:
        raise OSError("no such device")


@pytest.fixture(autouse=True)
def fresh() -> None:
    LIVES.clear()
    DONE.clear()


def pass_time(runtime: Runtime, clock: VirtualClock) -> None:
    clock.advance(MINUTES_S)
    runtime.look_at_clock()


def rest(runtime: Runtime, clock: VirtualClock) -> None:
    """Let time pass until all have ended: a shell may not have been idle at the first look."""
    for _ in range(TRIES):
        pass_time(runtime, clock)
        with ENDED:
            if ENDED.wait_for(at_rest, PATIENCE_S / TRIES):
                return
    raise AssertionError(LIVES)


def at_rest() -> bool:
    return bool(LIVES) and LIVES.count("begun") == LIVES.count("ended")


def test_what_rests_begins_with_its_first_work() -> None:
    with Runtime(components=[Vocal, Doer]) as runtime:
        assert not LIVES
        me = runtime.client("me")
        me.publish(JobAsked(n=1))

        assert wait_for(me, "job.done")
        assert LIVES


def test_work_that_waited_before_the_start_is_done() -> None:
    with Runtime(components=[Vocal, Doer]) as first:
        log = first.log
        first.client("me").publish(JobAsked(n=1))
        wait_for(first.client("me"), "job.done")
        LIVES.clear()
        with Runtime(components=[Vocal], log=log) as second:
            # Only its subscription is there, as after a kill.
            second.client("me").publish(JobAsked(n=2))
            with Runtime(components=[Vocal, Doer], log=log) as third:
                assert len(wait_for(third.client("me"), "job.done", 2)) == 2


def test_it_ends_after_a_while_without_work_and_begins_anew() -> None:
    clock = VirtualClock()
    with Runtime(components=[Vocal, Doer], clock=clock) as runtime:
        me = runtime.client("me")
        for n in range(3):
            me.publish(JobAsked(n=n))
            wait_for(me, "job.done", n + 1)
            rest(runtime, clock)

        assert LIVES.count("begun") >= 3


def test_work_that_comes_in_the_moment_of_its_end_is_done() -> None:
    clock = VirtualClock()
    with Runtime(components=[Vocal, Hearer, Doer], clock=clock) as runtime:
        me = runtime.client("me")
        for n in range(ROUNDS):
            passing = threading.Thread(target=pass_time, args=(runtime, clock))
            passing.start()
            me.publish(JobAsked(n=n))
            passing.join()
        for _ in range(TRIES):  # it may have been late for its start by this clock
            pass_time(runtime, clock)
            with ENDED:
                if ENDED.wait_for(lambda: len(DONE) == ROUNDS, PATIENCE_S / TRIES):
                    return
        raise AssertionError(ROUNDS - len(DONE))


def test_what_cannot_be_made_is_refused_at_the_start() -> None:
    with pytest.raises(NotReadyError, match="no such device"), Runtime(components=[Vocal, Unmade]):
        pass


def test_what_rests_is_removed_and_never_begins_again() -> None:
    with Runtime(components=[Vocal, Doer]) as runtime:
        runtime.remove("Doer")
        runtime.client("me").publish(JobAsked(n=1))

    assert "begun" not in LIVES
