"""What rests has no thread while it has no work, and loses none for it."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from cortex.runtime.kernel import Component, Delivery, Home, NotReadyError, Output, Runtime, on
from cortex.runtime.testing import VirtualClock

from .kernel_staff import (
    PATIENCE_S,
    JobAsked,
    JobCount,
    JobCounted,
    JobDone,
    Vocal,
    read_all,
    wait_for,
)

LocalHost: Any = import_module("cortex.runtime.kernel.hosts.host").LocalHost
KeptHosts: Any = import_module("cortex.runtime.kernel.shells.resting").KeptHosts

MINUTES_S = 120.0
MOMENT_S = 1.0
FEW_THREADS = 12
ROUNDS = 200
TRIES = 1_000
STARTED_IN_FULL = True  # a process is seen to end by who started it, and at once
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


class Counter(Component):
    """An ordered component that rests: it counts what it has handled."""

    rests = True

    def __init__(self) -> None:
        self._count = 0

    @on(JobAsked)
    def asked(self, event: JobAsked, delivery: Delivery) -> Iterator[Output]:
        self._count += 1
        yield JobDone(n=event.n, attempt=self._count)

    @on(JobCount)
    def count(self, query: JobCount, delivery: Delivery) -> Iterator[Output]:
        yield JobCounted(count=self._count)

    def on_start(self) -> None:
        with ENDED:
            LIVES.append("begun")

    def on_stop(self) -> None:
        with ENDED:
            LIVES.append("ended")
            ENDED.notify_all()


class Unmade(Doer):
    def __init__(self) -> None:
        raise OSError("no such device")


@pytest.fixture(autouse=True)
def fresh() -> None:
    LIVES.clear()
    DONE.clear()


def pass_time(runtime: Runtime, clock: VirtualClock, seconds: float = MINUTES_S) -> None:
    clock.advance(seconds)
    runtime.look_at_clock()


def rest(runtime: Runtime, clock: VirtualClock) -> None:
    """Let time pass until all have ended: a shell may not have been idle at the first look."""
    for _ in range(TRIES):
        pass_time(runtime, clock)
        with ENDED:
            if ENDED.wait_for(at_rest, PATIENCE_S / TRIES):
                return
    raise AssertionError(LIVES)


def shells() -> frozenset[threading.Thread]:
    """Those that live; one of an earlier test may still be ending."""
    return frozenset(thread for thread in threading.enumerate() if "Shell" in thread.name)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def until(holds: Callable[[], bool], meanwhile: Callable[[], None]) -> None:
    for _ in range(TRIES):
        if holds():
            return
        meanwhile()
        time.sleep(PATIENCE_S / TRIES)
    raise AssertionError("it does not come to that")


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
            # Long enough for a rest, and too short for a lease: who is at work does not hang.
            passing = threading.Thread(target=pass_time, args=(runtime, clock, MOMENT_S))
            passing.start()
            me.publish(JobAsked(n=n))
            passing.join()
        for _ in range(TRIES):  # it may have been late for its start by this clock
            pass_time(runtime, clock, MOMENT_S)
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


def test_what_comes_to_rest_once_all_was_stopped_is_stopped_too() -> None:
    with Runtime(components=[Vocal]) as runtime:
        kept = KeptHosts(runtime.hub)
        host = LocalHost(Doer, runtime.vocabulary, lambda _: None)
        host.start()
        kept.stop_all()
        kept.keep("Doer/1", host)

        assert kept.take("Doer/1") is None
        assert LIVES == ["begun", "ended"]


@pytest.fixture
def counting() -> Iterator[tuple[Runtime, Callable[[], None]]]:
    """A runtime with an ordered component that rests, and what lets its thread end."""
    clock = VirtualClock()
    with Runtime(components=[Vocal], clock=clock) as runtime:
        others = shells()
        runtime.add(Counter)
        yield (
            runtime,
            lambda: until(lambda: shells() <= others, lambda: pass_time(runtime, clock, MOMENT_S)),
        )


def test_an_ordered_component_goes_on_where_it_was(
    counting: tuple[Runtime, Callable[[], None]],
) -> None:
    runtime, rested = counting
    me = runtime.client("me")
    for n in range(1, 4):
        rested()
        me.publish(JobAsked(n=n))
        done = read_all(runtime, wait_for(me, "job.done", n))

    assert [event.attempt for event in done] == [1, 2, 3]  # it is the same one
    assert LIVES == ["begun"]


def test_an_ordered_component_without_a_thread_answers(
    counting: tuple[Runtime, Callable[[], None]],
) -> None:
    runtime, rested = counting
    me = runtime.client("me")
    me.publish(JobAsked(n=1))
    wait_for(me, "job.done", 1)
    for _ in range(3):
        rested()

        assert me.ask(JobCount(), PATIENCE_S) == JobCounted(count=1)


def test_an_ordered_component_without_a_thread_is_stopped_with_its_cursor() -> None:
    clock, before = VirtualClock(), shells()
    with Runtime(components=[Vocal, Counter], clock=clock) as runtime:
        me = runtime.client("me")
        me.publish(JobAsked(n=1))
        wait_for(me, "job.done", 1)
        # Vocal's thread stays.
        until(lambda: len(shells() - before) == 1, lambda: pass_time(runtime, clock, MOMENT_S))
    with Runtime(components=[Vocal], log=runtime.log, clock=clock) as without:
        without.client("me").publish(JobAsked(n=2))
    with Runtime(components=[Vocal, Counter], log=runtime.log, clock=clock) as again:
        done = read_all(again, wait_for(again.client("me"), "job.done", 2))

    assert [event.n for event in done] == [1, 2]
    assert LIVES == ["begun", "ended", "begun", "ended"]


def test_an_ordered_component_without_a_thread_can_be_removed(
    counting: tuple[Runtime, Callable[[], None]],
) -> None:
    runtime, rested = counting
    rested()
    runtime.remove("Counter")
    runtime.client("me").publish(JobAsked(n=1))

    assert LIVES == ["begun", "ended"]


def test_an_event_in_the_moment_in_which_a_thread_ends_is_handled_once() -> None:
    clock = VirtualClock()
    with Runtime(components=[Vocal, Hearer, Counter], clock=clock) as runtime:
        me = runtime.client("me")
        for n in range(ROUNDS):
            passing = threading.Thread(target=pass_time, args=(runtime, clock, MOMENT_S))
            passing.start()
            me.publish(JobAsked(n=n))
            passing.join()
        done = read_all(runtime, wait_for(me, "job.done", ROUNDS))

    assert [event.n for event in done] == list(range(ROUNDS))
    assert [event.attempt for event in done] == list(range(1, ROUNDS + 1))
    assert LIVES == ["begun", "ended"]


@pytest.fixture
def staff(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "spawned"))
    return import_module("cpu_staff")


@pytest.fixture
def adding(staff: Any, tmp_path: Path) -> Iterator[tuple[Runtime, VirtualClock]]:
    """A runtime with a component in a process of its own, which rests."""
    clock = VirtualClock()
    used = ["cpu_staff:Listener", "cpu_staff:RestingAdder"]
    with Runtime(Home.create(tmp_path / "home"), components=used, clock=clock) as runtime:
        yield runtime, clock


def test_the_process_of_what_rests_is_kept_for_its_next_work_and_ends_after_a_minute(
    staff: Any, adding: tuple[Runtime, VirtualClock]
) -> None:
    runtime, clock = adding
    me, others = runtime.client("me"), shells()

    def add(count: int) -> int:
        me.publish(staff.SumAsked(of=(1,)))
        *_, told = read_all(runtime, wait_for(me, "sum.told", count))
        return int(told.pid)

    first = add(1)
    until(lambda: shells() <= others, lambda: pass_time(runtime, clock, MOMENT_S))
    assert is_alive(first)
    assert add(2) == first
    until(lambda: not is_alive(first), lambda: pass_time(runtime, clock))
    assert add(3) != first


def test_a_process_that_is_killed_while_it_rests_costs_its_next_work_no_try(
    staff: Any, adding: tuple[Runtime, VirtualClock]
) -> None:
    runtime, clock = adding
    me, others = runtime.client("me"), shells()
    me.publish(staff.SumAsked(of=(1,)))
    (first,) = read_all(runtime, wait_for(me, "sum.told", 1))
    until(lambda: shells() <= others, lambda: pass_time(runtime, clock, MOMENT_S))
    os.kill(first.pid, signal.SIGKILL)
    # It stays, as nobody has asked how it ended, until there is work. A process whose last thread
    # has not ended yet is a zombie, too, but cannot be waited for.
    looked = os.WEXITED | os.WNOHANG | os.WNOWAIT
    until(lambda: os.waitid(os.P_PID, first.pid, looked) is not None, lambda: None)
    me.publish(staff.SumAsked(of=(1,)))
    *_, second = read_all(runtime, wait_for(me, "sum.told", 2))

    assert second.pid != first.pid
    assert second.attempt == 1


def test_an_idle_runtime_has_few_threads(tmp_path: Path) -> None:
    home, before = Home.create(tmp_path / "home"), threading.active_count()
    with Runtime(home):
        # The clock, the supervisor, the archive, and components that need a thread of their own.
        until(lambda: threading.active_count() - before <= FEW_THREADS, lambda: None)
