"""Feeds: results with the cursor, poison parked, attempts on disk, work given back."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from cortex.bus import (
    Attempt,
    Claim,
    Commit,
    CursorError,
    Event,
    Fetch,
    Finish,
    Publish,
    Release,
    Request,
)
from cortex.bus.events import ComponentFailed
from cortex.runtime.kernel import Component, Delivery, Forget, Later, Output, on

from .bus_world import SECOND_NS, PlanGlanced, PlanWrite, PlanWritten, draft, glance, written
from .kernel_world import Fed, fed, feed, ordered, recall, retries, workers


class Writer(Component):
    """Writes what it is asked to, but for the plans that it chokes on."""

    recalls = 1

    def __init__(self) -> None:
        self.seen: list[str] = []

    @on(PlanWrite)
    @on(PlanGlanced)
    def write(self, event: Event, delivery: Delivery) -> Iterator[Output]:
        plan = event.stream().removeprefix("plan/")
        if plan == "fatal":
            raise SystemExit(3)
        if plan == "bad" or (plan == "shaky" and delivery.attempt < 3):
            raise ValueError(plan)
        self.seen.append(plan)
        yield PlanWritten(plan="/".join(self.seen))

    def recall(self, event: Event, delivery: Delivery) -> None:
        self.seen.append(event.stream().removeprefix("plan/"))

    def snapshot(self) -> bytes:
        return msgspec.msgpack.encode(self.seen)

    def restore(self, snapshot: bytes) -> None:
        self.seen = msgspec.msgpack.decode(snapshot, type=list[str])


@pytest.fixture
def writer() -> Fed:
    return fed(Writer)


def publish(writer: Fed, *plans: str) -> None:
    writer.world.one(Publish(tuple(draft(plan) for plan in plans)))


def started(writer: Fed) -> None:
    """Subscribe, so that what is published next is seen."""
    writer.run(writer.ordered())


def test_a_page_is_one_transaction(writer: Fed) -> None:
    started(writer)
    publish(writer, "a", "b", "c")
    writer.run(writer.ordered())

    commits = [r for r in writer.sent if isinstance(r, Commit)]
    assert [(c.after, c.through, len(c.events)) for c in commits] == [(0, 3, 3)]
    assert writer.results() == [("plan.written", 1), ("plan.written", 2), ("plan.written", 3)]


def test_it_rests_after_one_page_that_had_nothing_for_it(writer: Fed) -> None:
    started(writer)
    publish(writer, "a", "b")
    program = writer.ordered()
    writer.run(program)

    fetches = [r.after for r in writer.sent if isinstance(r, Fetch)]
    assert fetches == [0, 0, 2]  # at its start; then what came; then past what itself has said


def test_an_event_that_fails_is_tried_three_times_and_then_parked(writer: Fed) -> None:
    started(writer)
    publish(writer, "a", "bad", "b")
    writer.run(writer.ordered())

    assert writer.results() == [("plan.written", 1), ("component.failed", 2), ("plan.written", 3)]
    assert writer.failures() == [
        ComponentFailed(
            component="c", reason="ValueError: bad", position=2, about="plan.write", attempts=3
        )
    ]


def test_an_event_that_works_the_third_time_is_not_parked(writer: Fed) -> None:
    started(writer)
    publish(writer, "shaky", "a")
    writer.run(writer.ordered())

    assert writer.results() == [("plan.written", 1), ("plan.written", 2)]


def test_between_tries_it_waits_longer_and_longer(writer: Fed) -> None:
    started(writer)
    publish(writer, "bad")
    before_ns = writer.world.now_ns
    writer.run(writer.ordered())

    assert writer.world.now_ns - before_ns == retries.backoff_ns(1) + retries.backoff_ns(2)
    assert retries.backoff_ns(2) == 2 * retries.backoff_ns(1)
    assert retries.backoff_ns(500) == 30_000_000_000


def test_an_event_that_kills_the_process_is_parked_alone(writer: Fed) -> None:
    started(writer)
    publish(writer, "a", "b", "fatal", "c")
    deaths = 0
    for _ in range(12):
        try:
            writer.run(writer.ordered())
        except SystemExit:
            deaths += 1

    assert [topic for topic, _ in writer.results()] == [
        "plan.written",
        "plan.written",
        "component.failed",
        "plan.written",
    ]
    (failed,) = writer.failures()
    assert isinstance(failed, ComponentFailed)
    assert (failed.position, failed.attempts) == (3, 3)
    assert deaths <= 5  # twice for the page, then the tries that are counted for it alone


@pytest.mark.parametrize("crash_after", range(1, 12))
def test_attempts_survive_a_crash_anywhere(writer: Fed, crash_after: int) -> None:
    started(writer)
    publish(writer, "a", "bad", "b")
    writer.run(writer.ordered(), crash_after)
    writer.run(writer.ordered())

    assert writer.results() == [("plan.written", 1), ("component.failed", 2), ("plan.written", 3)]
    tries = [r for r in writer.sent if isinstance(r, Attempt)]
    assert len(tries) <= 6


@pytest.mark.parametrize("crash_after", range(1, 10))
@pytest.mark.parametrize("save", [False, True])
def test_a_fold_is_back_after_a_crash_anywhere(writer: Fed, crash_after: int, save: bool) -> None:
    writer.version = 1
    started(writer)
    publish(writer, "a", "b")
    writer.run(writer.ordered(), crash_after)
    if save:
        writer.recall.save()
    publish(writer, "c")
    writer.run(writer.ordered())

    last = writer.records()[-1]
    assert last.stream == "plan/a/b/c"


def test_a_snapshot_of_another_version_is_not_restored(writer: Fed) -> None:
    writer.version = 1
    started(writer)
    publish(writer, "a")
    writer.run(writer.ordered())
    writer.recall.save()
    leaf = writer.world.log.leaf_hashes(1, 1)
    writer.snapshots.put("c", 1, recall.StoredSnapshot(1, leaf, b"\xc1"))  # would not decode
    writer.version = 2
    publish(writer, "b")
    writer.run(writer.ordered())

    assert writer.records()[-1].stream == "plan/a/b"


def test_somebody_elses_commit_ends_the_feed(writer: Fed) -> None:
    started(writer)
    publish(writer, "a")
    slow, quick = writer.ordered(), writer.ordered()
    writer.run(slow, 3)  # subscribed, fetched, attempted: handled, and not committed
    writer.run(quick)

    with pytest.raises(CursorError):
        slow.send(writer.world.ask(Commit("c", 0, 1), client="c"))
    assert writer.results() == [("plan.written", 1)]


def test_a_cursor_moves_although_nothing_was_for_it(writer: Fed) -> None:
    started(writer)
    for _ in range(11):
        writer.world.one(Publish(tuple(written() for _ in range(1_000))))
    writer.run(writer.ordered())

    (standing,) = writer.world.log.state().standings
    assert standing.cursor >= ordered.IDLE_COMMIT


class Once(Component):
    """Writes each plan once; its fold has a plan as soon as it is written."""

    def __init__(self) -> None:
        self.known: set[str] = set()
        self.handled = 0

    def recall(self, event: Event, delivery: Delivery) -> None:
        if isinstance(event, PlanWritten):
            self.known.add(event.plan)

    @on(PlanWrite)
    def write(self, event: PlanWrite, delivery: Delivery) -> Iterator[Output]:
        if event.plan not in self.known:
            self.known.add(event.plan)
            yield PlanWritten(plan=event.plan)

    @on(PlanWritten)
    def written(self, event: PlanWritten, delivery: Delivery) -> None:
        self.handled += 1


def test_results_behind_events_that_wait_are_in_the_fold_again_after_a_kill() -> None:
    made: list[Once] = []

    def make() -> Once:
        made.append(Once())
        return made[-1]

    once = fed(make)
    once.version, once.folded = 1, ("plan.written",)
    once.feeding = feed.Feeding("c", (("plan.write", None), ("plan.written", None)))
    started(once)
    plans = [f"p{n}" for n in range(feed.PAGE)]
    for _ in range(2):  # the second time there is nothing to write
        once.world.one(Publish(tuple(draft(plan) for plan in plans)))
    once.run(once.ordered(), 4)  # subscribed, fetched, attempted, committed: and killed
    assert len(once.results()) == len(plans)

    once.run(once.ordered())

    assert len(once.results()) == len(plans)
    assert made[-1].known == set(plans)
    assert made[-1].handled == 0  # each was recalled, and is not handled too
    once.world.one(Publish((draft("another"),)))
    once.run(once.ordered())
    assert made[-1].known == {*plans, "another"}


class Silent(Component):
    """Looks at plans and has nothing to say of them."""

    @on(PlanWrite)
    def look(self, event: PlanWrite, delivery: Delivery) -> Iterator[Output]:
        yield from ()


def test_a_cursor_moves_once_it_is_quiet_although_nothing_came_of_what_it_passed() -> None:
    silent = fed(Silent)
    program = silent.ordered()
    silent.run(program)
    silent.world.one(Publish((draft("a"),)))
    silent.run(program)  # the first page is counted, so that the cursor moves with it
    silent.world.one(Publish((draft("b"),)))
    began_ns = silent.world.now_ns

    silent.run(program)

    (standing,) = silent.world.log.state().standings
    assert standing.cursor == 2
    assert silent.world.now_ns - began_ns == ordered.QUIET_NS


def test_ephemeral_events_are_handled_and_one_that_fails_is_dropped(writer: Fed) -> None:
    writer.feeding = feed.Feeding("c", (("plan.*", None),))
    program = writer.ordered()
    writer.run(program)
    writer.world.one(Publish((glance("bad"), draft("a"))))
    writer.run(writer.ordered())

    assert [topic for topic, _ in writer.results()] == ["plan.written"]
    assert not writer.failures()


class Arming(Component):
    """Sets a deadline at "set", forgets it at anything else."""

    @on(PlanWrite)
    def write(self, event: PlanWrite, delivery: Delivery) -> Iterator[Output]:
        if event.plan == "set":
            yield Later("d", delivery.time_ns + SECOND_NS, PlanWritten(plan="late"))
        else:
            yield Forget("d")


@pytest.mark.parametrize(
    ("plans", "fired"),
    [
        (["set"], 1),
        (["set", "forget"], 0),
        (["forget", "set"], 1),
        (["set", "forget", "set"], 1),
        (["set", "set", "forget"], 0),
    ],
)
@pytest.mark.parametrize("together", [True, False])
def test_deadlines_follow_the_order_of_events(plans: list[str], fired: int, together: bool) -> None:
    arming = fed(Arming)
    started(arming)
    for part in [plans] if together else [[plan] for plan in plans]:
        publish(arming, *part)
        arming.run(arming.ordered())
    arming.world.later(5)
    arming.world.hub.tick(arming.world.now_ns)

    assert [topic for topic, _ in arming.results()] == ["plan.written"] * fired


def test_work_is_finished_with_its_results(writer: Fed) -> None:
    writer.run(writer.work())
    publish(writer, "a", "b")
    writer.run(writer.work())

    assert writer.results() == [("plan.written", 1), ("plan.written", 2)]
    assert not writer.world.log.state().work


def test_work_that_fails_is_given_back_and_parked_the_third_time(writer: Fed) -> None:
    program = writer.work()
    writer.run(program)
    publish(writer, "bad", "a")
    for _ in range(4):
        writer.run(writer.work())
        writer.world.later(60)

    released = [r for r in writer.sent if isinstance(r, Release)]
    assert [r.backoff_ns for r in released] == [retries.backoff_ns(1), retries.backoff_ns(2)]
    assert writer.results() == [("plan.written", 2), ("component.failed", 1)]
    assert not writer.world.log.state().work


def test_work_that_kills_its_workers_is_parked(writer: Fed) -> None:
    writer.run(writer.work())
    publish(writer, "fatal", "a")
    for _ in range(5):
        try:
            writer.run(writer.work())
        except SystemExit:
            writer.world.later(2)  # the lease lapses

    (failed,) = writer.failures()
    assert isinstance(failed, ComponentFailed)
    assert (failed.reason, failed.attempts) == ("its workers ended during it or hung", 3)
    assert ("plan.written", 2) in writer.results()


def test_a_late_result_is_dropped_and_the_worker_goes_on(writer: Fed) -> None:
    writer.run(writer.work())
    publish(writer, "a")
    late = writer.work()
    writer.run(late, 2)  # it has the event and is at work on it
    writer.world.later(2)
    writer.run(writer.work())

    answers = writer.world.ask(Finish("c", 1, 1), client="c")
    assert isinstance(late.send(answers)[0], Claim)
    assert writer.results() == [("plan.written", 1)]


def test_quick_work_is_claimed_in_growing_batches_and_slow_work_alone(writer: Fed) -> None:
    writer.run(writer.work())
    publish(writer, *[str(n) for n in range(40)])
    writer.run(writer.work())
    assert writer.claims()[1:] == [1, 2, 4, 8, 16, 32, 32]

    writer.took_ns = workers.SLOW_NS + 1
    publish(writer, *[str(n) for n in range(4)])
    writer.run(writer.work())
    assert set(writer.claims()[-4:]) == {1}
    assert len(writer.results()) == 44


def until_it_rests(silent: Fed, program: Any, step: Any) -> tuple[list[Request], Any]:
    """What a program asks from *step* on, and how it rests then."""
    asked: list[Request] = []
    while not isinstance(step, feed.Idle | feed.Pause):
        asked += step
        step = program.send(silent.world.ask(*step, client="c"))
    return asked, step


def test_a_cursor_moves_once_it_is_quiet_and_not_at_a_wake() -> None:
    silent = fed(Silent)
    program = silent.ordered()
    until_it_rests(silent, program, next(program))
    publish(silent, "a")  # the first is counted and committed
    until_it_rests(silent, program, program.send(()))
    publish(silent, "b")

    woken, rest = until_it_rests(silent, program, program.send(()))
    woken_again, _ = until_it_rests(silent, program, program.send(()))
    quiet, rest_after = until_it_rests(silent, program, program.throw(feed.Quiet))

    assert rest == feed.Idle(ordered.QUIET_NS)
    assert not [r for r in woken + woken_again if isinstance(r, Commit)]
    assert [r.through for r in quiet if isinstance(r, Commit)] == [2]
    assert rest_after.quiet_ns is None  # there is nothing left to move for: no timer


def test_a_failed_event_rests_as_nothing_else_does(writer: Fed) -> None:
    started(writer)
    publish(writer, "bad")
    program = writer.ordered()

    _, rest = until_it_rests(writer, program, next(program))

    assert rest == feed.Pause(100_000_000)  # the first rest of an event that failed
