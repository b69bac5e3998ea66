"""The driver for one process: threads share transactions, waiters are woken, alarms sound."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from cortex.bus import (
    Appended,
    AskTimeoutError,
    Batch,
    Client,
    ConflictError,
    Due,
    Fetch,
    Finish,
    Hub,
    HubClosedError,
    LocalHub,
    LogError,
    Publish,
    Query,
    SubscriptionError,
    SystemClock,
    UnansweredError,
    decode,
    system_entropy,
)

from .bus_world import (
    WORDS,
    FailingLog,
    PlanGlanced,
    PlanWrite,
    PlanWritten,
    draft,
    ordered,
    work,
    written,
)

PATIENCE_S = 120.0  # no test takes as long; a lost wake-up does


class PlanAsk(Query, frozen=True, kw_only=True, tag="plan.ask"):
    pass


class Bus:
    def __init__(self) -> None:
        self.log = FailingLog()
        self.hub = LocalHub(Hub(self.log, WORDS, system_entropy), SystemClock())

    def client(self, name: str = "me") -> Client:
        return Client(name, self.hub, self.log, WORDS)


@pytest.fixture
def bus() -> Iterator[Bus]:
    made = Bus()
    yield made
    made.hub.close()


def test_threads_are_each_acknowledged_and_everything_is_there_once(bus: Bus) -> None:
    threads, each = 8, 50

    def publish(thread: int) -> list[int]:
        me = bus.client(f"c{thread}")
        return [me.publish(PlanWrite(plan=f"{thread}/{n}")) for n in range(each)]

    with ThreadPoolExecutor(threads) as pool:
        positions = list(pool.map(publish, range(threads)))

    records = [decode(data) for data in bus.log.read(0, 9_999, 1 << 30)]
    assert sorted(p for mine in positions for p in mine) == list(range(1, threads * each + 1))
    for thread, mine in enumerate(positions):
        assert mine == sorted(mine)
        told = [records[p - 1].key for p in mine]
        assert told == [f"{thread}/{n}" for n in range(each)]


def test_waiting_callers_share_one_transaction(bus: Bus) -> None:
    sizes: list[int] = []
    entered, go_on = threading.Event(), threading.Event()
    write = bus.log.write

    def slow(batch: Batch) -> None:
        sizes.append(len(batch.rows))
        entered.set()
        assert go_on.wait(PATIENCE_S)
        write(batch)

    bus.log.write = slow  # type: ignore[method-assign]  # the disk of this test
    with ThreadPoolExecutor(9) as pool:
        first = pool.submit(bus.client().publish, PlanWrite(plan="p"))
        assert entered.wait(PATIENCE_S)
        rest = [pool.submit(bus.client().publish, PlanWrite(plan="p")) for _ in range(8)]
        while len(bus.hub._combiner) < 8:
            pass
        go_on.set()
        assert {f.result() for f in [first, *rest]} == set(range(1, 10))

    assert sizes == [1, 8]


def test_a_write_that_fails_is_told_to_everyone_whose_request_was_in_it(bus: Bus) -> None:
    bus.log.full = True
    with pytest.raises(LogError, match="full"):
        bus.client().publish(PlanWrite(plan="p"))
    bus.log.full = False

    assert bus.client().publish(PlanWrite(plan="p")) == 1


def test_fetch_waits_until_something_comes(bus: Bus) -> None:
    bus.hub.ask_one("me", ordered("s"))
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(bus.hub.fetch, Fetch("s", 0), PATIENCE_S)
        bus.client().publish(PlanWritten(plan="not this"), PlanWrite(plan="this"))

        assert [r.key for r in waiting.result(PATIENCE_S).records] == ["this"]
    assert "s" not in bus.hub._wakes


def test_fetch_comes_back_with_nothing_when_its_time_is_over(bus: Bus) -> None:
    bus.hub.ask_one("me", ordered("s"))
    bus.client().publish(PlanWritten(plan="not this"))

    page = bus.hub.fetch(Fetch("s", 0), 0.01)

    assert (page.records, page.through) == ((), 1)


def test_a_waiting_fetch_ends_with_the_hub(bus: Bus) -> None:
    bus.hub.ask_one("me", ordered("s"))
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(bus.hub.fetch, Fetch("s", 0), PATIENCE_S)
        while "s" not in bus.hub._wakes:
            pass
        bus.hub.close()

        with pytest.raises(HubClosedError):
            waiting.result(PATIENCE_S)


def test_a_closed_hub_takes_nothing_and_closes_twice(bus: Bus) -> None:
    bus.hub.close()
    bus.hub.close()

    with pytest.raises(HubClosedError):
        bus.client().publish(PlanWrite(plan="p"))
    assert bus.hub.head == 0


def test_the_clock_fires_deadlines_and_wakes_those_who_see_them(bus: Bus) -> None:
    feed = bus.client().follow(("plan.written", None))
    due = Due("d", bus.hub.clock.now_ns() + 20_000_000, written())

    bus.hub.ask_one("me", Publish((), due=(due,)))

    assert [r.topic for r in feed.next(PATIENCE_S)] == ["plan.written"]


def test_a_deadline_waits_for_a_disk_that_is_full(bus: Bus) -> None:
    feed = bus.client().follow(("plan.written", None))
    failed = threading.Event()
    write = bus.log.write

    def once(batch: Batch) -> None:
        if batch.rows and not failed.is_set():
            failed.set()
            raise LogError("the disk is full")
        write(batch)

    bus.log.write = once  # type: ignore[method-assign]  # the disk of this test
    bus.hub.ask_one("me", Publish((), due=(Due("d", 1, written()),)))

    assert [r.topic for r in feed.next(PATIENCE_S)] == ["plan.written"]
    assert failed.is_set()


def test_alarms_sound_in_order_and_once(bus: Bus) -> None:
    now_ns, heard, done = bus.hub.steady_ns(), [], threading.Event()
    bus.hub.alarm(now_ns + 40_000_000, done.set)
    bus.hub.alarm(now_ns + 30_000_000, lambda: heard.append("second"))
    bus.hub.alarm(now_ns + 10_000_000, lambda: heard.append("first"))

    assert done.wait(PATIENCE_S)
    assert heard == ["first", "second"]


def test_a_watcher_is_called_for_its_subscription_until_it_leaves(bus: Bus) -> None:
    calls: list[str] = []
    bus.hub.ask_one("me", work("w"))

    def wake() -> None:
        calls.append("w")

    bus.hub.watch("w", wake)
    bus.client().publish(PlanWritten(plan="p"))
    assert calls == []
    bus.client().publish(PlanWrite(plan="p"))
    assert calls == ["w"]
    bus.hub.unwatch("w", wake)
    bus.client().publish(PlanWrite(plan="p"))
    assert calls == ["w"]


def test_a_refusal_is_raised_by_ask_one_and_answered_by_submit(bus: Bus) -> None:
    stale = Publish((draft(expected_version=3),))

    with pytest.raises(ConflictError, match="at version 0, not 3"):
        bus.hub.ask_one("me", stale)
    answers = bus.hub.submit("me", (stale, Publish((draft(),)), Finish("w", 1, 1)))
    assert [type(a).__name__ for a in answers] == ["Refused", "Appended", "Refused"]
    assert answers[1] == Appended(1, 1)


def test_a_query_goes_to_the_one_who_answers_it(bus: Bus) -> None:
    with pytest.raises(UnansweredError):
        bus.client().ask(PlanAsk())

    def answered(_: Query, timeout_s: float) -> PlanWritten:
        return PlanWritten(plan=f"{timeout_s}")

    bus.hub.answer(PlanAsk, answered)

    assert bus.client().ask(PlanAsk(), 3.0) == PlanWritten(plan="3.0")
    with pytest.raises(SubscriptionError, match="already"):
        bus.hub.answer(PlanAsk, answered)
    bus.hub.unanswer(PlanAsk)
    with pytest.raises(UnansweredError):
        bus.client().ask(PlanAsk())


def test_a_query_that_takes_too_long_says_so(bus: Bus) -> None:
    def late(query: Query, timeout_s: float) -> PlanWritten:
        raise TimeoutError

    bus.hub.answer(PlanAsk, late)

    with pytest.raises(AskTimeoutError, match=r"within 0\.5 s"):
        bus.client().ask(PlanAsk(), 0.5)


def test_a_client_publishes_together_and_checks_the_first_version(bus: Bus) -> None:
    me = bus.client()

    assert me.publish(PlanWrite(plan="p"), PlanWritten(plan="p"), expected_version=0) == 2
    with pytest.raises(ConflictError):
        me.publish(PlanWrite(plan="p"), PlanWritten(plan="p"), expected_version=1)
    assert me.publish(PlanGlanced(plan="p")) == 0
    assert me.head == bus.hub.head == 2


def test_a_client_reads_the_log_and_its_streams_page_by_page(bus: Bus) -> None:
    me = bus.client()
    for n in range(1_100):
        bus.hub.submit("me", [Publish((draft("even" if n % 2 else "odd"), draft("p")))])

    assert [r.position for r in me.read()] == list(range(1, 2_201))
    assert [r.position for r in me.read(2_000, 2_003)] == [2_001, 2_002, 2_003]
    assert [r.version for r in me.read_stream("plan/p", 50)] == list(range(51, 1_101))
    assert list(me.read_stream("plan/none")) == []


def test_a_feed_sees_what_comes_after_it_ephemeral_events_too(bus: Bus) -> None:
    me = bus.client()
    me.publish(PlanWrite(plan="before"), PlanGlanced(plan="before"))
    feed, all_of_it = me.follow(("plan.*", None)), me.follow(after=0)

    me.publish(PlanWrite(plan="p"), PlanGlanced(plan="p"))

    assert [r.stream for r in feed.next(PATIENCE_S)] == ["plan/p", "plan/p"]
    assert feed.next(0) == []
    assert [r.position for r in all_of_it.next(0) if r.position] == [1, 2]


def test_a_closed_feed_is_gone_from_the_hub(bus: Bus) -> None:
    feed = bus.client().follow()
    feed.close()
    feed.close()

    with pytest.raises(SubscriptionError):
        feed.next(0)
    open_one = bus.client().follow()
    bus.hub.close()
    open_one.close()
