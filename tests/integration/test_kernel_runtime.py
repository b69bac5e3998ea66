"""A running kernel: shells that fail, hang, end and come back; what the log says of it."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from cortex.bus import (
    AskTimeoutError,
    Batch,
    CortexError,
    Draft,
    Due,
    HubClosedError,
    LogError,
    Publish,
    SubscriptionError,
    UnansweredError,
)
from cortex.bus.events import VOCABULARY, ComponentFailed, ComponentRestarted
from cortex.runtime.kernel import (
    Component,
    ComponentInvalidError,
    Delivery,
    Home,
    NotReadyError,
    Output,
    Runtime,
    Serves,
    on,
)

from .kernel_staff import (
    PATIENCE_S,
    Counter,
    Crew,
    Doer,
    Gate,
    JobAsked,
    JobCount,
    JobCounted,
    JobDone,
    JobNoted,
    Vocal,
    read_all,
    wait_for,
)


def test_what_is_published_is_handled_and_its_results_are_durable() -> None:
    with Runtime(components=[Vocal, Doer]) as runtime:
        me = runtime.client("me")
        first = me.publish(JobAsked(n=1), JobAsked(n=2))
        done = wait_for(me, "job.done", 2)

    assert [(d.causation, d.source) for d in done] == [(first - 1, "Doer"), (first, "Doer")]


def test_a_bad_event_is_parked_and_holds_up_nobody() -> None:
    with Runtime(components=[Vocal, Doer, Crew]) as runtime:
        me = runtime.client("me")
        bad = me.publish(JobAsked(kind="bad", n=1), JobAsked(n=2)) - 1
        done = read_all(runtime, wait_for(me, "job.done", 2))
        failed = read_all(runtime, wait_for(me, "component.failed", 2))

    assert {(d.n, d.by) for d in done} == {(2, "Doer"), (2, "Crew")}
    assert all(each.trace for each in failed)  # where the exception came from
    bare = [msgspec.structs.replace(each, trace="") for each in failed]
    assert sorted(bare, key=lambda f: f.component) == [
        ComponentFailed(
            component=name,
            reason="ValueError: a bad job",
            position=bad,
            about="job.asked",
            attempts=3,
        )
        for name in ("Crew", "Doer")
    ]


@pytest.mark.parametrize("kind", ["exit", "interrupt"])
def test_an_exit_in_a_handler_ends_one_shell_and_not_the_process(kind: str) -> None:
    with Runtime(components=[Vocal, Doer, Counter]) as runtime:
        me = runtime.client("me")
        me.publish(JobAsked(kind=kind, n=1), JobAsked(n=2))
        restarted = read_all(runtime, wait_for(me, "component.restarted"))
        (failed,) = read_all(runtime, wait_for(me, "component.failed"))
        (done,) = read_all(runtime, wait_for(me, "job.done"))
        answer = me.ask(JobCount(), PATIENCE_S)

    assert isinstance(restarted[0], ComponentRestarted)
    assert restarted[0].times == 1
    assert restarted[0].component == "Doer"
    assert (failed.reason, failed.position > 0) == ("the process ended during it", True)
    assert done.n == 2
    assert isinstance(answer, JobCounted)


def test_a_component_that_does_not_start_is_reported_by_name() -> None:
    class Broken(Vocal):
        def on_start(self) -> None:
            raise OSError("no such device")

    runtime = Runtime(components=[])
    runtime.start()
    with pytest.raises(NotReadyError, match="Broken did not start: OSError: no such device"):
        runtime.add(Broken, wait_s=PATIENCE_S)
    runtime.stop()


def test_a_component_that_fails_again_and_again_is_not_waited_for_until_the_time_is_over() -> None:
    tried: list[None] = []

    class Broken(Vocal):
        def on_start(self) -> None:
            tried.append(None)
            raise OSError("no such device")

    runtime = Runtime(components=[])
    runtime.start()
    with pytest.raises(NotReadyError, match="Broken did not start: OSError: no such device"):
        runtime.add(Broken, wait_s=100_000)  # seconds: the tries are counted
    runtime.stop()

    assert 1 < len(tried) < 10


def test_what_a_runtime_gets_to_know_is_its_own_alone() -> None:
    with Runtime(components=[]) as runtime:
        runtime.add(Vocal)

        known = JobAsked in runtime.vocabulary.classes().values()

    assert known
    assert JobAsked not in VOCABULARY.classes().values()


def test_a_component_that_starts_at_the_third_try_is_started() -> None:
    gate = Gate()

    class Stubborn(Vocal):
        def on_start(self) -> None:
            gate.starts += 1
            if gate.starts < 3:
                raise SystemExit("not yet")

    with Runtime(components=[Stubborn]) as runtime:
        (restarted,) = read_all(runtime, wait_for(runtime.client("me"), "component.restarted"))

    assert (restarted.times, restarted.reason) == (2, "SystemExit: not yet")
    assert gate.starts == 3


def test_many_components_that_fail_together_come_back_together() -> None:
    lock = threading.Lock()
    tried: dict[str, int] = {}

    def stubborn(name: str) -> type[Component]:
        def on_start(self: Component) -> None:
            with lock:
                tried[name] = tried.get(name, 0) + 1
            if tried[name] < 4:
                raise OSError("not yet")

        return type(name, (Doer,), {"on_start": on_start})

    components = [stubborn(f"Stubborn{n}") for n in range(24)]
    before = threading.active_count()
    with Runtime(components=[Vocal, *components]):
        threads = threading.active_count()

    assert set(tried.values()) == {4}
    assert threads < before + 24 + 20


def test_a_component_that_hangs_at_its_start_can_be_left_behind() -> None:
    gate = Gate()

    class Sleeper(Vocal):
        def on_start(self) -> None:
            gate.pass_through()

    runtime = Runtime(components=[])
    runtime.start()
    with pytest.raises(NotReadyError, match="not ready yet"):
        runtime.add(Sleeper, wait_s=0.1)
    gate.wait_for_one()
    gate.open.set()
    runtime.stop()


def test_the_work_of_a_worker_that_hangs_goes_to_another_one() -> None:
    gate = Gate()

    class Sleepy(Component):
        workers = 2
        lease_s = 0.2

        @on(JobAsked)
        def do(self, event: JobAsked, delivery: Delivery) -> Iterator[Output]:
            if delivery.attempt == 1:
                gate.pass_through()
            yield JobDone(n=event.n, attempt=delivery.attempt)

    # The lease of an event lasts its timeout and five seconds of grace.
    with Runtime(components=[Vocal, Sleepy]) as runtime:
        me = runtime.client("me")
        me.publish(JobAsked(n=1, timeout_s=-5.0))
        gate.wait_for_one()
        (done,) = read_all(runtime, wait_for(me, "job.done"))
        gate.open.set()
        me.publish(JobAsked(n=2))
        gate.wait_for_one()
        wait_for(me, "job.done", 2)

    assert (done.n, done.attempt) == (1, 2)
    doubled = [r for r in runtime.log.read(0, 999, 1 << 30) if b"job.done" in r]
    assert len(doubled) == 2


def test_workers_share_the_work_and_do_it_at_the_same_time() -> None:
    gate = Gate()

    class Pair(Component):
        workers = 2

        @on(JobAsked)
        def do(self, event: JobAsked, delivery: Delivery) -> Iterator[Output]:
            gate.pass_through()
            yield JobDone(n=event.n)

    with Runtime(components=[Vocal, Pair]) as runtime:
        me = runtime.client("me")
        me.publish(JobAsked(n=1))
        me.publish(JobAsked(n=2))
        gate.wait_for_one()
        gate.wait_for_one()
        gate.open.set()
        done = read_all(runtime, wait_for(me, "job.done", 2))

    assert {d.n for d in done} == {1, 2}


def test_several_runtimes_live_in_one_process_and_do_not_meet() -> None:
    with (
        Runtime(components=[Vocal, Doer, Counter], name="a") as one,
        Runtime(components=[Vocal, Doer, Counter], name="b") as other,
    ):
        one.client("me").publish(JobAsked(n=1))
        other.client("me").publish(JobAsked(n=2))
        done = [read_all(r, wait_for(r.client("me"), "job.done"))[0] for r in (one, other)]
        one.stop()
        answer = other.client("me").ask(JobCount(), PATIENCE_S)
        with pytest.raises(HubClosedError):
            one.client("me").publish(JobAsked(n=3))

    assert [d.n for d in done] == [1, 2]
    assert isinstance(answer, JobCounted)


def test_queries_are_answered_or_say_why_not() -> None:
    with Runtime(components=[Vocal, Counter]) as runtime:
        me = runtime.client("me")

        assert me.ask(JobCount(), PATIENCE_S).count == 42  # type: ignore[attr-defined]
        with pytest.raises(ValueError, match="a bad question"):
            me.ask(JobCount(kind="bad"), PATIENCE_S)
        with pytest.raises(SystemExit):
            me.ask(JobCount(kind="exit"), PATIENCE_S)
        with pytest.raises(ComponentInvalidError, match="returned no answer"):
            me.ask(JobCount(kind="mute"), PATIENCE_S)
        assert me.ask(JobCount(), PATIENCE_S).count == 42  # type: ignore[attr-defined]
        runtime.remove("Counter")
        with pytest.raises(UnansweredError):
            me.ask(JobCount(), PATIENCE_S)


def test_a_query_to_a_busy_component_times_out() -> None:
    gate = Gate()

    class Busy(Component):
        @on(JobCount)
        def count(self, event: JobCount, delivery: Delivery) -> Iterator[Output]:
            gate.pass_through()
            yield JobCounted(count=1)

    with Runtime(components=[Vocal, Busy]) as runtime:
        with pytest.raises(AskTimeoutError):
            runtime.client("me").ask(JobCount(), 0.05)
        gate.open.set()


def test_two_components_that_answer_one_query_are_refused() -> None:
    class Rival(Counter):
        pass

    with Runtime(components=[Vocal, Counter]) as runtime:
        with pytest.raises(SubscriptionError, match="answered by a component already"):
            runtime.add(Rival, wait_s=1)
        assert runtime.client("me").ask(JobCount(), PATIENCE_S).count == 42  # type: ignore[attr-defined]
        runtime.remove("Counter")
        runtime.add(Rival)
        assert runtime.client("me").ask(JobCount(), PATIENCE_S).count == 42  # type: ignore[attr-defined]


class Served(Component):
    serves = (Serves("action", "do_it"), Serves("gate", "done"))

    @on(JobNoted)
    def note(self, event: JobNoted, delivery: Delivery) -> None: ...


def announced(runtime: Runtime) -> list[tuple[str, str]]:
    records = runtime.client("me").read_stream("registry")
    return [(r.topic, runtime.vocabulary.read(r).name) for r in records]  # type: ignore[attr-defined]


def test_a_component_comes_and_goes_while_the_runtime_runs() -> None:
    with Runtime(components=[Vocal]) as runtime:
        me = runtime.client("me")
        runtime.add(Served)
        runtime.add(Crew)
        me.publish(JobAsked(n=1))
        wait_for(me, "job.done")
        runtime.remove("Served")
        runtime.remove("Crew")
        me.publish(JobAsked(n=2))

        assert announced(runtime) == [
            ("component.announced", "do_it"),
            ("component.announced", "done"),
            ("component.withdrawn", "do_it"),
            ("component.withdrawn", "done"),
        ]
        assert {s.name for s in runtime.log.state().standings} == {"Vocal"}
        assert not runtime.log.state().work


def test_what_was_announced_in_a_name_of_its_own_is_withdrawn_in_that_name() -> None:
    with Runtime(components=[Vocal]) as runtime:
        runtime.add(Served, client="plugin.served")
        runtime.remove("Served")
        runtime.add(Served)  # the runtime's own by now
        runtime.remove("Served")

        said = [record.source for record in runtime.client("me").read_stream("registry")]

    assert said == ["plugin.served"] * 4 + ["runtime"] * 4


def test_what_is_announced_already_is_not_announced_again() -> None:
    first = Runtime(components=[Served])
    with first:
        pass
    with Runtime(components=[Served], log=first.log) as runtime:
        assert len(announced(runtime)) == 2


def test_a_component_of_the_same_name_is_refused() -> None:
    with (
        Runtime(components=[Vocal]) as runtime,
        pytest.raises(NotReadyError, match="remove it first"),
    ):
        runtime.add(Vocal)


def test_removing_what_is_not_there_says_so() -> None:
    with Runtime(components=[Vocal]) as runtime, pytest.raises(CortexError, match="Nobody"):
        runtime.remove("Nobody")


def test_a_cursor_outlives_its_runtime() -> None:
    first = Runtime(components=[Vocal, Doer, Crew])
    with first:
        first.client("me").publish(JobAsked(n=1))
        wait_for(first.client("me"), "job.done", 2)
    with Runtime(components=[Vocal], log=first.log) as between:
        between.client("me").publish(JobAsked(n=2))
    with Runtime(components=[Vocal, Doer, Crew], log=first.log) as last:
        done = read_all(last, wait_for(last.client("me"), "job.done", 4))

    assert sorted((d.n, d.by) for d in done) == [
        (1, "Crew"),
        (1, "Doer"),
        (2, "Crew"),
        (2, "Doer"),
    ]


def test_ephemeral_events_reach_components_and_leave_no_trace() -> None:
    class Echo(Component):
        @on(JobDone)
        def hear(self, event: JobDone, delivery: Delivery) -> Iterator[Output]:
            yield JobNoted(n=event.n)

    with Runtime(components=[Vocal, Doer, Echo]) as runtime:
        me = runtime.client("me")
        seen = me.follow(("job.seen", None))
        me.publish(JobAsked(n=7))
        assert [r.topic for r in seen.next(PATIENCE_S)] == ["job.seen"]
        wait_for(me, "job.noted")
        topics = {record.topic for record in me.read()}

    assert "job.seen" not in topics


def test_a_full_disk_stops_nothing_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    with Runtime(components=[Vocal, Doer, Crew]) as runtime:
        me = runtime.client("me")
        write, refused = runtime.log.write, threading.Semaphore(0)
        full = threading.Event()
        full.set()

        def sometimes(batch: Batch) -> None:
            if full.is_set():
                refused.release()
                raise LogError("the disk is full")
            write(batch)

        me.publish(JobAsked(n=1))
        wait_for(me, "job.done", 2)
        monkeypatch.setattr(runtime.log, "write", sometimes)
        with pytest.raises(LogError):
            me.publish(JobAsked(n=2))
        with pytest.raises(LogError):
            runtime.hub.ask_one("me", Publish((), due=(Due("d", 1, Draft.of(JobNoted(n=9))),)))
        full.clear()
        me.publish(JobAsked(n=3))
        done = read_all(runtime, wait_for(me, "job.done", 4))

    assert {d.n for d in done} == {1, 3}


def test_the_supervisor_outlives_a_disk_that_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    with Runtime(components=[Vocal, Doer]) as runtime:
        me = runtime.client("me")
        write, failures = runtime.log.write, threading.Semaphore(0)
        full = threading.Event()

        def sometimes(batch: Batch) -> None:
            if full.is_set():
                failures.release()
                raise LogError("the disk is full")
            write(batch)

        monkeypatch.setattr(runtime.log, "write", sometimes)
        me.publish(JobAsked(kind="exit", n=1), JobAsked(n=2))
        full.set()
        for _ in range(5):
            assert failures.acquire(timeout=PATIENCE_S)
        full.clear()
        (done,) = read_all(runtime, wait_for(me, "job.done"))

    assert done.n == 2


class Hanging(Component):
    """Is at work until it is let go, and would then say that it is done."""

    entered, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    @on(JobAsked)
    def do(self, event: JobAsked, delivery: Delivery) -> Iterator[Output]:
        Hanging.entered.set()
        assert Hanging.go_on.wait(PATIENCE_S)
        Hanging.ended.set()
        yield JobDone(n=event.n, by="nobody", attempt=delivery.attempt)


def test_a_stop_without_patience_leaves_a_handler_behind_whose_event_comes_again(
    tmp_path: Path,
) -> None:
    home = Home.create(tmp_path / ".cortex")
    runtime = Runtime(home, components=[Vocal, Hanging])
    runtime.start()
    asked = runtime.client("me").publish(JobAsked(n=1))
    assert Hanging.entered.wait(PATIENCE_S)

    runtime.stop(patience_s=0.0)
    Hanging.go_on.set()
    assert Hanging.ended.wait(PATIENCE_S)
    with Runtime(home, components=[Vocal, Hanging]) as again:
        done = wait_for(again.client("me"), "job.done")
        stopped = [r for r in again.client("me").read() if r.topic == "runtime.stopped"]

    assert [(d.causation, d.source) for d in done] == [(asked, "Hanging")]
    assert len(stopped) == 1


def test_stop_closes_everything_although_the_disk_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = Runtime(components=[Vocal])
    runtime.start()

    def full(batch: Batch) -> None:
        raise LogError("the disk is full")

    monkeypatch.setattr(runtime.log, "write", full)
    runtime.stop()

    with pytest.raises(HubClosedError):
        runtime.client("me").publish(JobAsked(n=1))


def test_publishers_on_many_threads_are_all_handled_once() -> None:
    with Runtime(components=[Vocal, Doer, Crew]) as runtime:

        def publish(thread: int) -> None:
            me = runtime.client(f"c{thread}")
            for n in range(40):
                me.publish(JobAsked(n=thread * 100 + n))

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(publish, range(4)))
        done = read_all(runtime, wait_for(runtime.client("me"), "job.done", 320))

    for by in ("Doer", "Crew"):
        mine = [d.n for d in done if d.by == by]
        assert sorted(mine) == sorted(t * 100 + n for t in range(4) for n in range(40))
