"""Components with `async def` handlers: side by side, cancelled, bounded, and done once."""

import asyncio
import gc
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import CancelledError
from importlib import import_module
from pathlib import Path
from typing import ClassVar

import msgspec
import pytest

from cortex.bus import Event, Lease, Recorded, Vocabulary
from cortex.bus.events import (
    ComponentFailed,
    ExecutionCancelled,
    ExecutionHalted,
    StepFailed,
    ToolCall,
)
from cortex.runtime.kernel import AsyncComponent, Delivery, Home, Output, Runtime, on

from ..waiting import until
from .kernel_staff import (
    PATIENCE_S,
    WORDS,
    JobAsked,
    JobCount,
    JobCounted,
    JobDone,
    JobSeen,
    Vocal,
    read_all,
    wait_for,
)

MANY = 50
MANAGED = import_module("cortex.runtime.kernel.managed_component")


def call(n: int, timeout_s: float = 60.0) -> ToolCall:
    return ToolCall(
        execution_id=f"e{n}", step_id="s", turn=1, call_id=str(n), tool="t", provider="p",
        timeout_s=timeout_s,
    )  # fmt: skip


class Waiting(AsyncComponent):
    """Handles an event once all of them are there; tells who is under way and who was cancelled."""

    concurrent = MANY + 10
    here: ClassVar[set[int]] = set()
    cancelled: ClassVar[list[str]] = []
    begun: ClassVar[threading.Semaphore] = threading.Semaphore(0)

    async def opened(self) -> None:
        Waiting.here.clear()
        Waiting.cancelled.clear()
        self._full = asyncio.Event()

    @on(JobAsked)
    async def work(self, event: JobAsked, delivery: Delivery) -> AsyncIterator[Output]:
        Waiting.here.add(event.n)
        yield JobSeen(n=event.n)
        if len(Waiting.here) == MANY:
            self._full.set()
        await self._full.wait()
        yield JobDone(n=event.n, attempt=delivery.attempt)

    @on(ToolCall)
    async def hang(self, event: ToolCall, delivery: Delivery) -> AsyncIterator[Output]:
        Waiting.begun.release()
        try:
            await asyncio.sleep(PATIENCE_S)
        except asyncio.CancelledError:
            Waiting.cancelled.append(event.call_id)
            raise
        yield JobDone(n=-1)

    @on(JobCount)
    async def count(self, event: JobCount, delivery: Delivery) -> AsyncIterator[Output]:
        await asyncio.sleep(0)
        yield JobCounted(count=len(Waiting.here))


def test_events_are_handled_at_the_same_time_and_each_is_done_once() -> None:
    with Runtime(components=[Vocal, Waiting]) as runtime:
        me = runtime.client("me")
        me.publish(*[JobAsked(n=n) for n in range(MANY)])
        done = wait_for(me, "job.done", MANY)

        assert sorted(event.n for event in read_all(runtime, done)) == list(range(MANY))
        assert len(done) == MANY
        answer = me.ask(JobCount(), PATIENCE_S)
        assert isinstance(answer, JobCounted)
        assert answer.count == MANY


def test_more_events_than_may_be_under_way_come_one_after_the_other() -> None:
    class Narrow(AsyncComponent):
        concurrent = 2
        under_way = 0
        most = 0

        @on(JobAsked)
        async def work(self, event: JobAsked, delivery: Delivery) -> AsyncIterator[Output]:
            Narrow.under_way += 1
            Narrow.most = max(Narrow.most, Narrow.under_way)
            await asyncio.sleep(0)
            Narrow.under_way -= 1
            yield JobDone(n=event.n)

    with Runtime(components=[Vocal, Narrow]) as runtime:
        me = runtime.client("me")
        me.publish(*[JobAsked(n=n) for n in range(300)])
        done = wait_for(me, "job.done", 300)

    assert sorted(event.n for event in read_all(runtime, done)) == list(range(300))
    assert Narrow.most == 2


ENDINGS = [
    ExecutionCancelled(execution_id="e1", reason="asked for"),
    StepFailed(execution_id="e1", step_id="s", attempt=1, error="late", kind="timeout"),
]


@pytest.mark.parametrize("ending", ENDINGS, ids=["execution.cancelled", "step.failed"])
def test_the_end_of_an_execution_or_an_attempt_cancels_its_handlers(ending: Event) -> None:
    with Runtime(components=[Vocal, Waiting]) as runtime:
        me = runtime.client("me")
        me.publish(call(1), call(2))
        for _ in range(2):
            assert Waiting.begun.acquire(timeout=PATIENCE_S)
        me.publish(ending)
        while not Waiting.cancelled:
            assert me.ask(JobCount(), PATIENCE_S)

        assert Waiting.cancelled == ["1"]


def test_an_attempt_that_failed_cancels_no_other_attempt() -> None:
    failed = StepFailed(execution_id="e1", step_id="s", attempt=2, error="another")
    with Runtime(components=[Vocal, Waiting]) as runtime:
        me = runtime.client("me")
        me.publish(call(1))
        assert Waiting.begun.acquire(timeout=PATIENCE_S)
        me.publish(failed, *[JobAsked(n=n) for n in range(MANY)])
        wait_for(me, "job.done", MANY)

        assert not Waiting.cancelled


def test_what_an_execution_asks_for_after_it_was_halted_goes_on() -> None:
    halted = ExecutionHalted(execution_id="e1", reason="asked for")
    with Runtime(components=[Vocal, Waiting]) as runtime:
        me = runtime.client("me")
        me.publish(call(1), halted, call(1), *[JobAsked(n=n) for n in range(MANY)])
        wait_for(me, "job.done", MANY)
        while not Waiting.cancelled:
            assert me.ask(JobCount(), PATIENCE_S)

        assert Waiting.cancelled == ["1"]


