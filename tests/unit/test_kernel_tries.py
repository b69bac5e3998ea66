"""Parking: the event that does it, never one that was only there when the runtime fell."""

from collections.abc import Iterator
from typing import Any

import pytest

from cortex.bus import Attempt, Claim, Commit, Finish, LogError, Publish
from cortex.bus.events import ComponentFailed
from cortex.runtime.kernel import Component, Delivery, Output, on

from .bus_world import PlanWrite, PlanWritten, draft
from .kernel_world import Fed, fed, feed

FALLS = 10  # tries that ended with the runtime; then an event is parked


class FallError(BaseException):
    """Stands for whatever ends the whole process: nothing comes back from it."""


class Writer(Component):
    """Writes what it is asked to, and keeps count of its tries."""

    @on(PlanWrite)
    def write(self, event: PlanWrite, delivery: Delivery) -> Iterator[Output]:
        TRIES.append(delivery.attempt)
        if event.plan == "shaky" and delivery.attempt < 3:
            raise ValueError(event.plan)
        yield PlanWritten(plan=event.plan)


class Doomed(Writer):
    """The process ends with it when it writes the deadly plan."""

    @on(PlanWrite)
    def write(self, event: PlanWrite, delivery: Delivery) -> Iterator[Output]:
        if event.plan == "deadly":
            raise FallError
        yield from super().write(event, delivery)


TRIES: list[int] = []


class Lives:
    """A component whose runtime falls and starts again; fed in order or by a queue."""

    def __init__(self, fed: Fed, kind: str, name: str = "c") -> None:
        self.fed, self.kind, self.name = fed, kind, name
        fed.feeding = feed.Feeding(name, fed.feeding.filter, "now", fed.feeding.max_attempts)
        self.run()

    def program(self) -> Any:
        return self.fed.ordered() if self.kind == "ordered" else self.fed.work()

    def run(self) -> None:
        """Live until there is nothing to do."""
        self.finish(self.program())

    def finish(self, program: Any, answers: Any = None) -> None:
        step = program.send(answers)
        while not (isinstance(step, feed.Idle) and step.quiet_ns is None):
            if isinstance(step, feed.Idle):
                self.fed.world.now_ns += step.quiet_ns
                step = program.throw(feed.Quiet)
            elif isinstance(step, feed.Pause):
                self.fed.world.now_ns += step.for_ns
                step = program.send(())
            else:
                step = program.send(self.ask(step))

    def begin(self) -> Any:
        """Live until the first event is begun, which is counted, and not yet handled."""
        program = self.program()
        step = next(program)
        while not isinstance(step, feed.Idle):
            answers = self.ask(step)
            if isinstance(step[0], Attempt | Claim):
                return program, answers
            step = program.send(answers)
        return program, ()

    def handle(self) -> Any:
        """Live until the first event is handled; what came of it is not yet sent."""
        program = self.program()
        step = next(program)
        while not isinstance(step[0], Commit | Finish):
            step = program.send(self.ask(step))
        return program, step

    def ask(self, step: Any) -> Any:
        return self.fed.world.ask(*step, client=self.name)

    def fall(self) -> None:
        self.fed.world.reopened()
        self.fed.world.later(60)

    def publish(self, *plans: str) -> None:
        self.fed.world.one(Publish(tuple(draft(plan) for plan in plans)))

    def results(self) -> list[tuple[str, int]]:
        made = [(r.topic, r.causation or 0) for r in self.fed.records() if r.source == self.name]
        return sorted(made)


@pytest.fixture(params=["ordered", "work"])
def lives(request: pytest.FixtureRequest) -> Lives:
    TRIES.clear()
    return Lives(fed(Doomed), request.param)


@pytest.mark.parametrize("falls", [3, FALLS - 1])
def test_kills_of_the_runtime_bring_no_innocent_event_to_the_park(lives: Lives, falls: int) -> None:
    lives.publish("a", "b")
    for _ in range(falls):
        lives.begin()
        lives.fall()
    lives.run()

    assert lives.results() == [("plan.written", 1), ("plan.written", 2)]


def test_an_event_has_all_its_tries_after_a_fall(lives: Lives) -> None:
    lives.publish("shaky")
    for _ in range(5):
        lives.begin()
        lives.fall()
    for _ in range(3):
        lives.run()
        lives.fed.world.later(60)

    assert lives.results() == [("plan.written", 1)]
    # 1 would tell the handler that it never was begun, and an early 3 that this is the last try.
    assert TRIES == [2, 2, 3]