def test_what_ends_is_no_work_of_a_component_with_nothing_under_way() -> None:
    endings = f"Waiting/endings-{MANAGED.TAG}"
    ended = [ExecutionCancelled(execution_id=f"e{n}", reason="asked for") for n in range(MANY)]
    with Runtime(components=[Vocal, Waiting]) as runtime:
        me = runtime.client("me")
        me.publish(*[JobAsked(n=n) for n in range(MANY)])
        wait_for(me, "job.done", MANY)
        until(lambda: not runtime.hub.pairs_of(endings))
        me.publish(*ended)

        assert {topic for topic, _ in runtime.hub.pairs_of("Waiting")} == {"job.asked", "tool.call"}
        assert not runtime.hub.pairs_of(endings)


def test_a_handler_that_outlasts_its_event_is_ended_and_its_event_parked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cortex.runtime.kernel.hosts.async_host.GRACE_S", 0.01)

    class Slow(AsyncComponent):
        max_attempts = 1

        @on(ToolCall)
        async def hang(self, event: ToolCall, delivery: Delivery) -> AsyncIterator[Output]:
            await asyncio.sleep(PATIENCE_S * 10)
            yield JobDone(n=1)

    with Runtime(components=[Vocal, Slow]) as runtime:
        me = runtime.client("me")
        me.publish(call(1, timeout_s=0.01))
        (failed,) = read_all(runtime, wait_for(me, "component.failed", 1))

    assert isinstance(failed, ComponentFailed)
    assert failed.reason.startswith("TimeoutError")


def test_a_failing_handler_is_tried_again_and_holds_up_nobody() -> None:
    class Flaky(AsyncComponent):
        @on(JobAsked)
        async def work(self, event: JobAsked, delivery: Delivery) -> AsyncIterator[Output]:
            if event.n == 0 and delivery.attempt < 2:
                raise ConnectionError("gone")
            yield JobDone(n=event.n, attempt=delivery.attempt)

    with Runtime(components=[Vocal, Flaky]) as runtime:
        me = runtime.client("me")
        me.publish(*[JobAsked(n=n) for n in range(3)])
        done = wait_for(me, "job.done", 3)

    assert {(e.n, e.attempt) for e in read_all(runtime, done)} == {(0, 2), (1, 1), (2, 1)}


def test_what_is_under_way_at_a_stop_is_begun_again_at_the_next_start(tmp_path: Path) -> None:
    class Late(AsyncComponent):
        lives = 0

        async def opened(self) -> None:
            Late.lives += 1

        @on(JobAsked)
        async def work(self, event: JobAsked, delivery: Delivery) -> AsyncIterator[Output]:
            Waiting.begun.release()
            if Late.lives == 1:
                await asyncio.sleep(PATIENCE_S * 10)
            yield JobDone(n=event.n)

    with Runtime(Home.create(tmp_path / ".cortex"), components=[Vocal, Late]) as first:
        first.client("me").publish(JobAsked(n=7))
        assert Waiting.begun.acquire(timeout=PATIENCE_S)
    with Runtime(Home(tmp_path / ".cortex"), components=[Vocal, Late]) as second:
        (done,) = read_all(second, wait_for(second.client("me"), "job.done", 1))

    assert done == JobDone(n=7)


class Blocking(AsyncComponent):
    """Holds up the loop itself until it is let go."""

    held: ClassVar[threading.Event] = threading.Event()
    go_on: ClassVar[threading.Event] = threading.Event()

    @on(JobAsked)
    async def work(self, event: JobAsked, delivery: Delivery) -> AsyncIterator[Output]:
        Blocking.held.set()
        assert Blocking.go_on.wait(PATIENCE_S)
        yield JobDone(n=event.n)

    @on(JobCount)
    async def count(self, event: JobCount, delivery: Delivery) -> AsyncIterator[Output]:
        yield JobCounted(count=1)


def test_what_an_ended_loop_never_began_is_told_to_who_waits_and_to_nobody_else() -> None:
    Blocking.held.clear()
    Blocking.go_on.clear()
    host = import_module("cortex.runtime.kernel.hosts.async_host").AsyncHost(
        Blocking, Vocabulary(WORDS), lambda *_: None
    )
    host.start()
    host.begin(leased(JobAsked(n=1)), 1)
    assert Blocking.held.wait(PATIENCE_S)

    host.abandon()  # the loop ends once it is let go
    host.begin(leased(JobAsked(n=2)), 1)  # what is given to it from now on never begins
    told: list[object] = []
    asker = threading.Thread(target=lambda: told.append(outcome_of(host.answer, JobCount())))
    stopper = threading.Thread(target=lambda: told.append(outcome_of(host.stop)))
    for each in (asker, stopper):
        each.start()
    Blocking.go_on.set()
    for each in (asker, stopper):
        each.join(PATIENCE_S)
        assert not each.is_alive()
    late = outcome_of(host.answer, JobCount())
    host.begin(leased(JobAsked(n=3)), 1)
    host.stop()
    gc.collect()  # a coroutine that was never awaited would be told here, which fails this test

    assert len(told) == 2
    assert [e for e in (*told, late) if e is not None and not isinstance(e, CancelledError)] == []


def outcome_of(act: Callable[..., object], *args: object) -> BaseException | None:
    """What *act* raised."""
    try:
        act(*args)
    except BaseException as error:  # noqa: BLE001  # the test judges it
        return error
    return None


def leased(event: Event) -> Lease:
    """*event* as a worker gets it."""
    body = msgspec.msgpack.encode(event)
    topic = event.topic_name()
    record = Recorded(1, 1, "j", 1, bytes(16), 0, topic, 1, None, None, "me", None, None, body)
    return Lease(record, 1, 1)