def test_an_event_that_ends_the_whole_process_is_parked_in_the_end(lives: Lives) -> None:
    lives.publish("a", "deadly", "b")
    falls = 0
    for _ in range(2 * FALLS):
        try:
            lives.run()
        except FallError:
            falls += 1
            lives.fall()

    expected = [("component.failed", 2), ("plan.written", 1), ("plan.written", 3)]
    assert lives.results() == expected
    (failed,) = lives.fed.failures()
    assert isinstance(failed, ComponentFailed)
    assert failed.reason == "the whole runtime ended each time while it was handled"
    assert failed.attempts == FALLS
    assert falls <= FALLS + 1  # once for the page that it was in


def test_a_component_that_allows_more_attempts_allows_as_many_falls(lives: Lives) -> None:
    patient = Lives(fed(Writer, attempts=3 * FALLS), lives.kind)
    patient.publish("a")
    for _ in range(2 * FALLS):
        patient.begin()
        patient.fall()
    patient.run()

    assert patient.results() == [("plan.written", 1)]


@pytest.mark.parametrize("innocent_first", [True, False])
def test_what_is_under_way_beside_the_guilty_is_told_apart(
    lives: Lives, innocent_first: bool
) -> None:
    innocent = Lives(Fed(lives.fed.world, Writer), lives.kind, "innocent")
    lives.publish("deadly")  # for the one component alone
    for _ in range(3 * FALLS):
        try:
            if innocent_first:
                under_way = innocent.begin()
                lives.run()
                innocent.finish(*under_way)
            else:
                under_way = lives.begin()
                beside = innocent.begin()
                lives.finish(*under_way)
                innocent.finish(*beside)
        except FallError:
            lives.fall()
    innocent.run()

    assert innocent.results() == [("plan.written", 1)]
    assert lives.results() == [("component.failed", 1)]


def test_a_disk_that_flaps_parks_nothing(lives: Lives) -> None:
    lives.publish("a")
    for _ in range(3 * FALLS):
        _, step = lives.handle()
        lives.fed.world.log.full = True
        with pytest.raises(LogError):
            lives.ask(step)
        lives.fed.world.log.full = False
        lives.fed.world.later(60)
    lives.fall()
    lives.run()

    assert lives.results() == [("plan.written", 1)]


def test_a_suspect_that_has_to_wait_is_woken_and_handled(lives: Lives) -> None:
    other = Lives(Fed(lives.fed.world, Writer), lives.kind, "other")
    lives.publish("a")
    for _ in range(3):
        lives.begin()
        other.begin()
        lives.fall()
    _, step = other.handle()
    waiting = lives.program()
    lives.finish(waiting)
    assert lives.results() == []

    lives.fed.world.hub.take_woken()
    other.ask(step)
    assert "c" in lives.fed.world.hub.take_woken()
    lives.finish(waiting, ())

    assert lives.results() == other.results() == [("plan.written", 1)]


def test_a_feed_that_waits_its_turn_can_be_ended() -> None:
    lives = Lives(fed(Writer), "ordered")
    other = Lives(Fed(lives.fed.world, Writer), "ordered", "other")
    lives.publish("a")
    for _ in range(3):
        lives.begin()
        other.begin()
        lives.fall()
    other.begin()
    waiting = lives.program()
    lives.finish(waiting)

    with pytest.raises(feed.Flush):  # out of it, which ends it
        waiting.throw(feed.Flush)
    assert lives.results() == []


class SlowToStart:
    """A host whose process takes its time; the test lets the runtime fall meanwhile."""

    def __init__(self, host: Any, falls: list[int]) -> None:
        self.host, self.falls, self.there = host, falls, False

    def is_ready(self) -> bool:
        return self.there

    def make_ready(self) -> None:
        if self.falls:
            self.falls.pop()
            raise FallError
        self.there = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self.host, name)


def test_no_event_is_begun_while_its_process_starts(
    lives: Lives, monkeypatch: pytest.MonkeyPatch
) -> None:
    falls, made = [0] * 3 * FALLS, lives.fed._host
    monkeypatch.setattr(lives.fed, "_host", lambda: SlowToStart(made(), falls))
    lives.publish("a")
    while falls:
        with pytest.raises(FallError):
            lives.run()
        lives.fall()
    lives.run()

    assert lives.results() == [("plan.written", 1)]
    assert TRIES == [1]


def test_no_process_is_started_where_there_is_nothing_to_do(
    lives: Lives, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = lives.fed._host
    monkeypatch.setattr(lives.fed, "_host", lambda: SlowToStart(made(), [0]))

    lives.run()  # it would fall

    assert lives.results() == []
